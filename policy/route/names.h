// The words for the values of this room, in stored runs and for users. A released word does not change.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/reason.h"
#include "policy/route/quota.h"
#include "policy/route/run.h"

namespace tidemark::policy::route {

std::string_view name_of(Side side);
std::string_view name_of(Phase phase);
std::string_view name_of(EndClass end);
std::string_view name_of(StopReason reason);
std::string_view name_of(Way way);
std::string_view name_of(RouteReason reason);

// nullopt for an unknown word.
std::optional<Side> side_of(std::string_view name);
std::optional<Phase> phase_of(std::string_view name);
std::optional<EndClass> end_class_of(std::string_view name);
std::optional<StopReason> stop_reason_of(std::string_view name);
std::optional<Way> way_of(std::string_view name);
std::optional<RouteReason> route_reason_of(std::string_view name);

// The reasons TM-ROUTE-….
model::Reason reason_of(RouteReason value);
model::Reason reason_of(EndClass value);
std::optional<model::Reason> reason_of(QuotaLimit value);  // of a run that waits; nullopt: it does not
std::optional<model::Reason> reason_of(StopReason value);  // nullopt: it is not stopped
// Sentence and id, for users.
std::string text_of(model::Reason reason);
// With the rule that decided.
std::string text_of(RouteReason reason, std::string_view rule);

}  // namespace tidemark::policy::route
