#include "manager/evictions/pod_end.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/convert.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

constexpr std::string_view kDisrupted = "DisruptionTarget";
constexpr std::string_view kOutOfMemory = "OOMKilled";  // as the kubelet, or its runtime, says why a container ended

kube::PodFields end_fields() {
  kube::PodFields fields;
  fields.meta.labels = {model::kQosClassLabel, model::kPriorityClassLabel, model::kPriorityLabel, model::kClassLabel,
                        model::kJobLabel};
  fields.statuses = false;
  return fields;
}

struct StatusWords {
  std::string reason;
  std::string disrupted;  // the reason of the condition; empty: not disrupted
  std::optional<base::WallTime> when;
  bool out_of_memory = false;  // the kernel ended a container of it for want of memory
};

void read_condition(kube::Decoder& decoder, StatusWords& words) {
  std::string type;
  std::string status;
  std::string reason;
  std::optional<base::WallTime> changed;
  decoder.object([&](std::string_view key) {
    if (key == "type") {
      decoder.string(type);
    } else if (key == "status") {
      decoder.string(status);
    } else if (key == "reason") {
      decoder.string(reason);
    } else if (key == "lastTransitionTime") {
      decoder.time(changed);
    } else {
      decoder.skip();
    }
  });
  // The conditions of a pod change when it ends, so the last one has the time.
  if (changed && (!words.when || *words.when < *changed)) words.when = changed;
  if (type == kDisrupted && status == "True") words.disrupted = reason.empty() ? "Unknown" : reason;
}

// {"state":{"terminated":{"reason":"OOMKilled", …}}, …}
void read_container(kube::Decoder& decoder, StatusWords& words) {
  std::string reason;
  decoder.object([&](std::string_view key) {
    if (key != "state") return decoder.skip();
    decoder.object([&](std::string_view state) {
      if (state != "terminated") return decoder.skip();
      decoder.object([&](std::string_view member) { member == "reason" ? decoder.string(reason) : decoder.skip(); });
    });
  });
  if (reason == kOutOfMemory) words.out_of_memory = true;
}

Result<StatusWords> read_status(std::string_view bytes, kube::Interner& interner) {
  StatusWords words;
  kube::Decoder decoder(bytes, interner);
  decoder.object([&](std::string_view key) {
    if (key != "status") return decoder.skip();
    decoder.object([&](std::string_view member) {
      if (member == "reason") {
        decoder.string(words.reason);
      } else if (member == "conditions") {
        decoder.array([&] { read_condition(decoder, words); });
      } else if (member == "containerStatuses" || member == "initContainerStatuses") {
        decoder.array([&] { read_container(decoder, words); });
      } else {
        decoder.skip();
      }
    });
  });
  TM_TRY_VOID(decoder.finish("Pod"));
  return words;
}

EndedBy ended_by(const StatusWords& words, model::PodPhase phase) {
  const bool failed = phase == model::PodPhase::kFailed;
  if (failed && (words.reason == "Evicted" || words.reason == "Preempting")) return EndedBy::kKubelet;
  if (words.disrupted == "EvictionByEvictionAPI") return EndedBy::kEvictionApi;
  if (words.disrupted == "PreemptionByScheduler") return EndedBy::kScheduler;
  // The kubelet says so before it says Evicted, and of every pod of a node that shuts down.
  if (words.disrupted == "TerminationByKubelet") return failed ? EndedBy::kNode : EndedBy::kNothing;
  if (!words.disrupted.empty()) return EndedBy::kNode;
  if (failed && words.out_of_memory) return EndedBy::kKernel;
  return failed || phase == model::PodPhase::kSucceeded ? EndedBy::kItself : EndedBy::kNothing;
}

bool requests_sold(const kube::Pod& pod) {
  return std::ranges::any_of(pod.containers, [](const kube::Container& each) {
    return each.requests.get(model::kBatchCpu) > 0 || each.requests.get(model::kBatchMemory) > 0 ||
           each.requests.get(model::kMidCpu) > 0 || each.requests.get(model::kMidMemory) > 0;
  });
}

}  // namespace

bool PodEnd::makes_back_off() const {
  return offline && (by == EndedBy::kEvictionApi || by == EndedBy::kKubelet);
}

std::string PodEnd::job_name() const {
  if (job.empty()) return base::cat(meta.ns, "/Pod/", meta.name);
  if (job_kind.empty()) return base::cat(meta.ns, "/", job);
  return base::cat(meta.ns, "/", job_kind, "/", job);
}

std::size_t PodEnd::bytes() const {
  return sizeof(PodEnd) + meta.ns.bytes() + meta.name.bytes() + kube::string_bytes(meta.resource_version) +
         node.bytes() + work_class.bytes() + job_kind.bytes() + job.bytes();
}

bool may_be_disrupted(std::string_view bytes) {
  return bytes.find(kDisrupted) != std::string_view::npos;
}

Result<PodEnd> decode_pod_end(std::string_view bytes, kube::Interner& interner) {
  static const kube::PodFields fields = end_fields();
  TM_TRY(kube::Pod pod, kube::decode_pod(bytes, fields, interner));
  TM_TRY(const StatusWords words, read_status(bytes, interner));
  const model::PodView view = kube::to_pod_view(pod);
  PodEnd end;
  end.over = pod.terminal();
  end.by = ended_by(words, pod.phase);
  end.when = words.when ? words.when : pod.meta.created;
  end.offline = view.priority == model::PriorityClass::kBatch || view.priority == model::PriorityClass::kFree ||
                requests_sold(pod);
  if (const auto* name = pod.meta.labels.find(model::kClassLabel)) end.work_class = *name;
  if (const auto* name = pod.meta.labels.find(model::kJobLabel); name != nullptr && !name->empty()) {
    end.job = *name;
  } else {
    end.job_kind = std::move(pod.meta.owner_kind);
    end.job = std::move(pod.meta.owner_name);
  }
  end.meta = {std::move(pod.meta.ns), std::move(pod.meta.name), std::move(pod.meta.resource_version)};
  end.node = std::move(pod.node_name);
  return end;
}

}  // namespace tidemark::manager
