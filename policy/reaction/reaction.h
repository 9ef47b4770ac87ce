// What offline work has at once where online work uses more than the last decision of suppression knew. That one is
// made once a second; a plan is made with it, and somebody who only compares and writes carries it out in between.
//
//   online      what the kubelet's groups use, less the besteffort group and offline pods outside of it that the
//               decision knew
//   risen       online, over kSurgeWindow, less the more of what the decision went by and what it was lately
//   left(r)     what the decision had under the line, less r: line − online − system as in suppress/room.h
//   a step      a quota, or as many processors, of 1/2, 1/4, 1/8 of the node, or the least; narrower than what is in
//               force, and of processors a part of them: then it can be written from the bottom up
//   taken       the widest step that is no more than left(risen), else the least, as soon as
//               left(risen) < in force − kReactionRise_percent of the node
//
// The steps are few and always the same on a node: each stands in the journal of the agent before it may be written
// (agent/enforcer/found_journal.h, which keeps eight values of a file). One that is too narrow costs offline work some
// seconds of growth, one that is too wide would cost online work.
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
#include "policy/suppress/observation.h"
#include "policy/suppress/suppress.h"

namespace tidemark::policy {

// Less than that is left to the next decision.
inline constexpr std::int64_t kReactionRise_percent = 10;
inline constexpr std::size_t kReactionStepsMax = 4;
// Counters that are read 25 times a second. Offline pods outside of the besteffort group are rare.
inline constexpr std::size_t kReactionCountersMax = 8;
// Groups that are written. Each takes a descriptor, and a moment of the reaction.
inline constexpr std::size_t kReactionGroupsMax = 64;

enum class ReactionStanding : std::uint8_t {
  kReady,
  kNothingHeld,    // suppression is off, or by nothing that it knows
  kNodeOff,        // offline work has its least already
  kNotKnown,       // what is left under the line
  kContainers,     // the kubelet's CPU manager is static: each container is held by itself
  kNothingLess,    // than what is in force
  kTooManyGroups,  // to read, or to write
};
std::string_view to_string(ReactionStanding);

struct ReactionStep {
  model::CpuMilli rise;            // taken from here on
  std::int64_t amount = 0;         // microseconds in 100 ms, or processors
  std::vector<std::int32_t> cpus;  // these
  bool operator==(const ReactionStep&) const = default;
};

struct ReactionPlan {
  ReactionStanding standing = ReactionStanding::kNothingHeld;
  std::string whole;              // the kubelet's group of all pods
  std::vector<std::string> less;  // in it: whose use is not online work's; the besteffort group first
  model::CpuMilli known;          // of online work in `whole`, by the decision

  SuppressPolicy policy = SuppressPolicy::kCfsQuota;
  std::vector<std::string> groups;  // that are written, in this order: the besteffort group last
  std::int64_t in_force = 0;        // as a step's amount
  // The smallest rise first; of one rise the widest amount first. Narrower from one to the next.
  std::vector<ReactionStep> steps;

  std::array<ProcessorMemory, kReactionStepsMax> memory{};  // for the next plan
};

// `in_force`: microseconds or processors, after the decision was carried out, which may be less than it wants. `spare`:
// a plan that nobody needs any more, for its memory alone.
ReactionPlan plan_reaction(const SuppressPlan& decided, const SuppressObservation& seen, std::int64_t in_force,
                           ReactionPlan spare = {});

// nullptr: not worth a reaction.
const ReactionStep* step_for(std::span<const ReactionStep> steps, model::CpuMilli risen);

}  // namespace tidemark::policy
