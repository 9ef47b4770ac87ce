#include "policy/route/names.h"

#include <array>
#include <cstddef>

#include "base/text.h"

namespace tidemark::policy::route {
namespace {

constexpr std::array<std::string_view, kSides> kSideNames = {"kubernetes", "yarn"};
constexpr std::array<std::string_view, 10> kPhaseNames = {"received", "queued",  "routed", "reserved", "submitted",
                                                          "admitted", "running", "ending", "done",     "cancelled"};
constexpr std::array<std::string_view, 7> kEndNames = {"succeeded", "user",   "admission", "infrastructure",
                                                       "storm",     "killed", "lost"};
constexpr std::array<std::string_view, 7> kStopNames = {"none",    "cancel", "admission", "switched-off",
                                                        "refused", "image",  "start"};
constexpr std::array<std::string_view, 3> kWayNames = {"native", "spark-submit", "spark-operator"};
constexpr std::array<std::string_view, 17> kRouteNames = {"moved",
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
                                                          "waits-for-others",
                                                          "sides-differ",
                                                          "namespace-full",
                                                          "kubernetes-full",
                                                          "room-is-for-owner",
                                                          "waits-for-room"};
// The reasons of an enumeration follow each other in its order. Its later values have reasons of their own.
template <class Value>
model::Reason reason(model::Reason first, Value value) {
  return static_cast<model::Reason>(static_cast<int>(first) + static_cast<int>(value));
}

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
std::string_view name_of(Way way) {
  return word(kWayNames, way);
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
std::optional<Way> way_of(std::string_view name) {
  return value<Way>(kWayNames, name);
}
std::optional<RouteReason> route_reason_of(std::string_view name) {
  return value<RouteReason>(kRouteNames, name);
}

model::Reason reason_of(RouteReason value) {
  if (value == RouteReason::kSidesDiffer) return model::Reason::kRouteSidesDiffer;
  if (value >= RouteReason::kNamespaceFull) {
    return reason(model::Reason::kRouteNamespaceFull,
                  static_cast<int>(value) - static_cast<int>(RouteReason::kNamespaceFull));
  }
  return reason(model::Reason::kRouteMoved, value);
}
model::Reason reason_of(EndClass value) {
  return reason(model::Reason::kRouteEndSucceeded, value);
}
std::optional<model::Reason> reason_of(QuotaLimit value) {
  switch (value) {
    case QuotaLimit::kRunning:
      return model::Reason::kRouteWaitsForRuns;
    case QuotaLimit::kCores:
      return model::Reason::kRouteWaitsForCores;
    case QuotaLimit::kQueued:
    case QuotaLimit::kNone:
      break;
  }
  return std::nullopt;
}
std::optional<model::Reason> reason_of(StopReason value) {
  if (value == StopReason::kNone) return std::nullopt;
  return reason(model::Reason::kRouteStopCancel, static_cast<int>(value) - 1);
}
std::string text_of(model::Reason reason) {
  return base::cat(model::reason_sentence(reason), " [", model::reason_id(reason), "]");
}
std::string text_of(RouteReason reason, std::string_view rule) {
  return base::cat(text_of(reason_of(reason)), rule.empty() ? "" : ": ", rule);
}

}  // namespace tidemark::policy::route
