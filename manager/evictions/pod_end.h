// How a pod ended, or is about to: what the kubelet, the eviction API and the scheduler leave in its status.
//
//   status                                              | end
//   phase Failed, reason Evicted or Preempting          | by its kubelet: pressure on the node, or a critical pod
//   condition DisruptionTarget, EvictionByEvictionAPI   | by the eviction API: an agent, a descheduler, `kubectl drain`
//   condition DisruptionTarget, PreemptionByScheduler   | by the scheduler, for a pod of higher priority
//   condition DisruptionTarget, any other reason        | with its node: gone, tainted, shut down
//   phase Failed, a container ended with OOMKilled      | by the kernel: over its own limit of memory, or with a node
//                                                       | that had none left, which nothing in its status tells apart
//   phase Succeeded or Failed, none of these            | by itself
//
// A program that kills containers and records no reason makes them look like failed tasks: Koordinator's agent does by
// default, and our agent does if the eviction API gives no answer (TM-EVICT-017; it may not write to pods).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/intern.h"

namespace tidemark::manager {

enum class EndedBy : std::uint8_t { kNothing, kItself, kKubelet, kEvictionApi, kScheduler, kNode, kKernel };

struct PodEnd {
  struct Meta {
    kube::Text ns;
    kube::Text name;
    std::string resource_version;
  };
  Meta meta;
  kube::Text node;
  kube::Text work_class;  // its label; empty where it has none
  kube::Text job_kind;    // of the owner, where no label names the job
  kube::Text job;
  bool offline = false;  // a task: by its priority class, or by what it requests
  bool over = false;     // nothing of it runs any more
  EndedBy by = EndedBy::kNothing;
  std::optional<base::WallTime> when;  // from its status

  // Offline work that was evicted because of pressure: its node backs off. Preemption by the scheduler does not count,
  // because it only prefers other work.
  bool makes_back_off() const;
  // "ns/NAME" by its label, "ns/Kind/name" by its owner, "ns/Pod/name" where it has none.
  std::string job_name() const;
  std::size_t bytes() const;
};

// Whether the bytes of a pod may tell of an eviction at all: cheap, for those millions that do not.
bool may_be_disrupted(std::string_view bytes);
Result<PodEnd> decode_pod_end(std::string_view bytes, kube::Interner& interner);

}  // namespace tidemark::manager
