#include "policy/sell/prediction/models.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <utility>

namespace tidemark::policy::sell {
namespace {

using model::PriorityClass;

constexpr std::array<std::pair<PriorityClass, std::string_view>, 5> kClassKeys{
    {{PriorityClass::kProd, "__node-koord-prod__"},
     {PriorityClass::kMid, "__node-koord-mid__"},
     {PriorityClass::kBatch, "__node-koord-batch__"},
     {PriorityClass::kFree, "__node-koord-free__"},
     {PriorityClass::kNone, "__node-__"}}};

constexpr double kMicroOfCore = 1'000'000;
constexpr double kMilliOfCore = 1'000;
constexpr double kCpuPercentile = 0.95;
constexpr double kMemoryPercentile = 0.98;

std::int64_t sum(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_add_overflow(a, b, &out)) return std::numeric_limits<std::int64_t>::max();
  return out;
}

base::Duration plus(base::Duration a, base::Duration b) {
  std::int64_t out = 0;
  if (!__builtin_add_overflow(a.count(), b.count(), &out)) return base::Duration(out);
  return a > base::Duration(0) ? base::Duration::max() : base::Duration::min();
}

base::WallTime shifted(base::WallTime at, base::Duration by) {
  return {plus(at.since_epoch, by)};
}

// later − earlier; saturated at the ends of 64 bits, and so that it can be negated.
base::Duration apart(base::WallTime later, base::WallTime earlier) {
  std::int64_t out = 0;
  if (__builtin_sub_overflow(later.since_epoch.count(), earlier.since_epoch.count(), &out)) {
    return later > earlier ? base::Duration::max() : -base::Duration::max();
  }
  return std::max(base::Duration(out), -base::Duration::max());
}

}  // namespace

std::string_view class_model_key(PriorityClass priority) {
  for (const auto& [each, key] : kClassKeys) {
    if (each == priority) return key;
  }
  return kClassKeys.back().second;
}

bool is_node_model_key(std::string_view key) {
  return key == kNodeModelKey || key == kSystemModelKey ||
         std::ranges::any_of(kClassKeys, [key](const auto& each) { return each.second == key; });
}

UsageModel::UsageModel() : cpu(kCpuShape), memory(kMemoryShape) {}

std::size_t UsageModel::bytes() const {
  return sizeof(UsageModel) - sizeof(cpu) - sizeof(memory) + cpu.bytes() + memory.bytes();
}

const UsageModel* UsageModels::find(std::string_view key) const {
  const auto at =
      std::ranges::lower_bound(models_, key, {}, [](const Named& each) { return std::string_view(each.key); });
  return at != models_.end() && at->key == key ? &at->model : nullptr;
}

UsageModel* UsageModels::place(std::string_view key, base::WallTime at_time) {
  const auto at =
      std::ranges::lower_bound(models_, key, {}, [](const Named& each) { return std::string_view(each.key); });
  if (at != models_.end() && at->key == key) return &at->model;
  const bool is_pod = !is_node_model_key(key);
  if (!is_model_key(key) || (is_pod && pods_ >= kPodModelsMax)) {
    ++refused_;
    return nullptr;
  }
  if (is_pod) ++pods_;
  UsageModel& made = models_.insert(at, {std::string(key), UsageModel()})->model;
  made.begun = at_time;
  return &made;
}

void UsageModels::add(std::string_view key, const UsageFigures& use, base::WallTime at) {
  UsageModel* model = place(key, at);
  if (model == nullptr) return;
  model->cpu.add(static_cast<double>(use.cpu_micro) / kMicroOfCore, at);
  model->memory.add(static_cast<double>(use.memory_bytes), at);
  model->trained = at;
}

base::WallTime UsageModels::model_time(base::WallTime now) const {
  return shifted(now, offset_);
}

base::WallTime UsageModels::advance(base::WallTime now) {
  if (last_) {
    const base::Duration step = apart(now, *last_);
    const base::Duration counted = std::clamp(step, base::Duration(0), kModelStepMax);
    // Beyond a century and a half nothing is reckoned any more.
    const base::Duration offset = plus(offset_, base::Duration(counted.count() - step.count()));
    if (offset > base::Duration::min() / 2 && offset < base::Duration::max() / 2) offset_ = offset;
  }
  last_ = now;
  return model_time(now);
}

