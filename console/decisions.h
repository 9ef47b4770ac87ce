// The answers about past decisions as JSON (operate/decisions.h).
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"
#include "net/http.h"
#include "operate/decisions.h"

namespace tidemark::console {

// kInvalid: the message begins with the name of the wrong parameter.
Result<operate::DecisionQuery> decision_query(const net::Target& target);
// The same as a query string: "node=n1&limit=200".
std::string query_text(const operate::DecisionQuery& query);

std::string decisions_document(const operate::DecisionsFound& found);
// From such a document; times are whole seconds.
Result<operate::DecisionsFound> read_decisions(const Json& document);

}  // namespace tidemark::console
