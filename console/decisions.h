// The answers about past decisions as JSON (operate/decisions.h).
#pragma once

#include <string>

#include "base/result.h"
#include "net/http.h"
#include "operate/decisions.h"

namespace tidemark::console {

// kInvalid: the message begins with the name of the wrong parameter.
Result<operate::DecisionQuery> decision_query(const net::Target& target);

std::string decisions_document(const operate::DecisionsFound& found, const operate::DecisionFiles& files);

}  // namespace tidemark::console
