#include "manager/capacity/waiting_pods.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace tidemark::manager {
namespace {

kube::InformerConfig not_bound() {
  kube::InformerConfig config;
  config.resource = kube::kPods;
  config.field_selector = kWaitingPods;
  config.name = "waiting_pods";
  return config;
}

constexpr std::int64_t kWorthALook = 10;  // a tenth

bool moved(model::Resources told, model::Resources now) {
  const auto far = [](std::int64_t a, std::int64_t b) {
    return a != b && std::max(a, b) - std::min(a, b) >= std::max(a, b) / kWorthALook;
  };
  return far(told.cpu.value, now.cpu.value) || far(told.memory.value, now.memory.value);
}

}  // namespace

std::optional<std::int64_t> waits_as(const PodProjection& pod, std::span<const model::WorkClass> classes) {
  if (pod.batch_request == model::Resources{}) return std::nullopt;
  return policy::sell::class_order(classes, pod.work_class.view());
}

WaitingPods::WaitingPods(const Shared& shared, base::Random random,
                         std::function<const policy::waterline::TidemarkConfig&()> settings, OnChange on_change)
    : loop_(shared.loop),
      pods_({shared.loop, shared.reader, shared.watcher, shared.log, shared.metrics, random}, not_bound(),
            [&interner = shared.interner](std::string_view bytes) { return decode_pod_projection(bytes, interner); }),
      settings_(std::move(settings)),
      on_change_(std::move(on_change)),
      scope_(shared.loop) {
  pods_.subscribe([this](const kube::ObjectKey& key, const PodProjection* before, const PodProjection* after) {
    changed(key, before, after);
  });
}

void WaitingPods::start() {
  scope_.spawn(pods_.run());
  scope_.spawn(watch());
}

void WaitingPods::count(const PodProjection& pod, int sign) {
  if (pod.batch_request == model::Resources{}) return;
  const auto name = pod.work_class.view();
  auto at = by_class_.find(name);
  if (at == by_class_.end()) at = by_class_.try_emplace(std::string(name)).first;
  Sum& sum = at->second;
  sum.pods += sign;
  sum.amount = sign > 0 ? sum.amount + pod.batch_request : sum.amount - pod.batch_request;
  if (sum.pods <= 0) by_class_.erase(at);
}

void WaitingPods::changed(const kube::ObjectKey& key, const PodProjection* before, const PodProjection* after) {
  const bool is_bound = bound_.contains(key);
  if (before != nullptr && !is_bound) count(*before, -1);
  if (after != nullptr && !is_bound) count(*after, 1);
  if (after == nullptr) bound_.erase(key);
  amount_changed();
}

void WaitingPods::bound(const kube::ObjectKey& key, const PodProjection* pod) {
  const PodProjection* ours = pods_.find(key);
  if (ours == nullptr) return;  // its end here came first, or it never waited
  if (pod != nullptr && bound_.insert(key).second) {
    count(*ours, -1);
    amount_changed();
  } else if (pod == nullptr && bound_.erase(key) > 0) {  // another one of the same name waits
    count(*ours, 1);
    amount_changed();
  }
}

// From nothing, so that no slip lasts.
void WaitingPods::recount() {
  by_class_.clear();
  pods_.for_each([this](const kube::ObjectKey& key, const PodProjection& pod) {
    if (!bound_.contains(key)) count(pod, 1);
  });
}

std::optional<policy::sell::WaitingWork> WaitingPods::work() const {
  std::optional<policy::sell::WaitingWork> work;
  for (const auto& [name, sum] : by_class_) {
    if (!work) work.emplace();
    work->add(policy::sell::class_order(settings_().classes, name), name, sum.amount);
  }
  return work;
}

void WaitingPods::amount_changed() {
  const auto now = work();
  state_.amount = now ? now->from(state_.best_order) : model::Resources{};
  const bool none = state_.amount == model::Resources{};
  if (state_.wants_more && none && told_amount_ != state_.amount) {
    told_amount_ = state_.amount;
    on_change_(Change::kHowMuch);
  }
}

net::Task<void> WaitingPods::watch() {
  while (true) {
    recount();
    const policy::sell::Waiting before =
        std::exchange(state_, policy::sell::wait(state_, work(), loop_.clock().monotonic()).state);
    if (before.wants_more != state_.wants_more || before.best_order != state_.best_order ||
        before.best_class != state_.best_class) {
      told_amount_ = state_.amount;
      on_change_(Change::kWhat);
    } else if (state_.wants_more && moved(told_amount_, state_.amount)) {
      told_amount_ = state_.amount;
      on_change_(Change::kHowMuch);
    }
    co_await loop_.sleep(kLook);
  }
}

}  // namespace tidemark::manager
