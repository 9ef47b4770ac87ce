// The immediate limit of offline work if online work uses more than the last suppression decision knew. Decisions are
// made once a second, each with a plan; code that only compares and writes carries the plan out in between.
//
//    online      use of the kubelet's cgroups, less the besteffort cgroup and offline pods outside of it that the
//                decision knew
//    risen       online, over kSurgeWindow, less the larger of the decision's value and the recent one
//    left(r)     the decision's room under the line, less r: line − online − system as in suppress/room.h
//    a step      a quota, or as many CPUs, of 1/2, 1/4, 1/8 of the node, or the minimum; tighter than the limit in
//                force, and for cpusets a part of it: then it can be written from the bottom up
//    taken       the widest step that is no more than left(risen), else the minimum, as soon as
//                left(risen) < in force − kReactionRise_percent of the node
//
// The steps are few and always the same on a node, because each must be in the agent's restore journal before it is
// written (agent/enforcer/found_journal.h, which keeps eight values of a file). Too tight a step costs offline work
// some seconds of growth; too wide a step would cost online work.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/resources.h"
#include "policy/protect/suppress/observation.h"
#include "policy/protect/suppress/suppress.h"

namespace tidemark::policy::protect {

// Less than that is left to the next decision.
inline constexpr std::int64_t kReactionRise_percent = 10;
inline constexpr std::size_t kReactionStepsMax = 4;
// Counters that are read 25 times a second. Offline pods outside of the besteffort cgroup are rare.
inline constexpr std::size_t kReactionCountersMax = 8;
// Cgroups that are written. Each takes a descriptor and some time of the reaction.
inline constexpr std::size_t kReactionGroupsMax = 64;

enum class ReactionReadiness : std::uint8_t {
  kReady,
  kNothingHeld,    // suppression is off, or by nothing that it knows
  kNodeOff,        // offline work has its least already
  kNotKnown,       // the room under the line is unknown
  kContainers,     // the kubelet's CPU manager is static: each container has its own limit
  kNothingLess,    // no step is tighter than the limit in force
  kTooManyGroups,  // to read, or to write
};
std::string_view to_string(ReactionReadiness);

struct ReactionStep {
  model::CpuMilli rise;            // the reaction starts at this rise
  std::int64_t amount = 0;         // microseconds in 100 ms, or CPUs
  std::vector<std::int32_t> cpus;  // these
  bool operator==(const ReactionStep&) const = default;
};

struct ReactionPlan {
  ReactionReadiness readiness = ReactionReadiness::kNothingHeld;
  std::string whole;              // the kubelet's cgroup of all pods
  std::vector<std::string> less;  // cgroups in it that are not online work; the besteffort cgroup first
  model::CpuMilli known;          // of online work in `whole`, by the decision

  SuppressPolicy policy = SuppressPolicy::kCfsQuota;
  std::vector<std::string> groups;  // to write, in this order: the besteffort cgroup last
  std::int64_t in_force = 0;        // as a step's amount
  // The smallest rise first; of one rise the widest amount first. Narrower from one to the next.
  std::vector<ReactionStep> steps;

  std::array<ProcessorMemory, kReactionStepsMax> memory{};  // for the next plan
};

// `in_force`: microseconds or CPUs, after the decision was carried out; may be less than the decision wanted. `spare`:
// an unused plan, only to reuse its memory.
ReactionPlan plan_reaction(const SuppressPlan& decided, const SuppressObservation& seen, std::int64_t in_force,
                           ReactionPlan spare = {});

// nullptr: not worth a reaction.
const ReactionStep* step_for(std::span<const ReactionStep> steps, model::CpuMilli risen);

}  // namespace tidemark::policy::protect
