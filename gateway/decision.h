// Decisions for a side as runs store them, and the same decisions made again.
//
//   attempt   {"rules": HASH, "input": {…}}            all that the decision depended on
//   store     "routes HASH" → the rules                once for each revision of the rules
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "gateway/routes.h"
#include "policy/route/run.h"
#include "policy/route/side.h"

namespace tidemark::gateway {

// The rules with a name that derives from them.
struct RulesRevision {
  std::string hash;
  std::string text;
};
RulesRevision revision_of(const policy::route::RouteRules& rules);
std::string revision_key(std::string_view hash);  // in the store
Result<policy::route::RouteRules> rules_of_revision(std::string_view text, const ZoneOf& zone_of);

struct StoredInputs {
  std::string rules;  // hash of their revision
  policy::route::RouteInput input;
};
std::string encode_inputs(const policy::route::RouteInput& input, std::string_view rules_hash);
Result<StoredInputs> decode_inputs(std::string_view text);

struct Replayed {
  policy::route::RouteDecision before;
  policy::route::RouteDecision now;  // of this program
  bool same = false;
  std::string signals;  // in words
};
Result<Replayed> replay(const policy::route::Attempt& attempt, std::string_view rules, const ZoneOf& zone_of);

}  // namespace tidemark::gateway
