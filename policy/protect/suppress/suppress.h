// How much CPU offline work may use, so that all work together stays under the line (contract 7.3). Of the room there
// (room.h), by the policy in force:
//
//    cpuset     n = ⌈room in cores⌉, at least 2, at most the available CPUs (processors.h)
//               growth     by ⌈10 % of the CPUs⌉ a step over the set in force; not for less than 1 % of capacity
//    cfsQuota   q = room × 100 µs a thousandth, at least 2000
//               stays      while |q − the quota in force| < 1 % of the cores, unless q is 2000
//               growth     by 10 % of the cores a step, unless there was no quota
//    idle       no quota and no cpuset while the kernel gives offline work only idle CPU time (cpu_priority.h); else
//               as cfsQuota. The line then only limits what is sold: a quota below the idle CPU time leaves CPUs
//               unused, and offline work that returns all at once disturbs its neighbours more than steady work.
//
// A cut is immediate. Growth takes at most one step in kGrowthGapMin, regardless of the number of calls. If an input is
// unknown, the limit in force stays; if suppression is off there are no intents, and the original values are restored.
// On a node that is off, offline work has the minimum, also if suppression is off. With classes in Tidemark's settings
// the least timely work is suppressed first (class_shares.h).
//
// An online pod without requests (kube-proxy, a log collector) is in the besteffort cgroup as well, and a minimum for
// offline work would be its minimum too. If there is one, a node that is off limits each offline task to the minimum,
// and not their cgroup.
//
//    files              cpuset    all cgroups, if children's sets are parts of their parents'; else the besteffort
//                                 cgroup; the containers alone, if the kubelet's CPU manager is static
//                       cfsQuota  the besteffort cgroup; on a node that is off, beside such pods, each offline task
//
// Values of the policy that is not in force have no intents any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/protect/intent.h"
#include "policy/protect/node_rules.h"
#include "policy/protect/suppress/class_shares.h"
#include "policy/protect/suppress/observation.h"
#include "policy/protect/suppress/processors.h"
#include "policy/protect/suppress/room.h"

namespace tidemark::policy::protect {

inline constexpr std::int64_t kSuppressCpusMin = 2;
inline constexpr std::int64_t kSuppressQuotaMin_us = 2000;
inline constexpr std::int64_t kSuppressGrowth_percent = 10;
inline constexpr std::int64_t kSuppressBand_percent = 1;
// A pass is a second apart; one that comes early by less than a tenth counts as the next one.
inline constexpr base::Duration kGrowthGapMin = std::chrono::milliseconds(900);

struct SuppressState {
  std::optional<SuppressPolicy>
      policy;                        // that decided last, never kIdle; nullopt: nothing is in force that this knows of
  std::vector<std::int32_t> cpus;    // of kCpuset
  std::int64_t quota_us = kNoLimit;  // of kCfsQuota
  bool each = false;                 // has that quota, and not all of them together
  std::optional<base::MonotonicTime> grew;
  ShareState shares;
  bool operator==(const SuppressState&) const = default;
};

struct SuppressPlan {
  model::Reason reason = model::Reason::kSuppressOff;
  // The values in force stay, known here or not: this strategy restores nothing. `intents` are the known ones.
  bool holds = false;
  std::optional<SuppressRoom> room;     // nullopt: not calculated
  std::optional<model::CpuMilli> left;  // runs last without a limit: the rest that other work leaves of the node

  std::optional<SuppressPolicy> policy;    // of the values below; nullopt: no limit is in force
  std::vector<std::int32_t> cpus;          // of kCpuset: in force from now on
  std::int64_t quota_us = kNoLimit;        // of kCfsQuota
  bool each = false;                       // offline task has that quota, and not all of them together
  std::optional<std::int64_t> wanted;      // CPUs or microseconds, before growth and bands; nullopt: kept
  std::optional<std::int64_t> found;       // the same, in force before; kNoLimit. nullopt: not known
  std::optional<std::int64_t> candidates;  // CPUs that offline work may have at all, with kCpuset
  std::vector<ClassShare> classes;         // the most timely first; empty: our settings name none, or none is here

  std::vector<Intent> intents;
};

struct SuppressStep {
  SuppressState state;
  SuppressPlan plan;
  ProcessorMemory processors;  // this and the next: for the next one
  ShareMemory shares;
};

// Total. `spare`: an unused result, only to reuse its memory: called each second, the result is mostly the same.
SuppressStep suppress(const SuppressState& before, const SuppressObservation& seen, const NodeRules& rules,
                      base::MonotonicTime now, SuppressStep spare = {});

}  // namespace tidemark::policy::protect
