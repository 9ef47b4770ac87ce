#include "manager/overcommit_controller.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "kube/convert.h"
#include "manager/capacity_patch.h"
#include "model/annotations.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

// A node whose status changes faster than we can decide is put back into the queue after so many tries.
constexpr int kTriesMax = 3;

model::ExtendedResources as_extended(const model::Resources& batch) {
  return {batch.cpu, batch.memory, std::nullopt, std::nullopt};
}

}  // namespace

kube::PodFields pod_fields() {
  kube::PodFields fields = kube::overcommit_pod_fields();
  fields.statuses = false;
  return fields;
}

kube::NodeFields node_fields() {
  kube::NodeFields fields = kube::overcommit_node_fields();
  // Selectors of the configuration may ask for any label.
  fields.meta.labels = kube::KeyFilter::all();
  fields.meta.annotations = {model::kColocationStrategyAnnotation, model::kReservationAnnotation,
                             model::kOriginAllocatableAnnotation, model::kThirdPartyAllocationsAnnotation,
                             kEpochAnnotation};
  fields.info = false;
  return fields;
}

kube::NodeMetricFields metric_fields() { return kube::overcommit_node_metric_fields(); }

OvercommitController::OvercommitController(net::EventLoop& loop, kube::Reader& reader, kube::Writer& writer,
                                           OvercommitCaches caches, Leadership leadership, kube::Interner& interner,
                                           base::Log log, base::Registry& metrics)
    : loop_(loop),
      reader_(reader),
      writer_(writer),
      caches_(caches),
      leadership_(std::move(leadership)),
      interner_(interner),
      log_(std::move(log)),
      metrics_(metrics),
      conflicts_(metrics.counter("tidemark_manager_conflicts_total",
                                 "Capacity writes refused because somebody changed the node meanwhile.")) {}

OvercommitController::Decision OvercommitController::decide(const kube::Node& node) const {
  const auto* metric = caches_.metrics.find({"", std::string(node.meta.name)});
  const auto pods = caches_.pods.by_index(kPodsByNode, node.meta.name);
  auto conversion = kube::to_node_snapshot(node, pods, metric);
  for (const auto& note : conversion.notes) log_.warn("part of a node not read", {{"node", node.meta.name}, {"note", note}});

  std::vector<model::Label> labels;
  labels.reserve(node.meta.labels.size());
  for (const auto& label : node.meta.labels) labels.push_back({std::string(label.key), std::string(label.value)});
  std::optional<std::string_view> annotation;
  if (const auto* text = node.meta.annotations.find(model::kColocationStrategyAnnotation)) annotation = text->view();

  Decision decision;
  decision.strategy = policy::strategy_for(*config_.config, labels, annotation);
  decision.plan = policy::overcommit(conversion.snapshot, decision.strategy, loop_.clock().wall());
  decision.on_node = conversion.snapshot.published;
  if (decision.plan.action != policy::PlanAction::kHold) {
    std::optional<base::Duration> since_write;
    if (auto at = written_.find(std::string(node.meta.name)); at != written_.end()) {
      since_write = loop_.clock().monotonic() - at->second;
    }
    const auto needed =
        policy::needs_write(decision.on_node, decision.plan.publish, since_write, decision.strategy.values);
    decision.write = needed.write;
    decision.write_reason = needed.reason;
    if (!decision.write && origin_moved(node, decision)) {
      decision.write = true;
      decision.write_reason = model::Reason::kWriteMoved;
    }
  }
  decision.again_after = look_again(metric, decision);
  return decision;
}

// What batch may use can move while what Kubernetes gets stands still (YARN holds all of it): YARN must hear of it too.
bool OvercommitController::origin_moved(const kube::Node& node, const Decision& decision) const {
  const auto* annotation = node.meta.annotations.find(model::kOriginAllocatableAnnotation);
  const auto carried = annotation ? model::parse_origin(annotation->view())
                                  : Result<model::Resources>(fail(ErrorKind::kNotFound, "no annotation"));
  if (!carried) return true;
  return policy::needs_write(as_extended(*carried), as_extended(*decision.plan.origin), base::Duration(0),
                             decision.strategy.values)
      .write;
}

