#include "manager/state/state_source.h"

#include <chrono>
#include <utility>

#include "base/text.h"
#include "manager/state/desired_store.h"
#include "manager/state/mark_write.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using model::Reason;

constexpr base::Duration kSyncPatience = std::chrono::minutes(1);

kube::InformerConfig only_state(const std::string& ns) {
  kube::InformerConfig config;
  config.resource = kube::kConfigMaps;
  config.name = "state";
  config.ns = ns;
  config.field_selector = base::cat("metadata.name=", model::kStateName);
  return config;
}

}  // namespace

StateSource::StateSource(const Shared& shared, const kube::Informer<kube::Node>& nodes, base::Random random,
                         const std::string& ns, std::function<bool()> leading, std::function<void()> on_change)
    : ns_(ns),
      recorder_(shared.recorder),
      nodes_(nodes),
      log_(shared.log),
      maps_({shared.loop, shared.reader, shared.watcher, shared.log, shared.metrics, random}, only_state(ns),
            [&interner = shared.interner](std::string_view bytes) { return decode_state_map(bytes, interner); }),
      good_(shared.metrics.gauge("tidemark_manager_state_good",
                                 "1 while the orders for the cluster and its pools are readable.")),
      on_change_(std::move(on_change)),
      overrides_({shared.loop, shared.recorder, shared.metrics, ns, std::move(leading), [this] { on_change_(); }},
                 shared.log),
      scope_(shared.loop) {
  maps_.subscribe([this](const kube::ObjectKey&, const kube::ConfigMap*, const kube::ConfigMap* after) {
    if (taken_) take(after);
  });
}

void StateSource::start() {
  scope_.spawn(maps_.run());
}

net::Task<void> StateSource::wait_taken() {
  while (!co_await maps_.wait_synced(kSyncPatience)) {
    log_.warn("waiting for the API server", {{"missing", "tidemark-state is not read yet"}});
  }
  if (taken_) co_return;
  taken_ = true;
  take(maps_.find({ns_, std::string(model::kStateName)}));
}

NodePermitInputs StateSource::inputs() const {
  NodePermitInputs inputs;
  inputs.desired = state_.desired ? &*state_.desired : nullptr;
  inputs.desired_known = state_.desired.has_value();
  inputs.overrides = overrides_.overrides();
  return inputs;
}

void StateSource::recover_from_nodes() {
  policy::state::DesiredStates desired = state_.desired.value_or(policy::state::DesiredStates());
  nodes_.for_each([&](const kube::ObjectKey&, const kube::Node& node) {
    const auto reading = read_marks(mark_of(node));
    policy::state::recover(desired, reading.marks);
  });
  if (desired != policy::state::DesiredStates() || state_.desired) state_.desired = std::move(desired);
}

void StateSource::take_overrides(const kube::ConfigMap* map) {
  std::optional<std::string_view> text;
  if (map != nullptr) {
    if (const auto* found = map->data.find(model::kOverridesKey)) text = found->view();
  }
  overrides_.take(text, map == nullptr ? std::string_view() : map->meta.uid.view());
}

void StateSource::take(const kube::ConfigMap* map) {
  std::optional<std::string_view> text;
  if (map != nullptr) {
    if (const auto* found = map->data.find(model::kStateKey)) text = found->view();
  }
  const bool first = !state_.desired;
  auto step = policy::state::next_desired(state_, text);
  state_ = std::move(step.state);
  const bool unreadable = step.reason == Reason::kStateDesiredUnreadable;
  // The earlier text is unknown. Nodes carry copies of orders, which may be newer than a restored old text.
  if (first) {
    const auto read = state_.desired;
    recover_from_nodes();
    if (step.reason == Reason::kStateDesiredNone && state_.desired != policy::state::DesiredStates()) {
      step.reason = Reason::kStateDesiredLost;
    } else if (step.reason == Reason::kStateDesiredRead && state_.desired->generation > read->generation) {
      step.reason = Reason::kStateDesiredOld;
    }
  }
  take_overrides(map);
  const bool good = step.reason == Reason::kStateDesiredRead || step.reason == Reason::kStateDesiredNone;
  good_.set(good && overrides_.good() ? 1 : 0);
  if (!good) {
    log_.error(model::reason_sentence(step.reason), {{"config_map", model::kStateName},
                                                     {"key", model::kStateKey},
                                                     {"reason", model::reason_id(step.reason)},
                                                     {"problem", step.problem}});
    if (unreadable && map != nullptr) {
      recorder_.record({"v1", "ConfigMap", ns_, std::string(model::kStateName), std::string(map->meta.uid)},
                       kube::EventSeverity::kWarning, "TidemarkStateInvalid",
                       base::cat(model::reason_sentence(step.reason), ": ", model::kStateKey, ": ", step.problem, " [",
                                 model::reason_id(step.reason), "]"));
    }
  } else if (step.reason != told_) {
    log_.info(model::reason_sentence(step.reason), {{"config_map", model::kStateName}});
  }
  told_ = step.reason;
  on_change_();
}

}  // namespace tidemark::manager
