// Decides the side of a run: Kubernetes or YARN.
//
// The first rule that applies decides:
//   1. a moved run goes to the side that it did not leave
//   2. a side that cannot run the job, or that a rule bans, is out, also for a moved run; a comparison that found a
//      difference between the outputs of the sides bans Kubernetes
//   3. the switch "no more Kubernetes" takes Kubernetes out, also for pinned runs
//   4. the pin of the job, then the first rule that pins it
//   5. the share: draw < kubernetes_percent → Kubernetes
//   6. room at Kubernetes: the cap on waiting runs, the quota of the namespace, and idle batch capacity, which the
//      business that owns the nodes gets first
// A run without room at Kubernetes goes to YARN. If the wait there exceeds yarn_wait_max, the run waits until one of
// both changes, or until it has waited as long. A run that may only go to Kubernetes waits for the cap alone: it has
// its place in the queue of Kubernetes. If no side is left, the run waits.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/time_zone.h"
#include "policy/route/signals.h"

namespace tidemark::policy::route {

enum class Side : std::uint8_t { kKubernetes, kYarn };
inline constexpr std::size_t kSides = 2;
constexpr Side other(Side side) {
  return side == Side::kKubernetes ? Side::kYarn : Side::kKubernetes;
}

// A time of the day, on the days on which it begins. It ends on the next day if `to` is not after `from`.
struct RouteWindow {
  std::int64_t from_minute = 0;  // of the local day
  std::int64_t to_minute = 0;    // exclusive
  std::bitset<7> days;           // 0 is Sunday
  model::TimeZone zone = model::TimeZone::utc();
  bool contains(base::WallTime now) const;
};

// Empty fields match every run.
struct SideRule {
  std::string label;  // for the user
  std::string business;
  std::string queue;
  std::string name_prefix;
  Side side = Side::kYarn;
  bool ban = false;                   // false: pin
  std::optional<RouteWindow> window;  // nullopt: always
};

struct RouteRules {
  std::int64_t kubernetes_percent = 100;          // share of the runs that may go to either side
  std::int64_t kubernetes_waiting_max = 50;       // runs that are submitted to Kubernetes and have no node yet
  std::int64_t owner_keeps_percent = 0;           // of the batch capacity of its nodes, which runs of others leave idle
  std::optional<base::Duration> yarn_wait_max{};  // nullopt: a run without room at Kubernetes never waits for it
  std::vector<SideRule> rules;
};

struct RouteInput {
  std::array<bool, kSides> possible{};  // by Side: the side exists and can run the job
  std::optional<Side> pin;              // of the job
  std::optional<Side> left;             // the side of the first attempt, if the run moves
  std::string business;
  std::string queue;
  std::string name;
  base::WallTime now;
  std::int64_t draw = 0;            // 0 to 99, fixed for a run, so that a decision can be repeated
  bool comparison_differs = false;  // the last comparison of the job found a difference
  RouteSignals signals;
  bool operator==(const RouteInput&) const = default;
};

enum class RouteReason : std::uint8_t {
  kMoved,
  kOnlyPossibleSide,
  kSwitchedOff,
  kPinnedByJob,
  kPinnedByRule,
  kBannedByRule,
  kWithinShare,
  kBeyondShare,
  kTooManyWaiting,
  // The run waits.
  kNoSidePossible,
  kWaitsForSwitch,
  kWaitsForOthers,
  // Kubernetes is banned.
  kSidesDiffer,
  // Kubernetes has no room for a run that may go to either side.
  kNamespaceFull,
  kKubernetesFull,
  kRoomIsForOwner,
  kWaitsForRoom,  // the run waits
};

struct RouteDecision {
  std::optional<Side> side;  // nullopt: the run waits
  RouteReason reason = RouteReason::kNoSidePossible;
  std::string rule{};  // the label of the rule that decided; "": none did
  bool operator==(const RouteDecision&) const = default;
};

// The first rule that bans the side; null: none does.
const SideRule* ban_of(Side side, const RouteInput& input, const RouteRules& rules);
RouteDecision choose_side(const RouteInput& input, const RouteRules& rules);

}  // namespace tidemark::policy::route
