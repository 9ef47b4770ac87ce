#include "policy/route/names.h"

#include <array>
#include <cstddef>

namespace tidemark::policy::route {
namespace {

constexpr std::array<std::string_view, kSides> kSideNames = {"kubernetes", "yarn"};
constexpr std::array<std::string_view, 10> kPhaseNames = {"received", "queued",  "routed", "reserved", "submitted",
                                                          "admitted", "running", "ending", "done",     "cancelled"};
constexpr std::array<std::string_view, 7> kEndNames = {"succeeded", "user",   "admission", "infrastructure",
                                                       "storm",     "killed", "lost"};
constexpr std::array<std::string_view, 7> kEndTexts = {"the job succeeded",
                                                       "the job failed",
                                                       "the job got no place in time, or a quota refused it",
                                                       "the cluster took the machine of the driver",
                                                       "the driver lost too many executors to evictions",
                                                       "another program stopped the driver",
                                                       "the side forgot the driver before its end was read"};
constexpr std::array<std::string_view, 4> kStopNames = {"none", "cancel", "admission", "switched-off"};
constexpr std::array<std::string_view, 12> kRouteNames = {"moved",
                                                          "only-possible-side",
                                                          "switched-off",
                                                          "pinned-by-job",
                                                          "pinned-by-rule",
                                                          "banned-by-rule",
                                                          "within-share",
                                                          "beyond-share",
                                                          "too-many-waiting",
                                                          "no-side-possible",
                                                          "waits-for-switch",
                                                          "waits-for-others"};
constexpr std::array<std::string_view, 12> kRouteTexts = {
    "the run moved to the other side",
    "only this side can run the job",
    "the switch \"no more Kubernetes\" is on",
    "the job names its side",
    "a rule pins the run to this side",
    "a rule bans the other side",
    "the run is within the share of Kubernetes",
    "the run is beyond the share of Kubernetes",
    "too many runs wait at Kubernetes",
    "no side can run the job",
    "the run waits: it needs Kubernetes, and the switch \"no more Kubernetes\" is on",
    "the run waits: it needs Kubernetes, and too many runs wait there"};

template <class Value, std::size_t N>
std::string_view word(const std::array<std::string_view, N>& words, Value value) {
  const auto at = static_cast<std::size_t>(value);
  return at < N ? words[at] : std::string_view();
}

template <class Value, std::size_t N>
std::optional<Value> value(const std::array<std::string_view, N>& words, std::string_view name) {
  for (std::size_t at = 0; at < N; ++at) {
    if (words[at] == name) return static_cast<Value>(at);
  }
  return std::nullopt;
}

}  // namespace

std::string_view name_of(Side side) {
  return word(kSideNames, side);
}
std::string_view name_of(Phase phase) {
  return word(kPhaseNames, phase);
}
std::string_view name_of(EndClass end) {
  return word(kEndNames, end);
}
std::string_view name_of(StopReason reason) {
  return word(kStopNames, reason);
}
std::string_view name_of(RouteReason reason) {
  return word(kRouteNames, reason);
}

std::optional<Side> side_of(std::string_view name) {
  return value<Side>(kSideNames, name);
}
std::optional<Phase> phase_of(std::string_view name) {
  return value<Phase>(kPhaseNames, name);
}
std::optional<EndClass> end_class_of(std::string_view name) {
  return value<EndClass>(kEndNames, name);
}
std::optional<StopReason> stop_reason_of(std::string_view name) {
  return value<StopReason>(kStopNames, name);
}
std::optional<RouteReason> route_reason_of(std::string_view name) {
  return value<RouteReason>(kRouteNames, name);
}

std::string_view text_of(RouteReason reason) {
  return word(kRouteTexts, reason);
}
std::string_view text_of(EndClass end) {
  return word(kEndTexts, end);
}

}  // namespace tidemark::policy::route