std::optional<base::Duration> OvercommitController::look_again(const kube::NodeMetric* metric,
                                                               const Decision& decision) const {
  if (!decision.strategy.enabled) return std::nullopt;
  const auto& values = decision.strategy.values;
  // The contract refreshes a node once its last write is older than this.
  base::Duration next = std::chrono::seconds(values.update_time_threshold_s + 1);
  if (metric != nullptr && metric->updated) {
    const auto stale_at = *metric->updated + std::chrono::minutes(values.degrade_time_minutes) + std::chrono::seconds(1);
    const auto left = stale_at - loop_.clock().wall();
    if (left > base::Duration(0)) next = std::min(next, left);
  }
  return next;
}

net::Task<Result<kube::Node>> OvercommitController::read_again(std::string node_name) {
  TM_CO_TRY(const std::string bytes, co_await reader_.get(kube::kNodes, "", node_name, kCapacityWriteLimit));
  co_return kube::decode_node(bytes, node_fields(), interner_);
}

net::Task<Result<OvercommitController::Outcome>> OvercommitController::reconcile(std::string node_name) {
  if (!config_.config) co_return Outcome{};
  const auto* cached = caches_.nodes.find({"", node_name});
  if (cached == nullptr) {
    written_.erase(node_name);
    co_return Outcome{};
  }
  kube::Node node = *cached;
  for (int attempt = 0; attempt < kTriesMax; ++attempt) {
    const std::int64_t on_node_epoch = read_epoch(node.meta.annotations.get(kEpochAnnotation));
    const std::int64_t epoch = leadership_.epoch().value_or(on_node_epoch);
    if (leadership_.leading() && on_node_epoch > epoch) {
      log_.error("a newer leader has written this node; this process has lost the lease",
                 {{"node", node_name}, {"epoch", epoch}, {"epoch_on_node", on_node_epoch}});
      co_return Outcome{Done::kSuperseded, std::nullopt};
    }
    const Decision decision = decide(node);
    if (!decision.write) co_return Outcome{Done::kUnchanged, decision.again_after};
    if (!leadership_.leading()) co_return Outcome{Done::kNotLeading, decision.again_after};

    CapacityWrite write;
    write.resource_version = node.meta.resource_version;
    write.publish = decision.plan.publish;
    write.origin = *decision.plan.origin;
    write.epoch = epoch;
    kube::WriteOptions options;
    options.subresource = "status";
    auto patched = co_await writer_.patch(kube::kNodes, node_name, kube::PatchType::kMerge, capacity_patch(write),
                                          options, kCapacityWriteLimit);
    if (patched) {
      written_[node_name] = loop_.clock().monotonic();
      metrics_.counter("tidemark_manager_capacity_writes_total", "Nodes written, by why it was worth a write.",
                       {{"reason", model::reason_id(decision.write_reason)}})
          .add();
      log_.info("capacity written", {{"node", node_name},
                                     {"action", decision.plan.action == policy::PlanAction::kReset ? "reset" : "publish"},
                                     {"batch_cpu_milli", decision.plan.batch_cpu.published.value},
                                     {"batch_memory_bytes", decision.plan.batch_memory.published.value},
                                     {"why", model::reason_id(decision.plan.reason)},
                                     {"write", model::reason_id(decision.write_reason)}});
      co_return Outcome{Done::kWritten, decision.again_after};
    }
    if (patched.error().kind == ErrorKind::kNotFound) co_return Outcome{};
    if (patched.error().kind != ErrorKind::kConflict) co_return std::unexpected(std::move(patched).error());
    conflicts_.add();
    TM_CO_TRY(node, co_await read_again(node_name));
  }
  co_return fail(ErrorKind::kConflict, "node ", node_name, " changed ", kTriesMax, " times while it was decided");
}

}  // namespace tidemark::manager
