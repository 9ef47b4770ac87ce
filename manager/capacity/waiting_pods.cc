#include "manager/capacity/waiting_pods.h"

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

}  // namespace

std::optional<std::int64_t> waits_as(const PodProjection& pod, std::span<const policy::WorkClass> classes) {
  if (pod.batch_request == model::Resources{}) return std::nullopt;
  return policy::class_order(classes, pod.work_class.view());
}

WaitingPods::WaitingPods(net::EventLoop& loop, kube::Client& client, kube::Interner& interner, const base::Log& log,
                         base::Registry& metrics, base::Random random,
                         std::function<const policy::TidemarkConfig&()> settings, std::function<void()> on_change)
    : loop_(loop),
      pods_(loop, client, client, log, metrics, random, not_bound(),
            [&interner](std::string_view bytes) { return decode_pod_projection(bytes, interner); }),
      settings_(std::move(settings)),
      on_change_(std::move(on_change)),
      scope_(loop) {}

void WaitingPods::start() {
  scope_.spawn(pods_.run());
  scope_.spawn(watch());
}

net::Task<void> WaitingPods::watch() {
  while (true) {
    std::optional<policy::WaitingWork> work;
    pods_.for_each([&](const kube::ObjectKey&, const PodProjection& pod) {
      const auto order = waits_as(pod, settings_().classes);
      if (!order) return;
      if (!work) work.emplace();
      work->add(*order, pod.work_class.view(), pod.batch_request);
    });
    const policy::Waiting before = std::exchange(state_, policy::wait(state_, work, loop_.clock().monotonic()).state);
    if (before.wants_more != state_.wants_more || before.best_order != state_.best_order ||
        before.best_class != state_.best_class) {
      on_change_();
    }
    co_await loop_.sleep(kLook);
  }
}

}  // namespace tidemark::manager
