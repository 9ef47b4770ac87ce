// CPU priorities on a node (contract 7.7, "Group identity").
//
// If the kernel distinguishes cgroups by more than weight and idleness (Anolis' bvt, openEuler's qos_level), each QoS
// class has its own priority:
//
//    pod and its containers   LSE, LSR: of lsr    LS: its own annotation, else of ls    BE: of be
//                             none, SYSTEM: by kube QoS: Guaranteed: of lsr if that is enabled, else of ls
//                                                        Burstable:  of ls     BestEffort: of be
//    the kubelet's cgroups    kubepods plain, burstable of ls, besteffort of be
//
// A class that is not enabled is plain, and plain is written, so that earlier values are reset. With no class enabled
// and the kernel's own switch off, nothing is written.
//
// On a mainline kernel (cpu.idle, or only the weight) only offline work is lowered, each pod or task at its own cgroup;
// other work is not touched. The besteffort directory is not made idle beside a kubelet, though that would be one write
// for all: the kubelet writes cpu.shares of its QoS directories each minute, one after the other until one fails, and
// the kernel refuses (EINVAL) the weight of an idle cgroup. A kubelet that fails there stops updating all of its
// levels. Containers need no value of their own: they are below their pod's cgroup.
//
//    offline runs idle   ⇔   beClass.cpuQOS.enable ∧ (schedIdle = 1 ∨ groupIdentity < 0)
//
// If no other program writes these directories, the idle cgroup is the highest one that contains only offline work: the
// one above kubepods, or besteffort. That is stronger, since a kernel compares idleness between siblings. Between two
// pods it only compares whether burstable or besteffort is idle; if neither is, an online task that wakes up waits for
// the end of the other's slice (2 to 4 ms). Between a pod and a service of the machine, it only compares whether all
// pods are idle. Below it pods keep weights of their own, so that classes share the CPU of all of them.
//
// Koordinator does nothing on such a kernel with group identity; the use of these settings there is Tidemark's.
//
// With only the weight, the besteffort directory already has the lowest one from the kubelet; writing it again below
// would only make all of offline work equal. So only offline work elsewhere gets it.
//
// While co-location is off, only offline work is kept at low priority until it has ended; other work is not touched,
// and of the QoS directories only besteffort while it contains some.
//
// Host applications are left to their owners.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/task.h"
#include "policy/protect/knobs.h"
#include "policy/protect/qos_rules.h"

namespace tidemark::policy::protect {

// The kubelet's own; empty: none now.
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
  // A pod whose own annotation cannot be read: none of its values are written.
  struct Refused {
    std::string group;
    std::string why;
    bool operator==(const Refused&) const = default;
  };
  std::vector<Intent> intents;   // by cgroup
  std::vector<Refused> refused;  // by cgroup
};

// Total.
PriorityPlan cpu_priority(const PriorityInput& input);

// True if offline work runs last by more than its weight: it gets a CPU only if no other work wants it.
bool offline_runs_last(const PriorityInput& input);

// True if offline work runs idle (cpu.idle), each task at its own cgroup: then the kernel accepts no weight of it.
bool offline_runs_idle(const PriorityInput& input);

}  // namespace tidemark::policy::protect
