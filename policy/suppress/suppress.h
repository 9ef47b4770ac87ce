// How much of the processors offline work may use, so that all work together stays under the line (contract 7.3). Of
// what is left there (room.h), by the policy in force:
//
//   cpuset     n = ⌈room in cores⌉, at least 2, at most what there is to give (processors.h)
//              growth     by ⌈10 % of the processors⌉ a step over what is in force; not for less than 1 % of capacity
//   cfsQuota   q = room × 100 µs a thousandth, at least 2000
//              stays      while |q − what is in force| < 1 % of the cores, unless q is 2000
//              growth     by 10 % of the cores a step, unless there was no quota
//   idle       no quota and no processors while the kernel puts offline work last by itself (cpu_priority.h); else
//              as cfsQuota. The line is then one of what is sold: a quota below what is free leaves processors empty,
//              and offline work that comes back all at once disturbs its neighbours more than one that never went.
//
// A cut is at once. A step of growth comes at most once in kGrowthGapMin, however often somebody asks. Where what is
// needed is not known, what is in force stays; switched off there are no intents, and whoever carries them out puts
// back what was found. On a node that is off offline work has the least, also where suppression is switched off. With
// classes in our own settings the least timely work gives way first (class_shares.h).
//
// A pod without requests that is not offline (kube-proxy, what collects logs) lies in the besteffort group as well.
// What leaves offline work next to nothing would leave that nothing: where there is one, a node that is off holds each
// task of offline work to the least by itself, and not their group.
//
//   what is written     cpuset    all groups, where children's are parts of their parents'; else the besteffort group;
//                                 the containers alone, where the kubelet's CPU manager is static
//                       cfsQuota  the besteffort group; on a node that is off, beside such pods, each offline task
//
// Numbers of the policy that is not in force are simply not wanted any more.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "policy/knobs/intent.h"
#include "policy/node_rules/node_rules.h"
#include "policy/suppress/class_shares.h"
#include "policy/suppress/observation.h"
#include "policy/suppress/processors.h"
#include "policy/suppress/room.h"

namespace tidemark::policy {

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
  // What is in force stays, known here or not: nothing of this strategy is put back. `intents` are what is known of it.
  bool holds = false;
  std::optional<SuppressRoom> room;     // nullopt: not calculated
  std::optional<model::CpuMilli> left;  // runs last, and nothing holds it: what all others leave of the node

  std::optional<SuppressPolicy> policy;    // of what follows; nullopt: nothing is in force
  std::vector<std::int32_t> cpus;          // of kCpuset: in force from now on
  std::int64_t quota_us = kNoLimit;        // of kCfsQuota
  bool each = false;                       // offline task has that quota, and not all of them together
  std::optional<std::int64_t> wanted;      // processors or microseconds, before growth and bands; nullopt: held
  std::optional<std::int64_t> found;       // the same, in force before; kNoLimit. nullopt: not known
  std::optional<std::int64_t> candidates;  // processors that offline work may have at all, with kCpuset
  std::vector<ClassShare> classes;         // the most timely first; empty: our settings name none, or none is here

  std::vector<Intent> intents;
};

struct SuppressStep {
  SuppressState state;
  SuppressPlan plan;
  ProcessorMemory processors;  // this and the next: for the next one
  ShareMemory shares;
};

// Total. `spare`: an answer that nobody needs any more, for its memory alone: asked each second, it is the same nearly
// always.
SuppressStep suppress(const SuppressState& before, const SuppressObservation& seen, const NodeRules& rules,
                      base::MonotonicTime now, SuppressStep spare = {});

}  // namespace tidemark::policy
