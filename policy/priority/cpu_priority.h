// Who runs first on a node (contract 7.7, "Group identity").
//
// Where the kernel tells groups apart by more than weight and idleness (Anolis' bvt, openEuler's qos_level), each QoS
// class has its own priority:
//
//   pod and its containers   LSE, LSR: of lsr    LS: its own annotation, else of ls    BE: of be
//                            none, SYSTEM: by kube QoS: Guaranteed: of lsr where that is enabled, else of ls
//                                                       Burstable:  of ls     BestEffort: of be
//   the kubelet's groups     kubepods plain, burstable of ls, besteffort of be
//
// A class that is not enabled is plain, and plain is written: whoever ran there before is reset. With no class enabled
// and the kernel's own switch off nothing is wanted at all.
//
// On a mainline kernel (cpu.idle, or nothing but the weight) only offline work is set back, each pod or task at its own
// group, and nobody else is asked for. The besteffort directory is not made idle beside a kubelet, though that would be
// one write for all: the kubelet writes cpu.shares of its QoS directories each minute, one after the other until one
// fails, and a kernel refuses (EINVAL) the weight of a group that is idle. A kubelet that fails there updates none of
// its levels any more. Containers need none of their own: they are below their pod's group.
//
//   offline runs idle   ⇔   beClass.cpuQOS.enable ∧ (schedIdle = 1 ∨ groupIdentity < 0)
//
// Where nobody else writes these directories, what is idle is the highest of them in which nobody lies but offline
// work: the one above kubepods, or besteffort. That is worth more, since a kernel compares idleness between siblings.
// Of two pods it asks only whether burstable or besteffort is idle, and where neither is, who wakes up online waits for
// the end of the other's slice (2 to 4 ms); of a pod and a service of the machine, only whether all of the pods are.
// And below it pods keep weights of their own, so that classes share what all of them get.
//
// The peer does nothing on such a kernel with group identity; that these settings are enough there is ours.
//
// With nothing but the weight, what lies below the besteffort directory has the least of it already, by the kubelet;
// asking for it once more would only make all of offline work equal. There only offline work elsewhere is asked for.
//
// While co-location is off, offline work alone is kept behind the others, until it has ended: nobody else is asked for,
// and of the QoS directories besteffort while some of it lies there.
//
// Host applications are left to whoever starts them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/task.h"
#include "policy/knobs/knobs.h"
#include "policy/node_rules/qos_rules.h"

namespace tidemark::policy {

// The kubelet's own; empty: there is none now.
struct QosGroups {
  std::string guaranteed;  // kubepods itself
  std::string burstable;
  std::string besteffort;
};

struct PriorityInput {
  std::span<const model::Task* const> tasks;
  QosGroups groups;
  CpuQosPolicy cpu_policy = CpuQosPolicy::kGroupIdentity;  // with another no class counts as enabled
  CpuQos lsr;                                              // a groupIdentity outside -1 … 2 counts as the nearest
  CpuQos ls;
  CpuQos be;
  bool switched_off = false;  // the kernel has kernel.sched_group_identity_enabled, and it is 0
  std::optional<Knob> rung;   // priority_knob(); nullopt: only the weight
  bool off = false;           // co-location, on this node
  bool own_groups = false;    // no kubelet has made them
};

struct PriorityPlan {
  // A pod whose own annotation cannot be read: nothing of it is written.
  struct Refused {
    std::string group;
    std::string why;
    bool operator==(const Refused&) const = default;
  };
  std::vector<Intent> intents;   // by group
  std::vector<Refused> refused;  // by group
};

// Total.
PriorityPlan cpu_priority(const PriorityInput& input);

// Whether offline work is asked to run last by more than its weight: it has a processor only where nobody else wants
// it.
bool offline_runs_last(const PriorityInput& input);

// Whether offline work is asked to run idle (cpu.idle), each at its own group: then the kernel takes no weight of it.
bool offline_runs_idle(const PriorityInput& input);

}  // namespace tidemark::policy
