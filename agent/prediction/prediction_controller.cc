#include "agent/prediction/prediction_controller.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "policy/sell/prediction/checkpoint.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kDiskPatience = std::chrono::minutes(1);

model::Resources said(const model::SaidAmounts& amounts) {
  return {amounts.cpu.value_or(model::CpuMilli{}), amounts.memory.value_or(model::MemoryBytes{})};
}

}  // namespace

PredictionController::PredictionController(net::EventLoop& loop, net::WorkerPool& workers, const base::Log& log,
                                           base::Registry& metrics, PredictionOptions options)
    : loop_(loop),
      workers_(workers),
      log_(log),
      options_(std::move(options)),
      model_count_(metrics.gauge("tidemark_agent_prediction_models", "Models of what pods, classes and the node use.")),
      failed_(metrics.counter("tidemark_agent_prediction_store_failed_total",
                              "Failures to save or read the learned models.")),
      scope_(loop) {}

void PredictionController::start() {
  if (options_.folder.empty()) {
    loaded_ = true;
    return;
  }
  scope_.spawn(load());
}

template <class T>
net::Task<Result<T>> PredictionController::on_disk(std::function<T()> work) {
  at_disk_ = loop_.clock().monotonic();
  auto done = co_await workers_.run<T>(loop_, std::move(work));
  at_disk_.reset();
  if (std::exchange(slow_disk_told_, false)) log_.info("the disk answers again");
  co_return done;
}

void PredictionController::tell_slow_disk(base::MonotonicTime now) {
  if (!at_disk_ || now - *at_disk_ < kDiskPatience || std::exchange(slow_disk_told_, true)) return;
  failed_.add();
  log_.warn("the disk does not answer; learned models are neither read nor saved", {{"folder", options_.folder}});
}

net::Task<void> PredictionController::load() {
  auto loaded = co_await on_disk<Result<LoadedModels>>([folder = options_.folder] { return load_models(folder); });
  loaded_ = true;
  const Result<LoadedModels>& found = loaded ? *loaded : Result<LoadedModels>(std::unexpected(loaded.error()));
  if (!found) {
    failed_.add();
    log_.warn("cannot read the learned models; learning again", {{"error", found.error().message}});
    co_return;
  }
  for (const std::string& why : found->refused) log_.warn("a model is skipped", {{"error", why}});
  std::size_t restored = 0;
  for (const auto& model : found->models) {
    if (models_.restore(model, loop_.clock().wall())) {
      ++restored;
    } else {
      dropped_.push_back(model.key);  // there is no room for it
    }
  }
  model_count_.set(static_cast<double>(models_.size()));
  log_.info("learned models loaded", {{"models", std::to_string(restored)}});
}

void PredictionController::observe(const Observed& observed, const policy::sell::UsageHistory& history) {
  const base::MonotonicTime now = observed.readings().at;
  tell_slow_disk(now);
  if (!loaded_) return;
  if (!trained_) trained_ = now;  // there is nothing to learn from before the first minute is over
  if (now - *trained_ < policy::sell::kTrainEvery) return;
  trained_ = now;
  training_.clear();
  for (const policy::sell::ReportedPod& pod : observed.subjects().pods) {
    const auto* series = history.pod(pod.uid);
    training_.push_back(
        {pod.uid, pod.priority,
         series == nullptr ? std::nullopt : policy::sell::UsageHistory::training_sample(*series, now, scratch_)});
  }
  const base::WallTime wall = loop_.clock().wall();
  const auto node = policy::sell::UsageHistory::training_sample(history.node(), now, scratch_);
  policy::sell::UsageFigures beside_pods;
  for (const std::string_view name : observed.offline_beside_pods()) {
    const auto* series = history.host_application(name);
    const auto use =
        series == nullptr ? std::nullopt : policy::sell::UsageHistory::training_sample(*series, now, scratch_);
    if (!use) continue;
    beside_pods.cpu_micro += use->cpu_micro;
    beside_pods.memory_bytes += use->memory_bytes;
  }
  auto gone = models_.train({node, training_, beside_pods}, wall);
  model_count_.set(static_cast<double>(models_.size()));
  if (options_.folder.empty()) return;
  std::ranges::move(gone, std::back_inserter(dropped_));
  // A model that exists again must not be removed.
  std::erase_if(dropped_, [this](const std::string& key) { return models_.find(key) != nullptr; });
  std::ranges::sort(dropped_);
  dropped_.erase(std::ranges::unique(dropped_).begin(), dropped_.end());
  // If removals fail for long, some files stay: the next start reads and then drops them.
  if (dropped_.size() > policy::sell::kPodModelsMax) dropped_.resize(policy::sell::kPodModelsMax);
  const auto due = models_.to_store(wall);
  if (storing_ || (due.empty() && dropped_.empty())) return;
  storing_ = true;
  scope_.spawn(store(encoded(due), std::exchange(dropped_, {})));
}

std::vector<StoredModel> PredictionController::encoded(const std::vector<std::string>& keys) const {
  std::vector<StoredModel> models;
  for (const std::string& key : keys) {
    if (auto model = models_.checkpoint(key, loop_.clock().wall())) {
      models.push_back({key, policy::sell::encode_model(*model)});
    }
  }
  return models;
}

net::Task<void> PredictionController::store(std::vector<StoredModel> models, std::vector<std::string> dropped) {
  auto answer = co_await on_disk<StoreOutcome>([folder = options_.folder, models = std::move(models), dropped] {
    return store_models(folder, models, dropped);
  });
  storing_ = false;
  const StoreOutcome outcome = answer ? *std::move(answer) : StoreOutcome{{}, std::move(answer).error()};
  for (const std::string& key : outcome.stored) models_.stored(key, loop_.clock().wall());
  if (outcome.error) {
    failed_.add();
    dropped_.insert(dropped_.end(), dropped.begin(), dropped.end());
    if (!std::exchange(failing_, true)) {
      log_.warn("cannot save the learned models; a restart loses them", {{"error", outcome.error->message}});
    }
  } else if (std::exchange(failing_, false)) {
    log_.info("learned models are saved again");
  }
}

policy::sell::Prediction PredictionController::predict(const Observed& observed,
                                                       const policy::sell::UsageHistory& history,
                                                       std::optional<model::Resources> allocatable) {
  const base::MonotonicTime now = observed.readings().at;
  predicted_.clear();
  for (const ListedTask& listed : observed.tasks()->tasks) {
    const model::Task& task = *listed.task;
    if (task.kind != model::TaskKind::kPod) continue;
    const auto* series = history.pod(task.identity.task);
    if (series == nullptr || !series->told.average(now, history.collect().aggregate)) continue;
    predicted_.push_back({task.identity.task, task.priority, said(task.requests.native),
                          task.created.value_or(base::WallTime{}), task.deleted.has_value() || task.terminal()});
  }
  return policy::sell::predict(models_, {allocatable, predicted_}, options_.config, loop_.clock().wall());
}

}  // namespace tidemark::agent
