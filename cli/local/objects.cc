#include "cli/local/objects.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/names.h"
#include "model/quantity.h"
#include "model/queued_again.h"
#include "operate/list_pages.h"
#include "runtime/place/queued_pod.h"

namespace tidemark::cli {
namespace {

constexpr std::string_view kTrue = "True";
constexpr std::string_view kDisruptionTarget = "DisruptionTarget";

std::optional<base::WallTime> time_at(const Json* value) {
  return value != nullptr && value->is_string() ? base::parse_rfc3339(value->as_string()) : std::nullopt;
}

std::int64_t int_at(const Json* value) {
  return value == nullptr ? 0 : value->get_int().value_or(0);
}

// Empty where there is no such list.
std::span<const Json> list_at(const Json* value) {
  if (value == nullptr || !value->is_array()) return {};
  return value->as_array();
}

model::Quantity quantity_at(const Json& amounts, std::string_view name) {
  const Json* found = amounts.at(name);
  if (found == nullptr) return {};
  return model::Quantity::from_json(*found).value_or(model::Quantity());
}

// A pod asks for one class of resources only; the sum is what it asks for, whichever that is.
model::Resources amounts_of(const Json* amounts) {
  model::Resources out;
  if (amounts == nullptr || !amounts->is_object()) return out;
  out.cpu += model::cpu_milli(quantity_at(*amounts, "cpu"));
  out.memory += model::memory_bytes(quantity_at(*amounts, "memory"));
  for (const auto& [cpu, memory] :
       std::array{std::pair(model::kBatchCpu, model::kBatchMemory), std::pair(model::kMidCpu, model::kMidMemory)}) {
    out.cpu += model::cpu_milli_from_extended(quantity_at(*amounts, cpu));
    out.memory += model::memory_bytes(quantity_at(*amounts, memory));
  }
  return out;
}

model::Resources asked_by(const Json* spec) {
  model::Resources out;
  if (spec == nullptr) return out;
  for (const Json& container : list_at(spec->at("containers")))
    out += amounts_of(container.at("resources", "requests"));
  return out;
}

model::PriorityClass class_of(const Json* meta, const Json* spec) {
  const std::string_view label = meta == nullptr ? "" : meta->text_at("labels", model::kPriorityClassLabel);
  if (!label.empty()) return model::parse_priority_class(label);
  if (spec == nullptr) return model::PriorityClass::kNone;
  const auto named = model::parse_priority_class(spec->text_at("priorityClassName"));
  if (named != model::PriorityClass::kNone) return named;
  return model::priority_class_of(static_cast<std::int32_t>(
      std::clamp<std::int64_t>(int_at(spec->at("priority")), std::numeric_limits<std::int32_t>::min(),
                               std::numeric_limits<std::int32_t>::max())));
}

bool is_offline(const Json* meta) {
  return meta != nullptr && model::parse_qos(meta->text_at("labels", model::kQosClassLabel)) == model::Qos::kBe;
}

void take_ended(const Json& state, ContainerSeen& seen) {
  seen.exit_code = int_at(state.at("exitCode"));
  seen.ended_reason = state.text_at("reason");
}

ContainerSeen container_of(const Json& status) {
  ContainerSeen seen;
  seen.name = status.text_at("name");
  seen.restarts = int_at(status.at("restartCount"));
  if (const Json* last = status.at("lastState", "terminated"); last != nullptr && last->is_object())
    take_ended(*last, seen);
  if (const Json* running = status.at("state", "running"); running != nullptr && running->is_object()) {
    seen.running = true;
    seen.began = time_at(running->at("startedAt"));
  }
  if (const Json* ended = status.at("state", "terminated"); ended != nullptr && ended->is_object()) {
    take_ended(*ended, seen);
    seen.began = time_at(ended->at("startedAt"));
    seen.ended = time_at(ended->at("finishedAt"));
  }
  if (const Json* waiting = status.at("state", "waiting"); waiting != nullptr && waiting->is_object()) {
    seen.waits_for = waiting->text_at("reason");
    seen.waits_message = waiting->text_at("message");
  }
  return seen;
}

Result<Json> object_of(std::string_view bytes, std::string_view kind) {
  auto tree = Json::parse(bytes);
  if (!tree) return fail(std::move(tree).error().within(kind));
  if (tree->text_at("metadata", "name").empty()) return fail(ErrorKind::kInvalid, kind, ": an object without a name");
  return tree;
}

}  // namespace

std::int64_t PodSeen::restarts() const {
  std::int64_t sum = 0;
  for (const ContainerSeen& each : containers) sum += each.restarts;
  return sum;
}

std::optional<std::int64_t> PodSeen::exit_code() const {
  std::optional<std::int64_t> found;
  for (const ContainerSeen& each : containers) {
    if (each.exit_code && (!found || (*found == 0 && *each.exit_code != 0))) found = each.exit_code;
  }
  return found;
}

Result<PodSeen> decode_pod_seen(std::string_view bytes) {
  TM_TRY(const Json tree, object_of(bytes, "Pod"));
  PodSeen pod;
  const Json* meta = tree.at("metadata");
  const Json* spec = tree.at("spec");
  pod.ns = meta->text_at("namespace");
  pod.name = meta->text_at("name");
  pod.uid = meta->text_at("uid");
  pod.created = time_at(meta->at("creationTimestamp"));
  pod.deleted = time_at(meta->at("deletionTimestamp"));
  for (const Json& owner : list_at(meta->at("ownerReferences"))) {
    if (owner.text_at("kind") != "Job") continue;
    pod.job = owner.text_at("name");
    pod.job_uid = owner.text_at("uid");
  }
  pod.offline = is_offline(meta);
  pod.priority_class = class_of(meta, spec);
  pod.asked = asked_by(spec);
  if (spec != nullptr) {
    pod.node = spec->text_at("nodeName");
  }
  if (pod.node.empty()) {
    kube::Interner interner;
    // Which its queue cannot read either is in none.
    if (auto queued = runtime::decode_queued_pod(bytes, interner)) pod.queued = std::move(queued->pod);
  }
  const Json* status = tree.at("status");
  if (status == nullptr) return pod;
  pod.phase = model::parse_pod_phase(status->text_at("phase"));
  pod.reason = status->text_at("reason");
  pod.message = status->text_at("message");
  for (const Json& condition : list_at(status->at("conditions"))) {
    const std::string_view type = condition.text_at("type");
    const bool holds = condition.text_at("status") == kTrue;
    if (type == kDisruptionTarget && holds) {
      pod.disrupted = true;
      pod.disrupted_why = condition.text_at("message");
    }
    if (type == "PodScheduled" && !holds) pod.unscheduled_why = condition.text_at("message");
  }
  for (const Json& one : list_at(status->at("initContainerStatuses"))) {
    ContainerSeen seen = container_of(one);
    // One that has done its work says nothing of how the pod stands.
    if (seen.exit_code == 0 && !seen.running) continue;
    pod.containers.push_back(std::move(seen));
  }
  for (const Json& one : list_at(status->at("containerStatuses"))) pod.containers.push_back(container_of(one));
  return pod;
}

Result<JobSeen> decode_job_seen(std::string_view bytes) {
  TM_TRY(const Json tree, object_of(bytes, "Job"));
  JobSeen job;
  const Json* meta = tree.at("metadata");
  const Json* pod_meta = tree.at("spec", "template", "metadata");
  const Json* pod_spec = tree.at("spec", "template", "spec");
  job.ns = meta->text_at("namespace");
  job.name = meta->text_at("name");
  job.uid = meta->text_at("uid");
  job.created = time_at(meta->at("creationTimestamp"));
  job.deleted = time_at(meta->at("deletionTimestamp"));
  job.offline = is_offline(pod_meta);
  job.priority_class = class_of(pod_meta, pod_spec);
  job.asked = asked_by(pod_spec);
  job.retries = int_at(tree.at("spec", "backoffLimit"));
  const Json* suspend = tree.at("spec", "suspend");
  job.suspended = suspend != nullptr && suspend->get_bool().value_or(false);
  job.queued_again = model::queued_again(meta->text_at("annotations", model::kQueuedAgainAnnotation));
  job.failed = int_at(tree.at("status", "failed"));
  job.succeeded = int_at(tree.at("status", "succeeded"));
  job.active = int_at(tree.at("status", "active"));
  job.completed = time_at(tree.at("status", "completionTime"));
  for (const Json& condition : list_at(tree.at("status", "conditions"))) {
    if (condition.text_at("status") != kTrue) continue;
    const std::string_view type = condition.text_at("type");
    job.complete = job.complete || type == "Complete";
    if (type != "Failed") continue;
    job.given_up = true;
    job.given_up_why = base::cat(condition.text_at("reason"), condition.text_at("message").empty() ? "" : ": ",
                                 condition.text_at("message"));
  }
  return job;
}

net::Task<Result<LocalObjects>> read_local_objects(net::EventLoop& loop, kube::Client& client, base::Duration limit) {
  LocalObjects out;
  TM_CO_TRY_VOID(co_await operate::list_pages(
      loop, client, kube::kPods, {}, limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto pod, decode_pod_seen(item));
        out.pods.push_back(std::move(pod));
        return {};
      },
      [&] { out.pods.clear(); }));
  TM_CO_TRY_VOID(co_await operate::list_pages(
      loop, client, kube::kJobs, {}, limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(auto job, decode_job_seen(item));
        out.jobs.push_back(std::move(job));
        return {};
      },
      [&] { out.jobs.clear(); }));
  kube::Interner interner;
  TM_CO_TRY_VOID(co_await operate::list_pages(
      loop, client, kube::kNodeMetrics, {}, limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto metric, kube::decode_node_metric(item, {}, interner));
        for (const model::PodUsage& each : metric.pods) out.usage[each.id] = each.usage;
        return {};
      },
      [&] { out.usage.clear(); }));
  co_return out;
}

}  // namespace tidemark::cli
