#include "manager/capacity/waiting_pods.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace tidemark::manager {
namespace {

kube::InformerConfig not_bound() {
  kube::InformerConfig config;
  config.resource = kube::kPods;
  config.field_selector = "spec.nodeName=,status.phase=Pending";
  config.name = "waiting_pods";
  return config;
}

}  // namespace

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
    std::optional<std::int64_t> order;
    pods_.for_each([&](const kube::ObjectKey&, const PodProjection& pod) {
      if (pod.batch_request == model::Resources{}) return;
      order = std::max(order.value_or(std::numeric_limits<std::int64_t>::min()),
                       policy::class_order(settings_().classes, pod.work_class.view()));
    });
    const policy::Waiting before = std::exchange(state_, policy::wait(state_, order, loop_.clock().monotonic()).state);
    if (before.wants_more != state_.wants_more || before.best_order != state_.best_order) on_change_();
    co_await loop_.sleep(kLook);
  }
}

}  // namespace tidemark::manager