std::vector<std::string> UsageModels::train(const TrainingPass& pass, base::WallTime now) {
  const base::WallTime at = advance(now);
  std::array<UsageFigures, kClassKeys.size()> classes{};
  UsageFigures all = pass.beside_pods;
  for (const TrainingPod& pod : pass.pods) {
    if (!pod.use || is_node_model_key(pod.uid)) continue;
    add(pod.uid, *pod.use, at);
    for (std::size_t i = 0; i < kClassKeys.size(); ++i) {
      if (kClassKeys[i].first != pod.priority) continue;
      classes[i].cpu_micro = sum(classes[i].cpu_micro, pod.use->cpu_micro);
      classes[i].memory_bytes = sum(classes[i].memory_bytes, pod.use->memory_bytes);
    }
    all.cpu_micro = sum(all.cpu_micro, pod.use->cpu_micro);
    all.memory_bytes = sum(all.memory_bytes, pod.use->memory_bytes);
  }
  for (std::size_t i = 0; i < kClassKeys.size(); ++i) add(kClassKeys[i].second, classes[i], at);
  if (pass.node) {
    add(kNodeModelKey, *pass.node, at);
    add(kSystemModelKey,
        {std::max<std::int64_t>(pass.node->cpu_micro - all.cpu_micro, 0),
         std::max<std::int64_t>(pass.node->memory_bytes - all.memory_bytes, 0)},
        at);
  }

  std::vector<std::string> dropped;
  std::erase_if(models_, [&](Named& each) {
    if (apart(at, each.model.trained) <= kModelUnknownMax) return false;
    if (!is_node_model_key(each.key)) --pods_;
    dropped.push_back(std::move(each.key));
    return true;
  });
  return dropped;
}

std::optional<ModelPeak> UsageModels::peak(std::string_view key) const {
  const UsageModel* model = find(key);
  if (model == nullptr) return std::nullopt;
  return ModelPeak{{{static_cast<std::int64_t>(model->cpu.percentile(kCpuPercentile) * kMilliOfCore)},
                    {static_cast<std::int64_t>(model->memory.percentile(kMemoryPercentile))}}};
}

std::size_t UsageModels::bytes() const {
  std::size_t bytes = sizeof(UsageModels) + (models_.capacity() - models_.size()) * sizeof(Named);
  for (const Named& each : models_) bytes += sizeof(std::string) + each.key.capacity() + each.model.bytes();
  return bytes;
}

std::vector<std::string> UsageModels::to_store(base::WallTime now) const {
  std::vector<const Named*> due;
  for (const Named& each : models_) {
    if (!each.model.stored || apart(model_time(now), *each.model.stored) >= kStoreEvery) due.push_back(&each);
  }
  const auto turn = [](const Named* each) {
    const UsageModel& model = each->model;
    return std::tuple(model.stored.value_or(model.begun), model.stored.has_value(), std::string_view(each->key));
  };
  std::ranges::sort(due, {}, turn);
  std::vector<std::string> keys;
  for (const Named* each : due) {
    if (keys.size() == kStoreMax) break;
    keys.push_back(each->key);
  }
  return keys;
}

std::optional<ModelCheckpoint> UsageModels::checkpoint(std::string_view key, base::WallTime now) const {
  const UsageModel* model = find(key);
  if (model == nullptr) return std::nullopt;
  ModelCheckpoint out;
  out.key = key;
  out.written = now;
  out.cpu = model->cpu;
  out.memory = model->memory;
  out.cpu.move_time(-offset_);
  out.memory.move_time(-offset_);
  return out;
}

void UsageModels::stored(std::string_view key, base::WallTime now) {
  const auto at =
      std::ranges::lower_bound(models_, key, {}, [](const Named& each) { return std::string_view(each.key); });
  if (at != models_.end() && at->key == key) at->model.stored = model_time(now);
}

bool UsageModels::restore(const ModelCheckpoint& checkpoint, base::WallTime now) {
  if (find(checkpoint.key) != nullptr) return false;
  UsageModel* model = place(checkpoint.key, model_time(now));
  if (model == nullptr) return false;
  model->cpu = checkpoint.cpu;
  model->memory = checkpoint.memory;
  // How long ago it was written, by a clock that may have been set since: between nothing and kModelStepMax.
  const base::Duration ago = apart(now, checkpoint.written);
  const base::Duration counted = std::clamp(ago, base::Duration(0), kModelStepMax);
  const base::Duration by = plus(base::Duration(ago.count() - counted.count()), offset_);
  model->cpu.move_time(by);
  model->memory.move_time(by);
  model->trained = model_time(now);
  model->stored = model_time(now);
  return true;
}

}  // namespace tidemark::policy::sell
