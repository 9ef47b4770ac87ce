// How revisions and the state of a roll-out are stored: the data of the ConfigMap `tidemark-config-revisions`.
//
//   state        JSON: the RolloutState
//   revision-N   JSON: revision number N with its texts
//   request      JSON: what a person asked for last; written by `tidemark`, never by the manager
//
// Each carries `schema` and the version of the policy that wrote it. A newer schema is not read, and nobody writes
// over it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/rollout/revision.h"
#include "policy/rollout/rollout.h"

namespace tidemark::policy {

inline constexpr std::int64_t kStoredSchema = 1;
inline constexpr std::int64_t kRolloutPolicyVersion = 1;  // counts up when the same state would go on differently
inline constexpr std::string_view kStateKey = "state";
inline constexpr std::string_view kRequestKey = "request";

std::string revision_key(std::int64_t number);
std::string encode_revision(const StoredRevision& revision);
std::string encode_state(const RolloutState& state);
std::string encode_request(const RolloutRequest& request, std::string_view reason);

Result<StoredRevision> decode_revision(std::string_view text);
Result<RolloutState> decode_state(std::string_view text);
Result<RolloutRequest> decode_request(std::string_view text);

struct Stored {
  RevisionBook book;
  std::optional<RolloutState> state;  // nullopt: the next step is the first one
  std::optional<RolloutRequest> request;
  std::string problem;  // parts that could not be read, one a line; empty where all could
  bool newer = false;   // a newer version wrote the state or a revision: this one may not write
};

// Total: what cannot be read is left out and told. A state that cannot be read, or that names a revision which is not
// there, becomes "the newest revision that was in force everywhere, on all nodes".
Stored decode_stored(const std::map<std::string, std::string, std::less<>>& data);

// What to write over `before`: nullopt for a key that goes.
std::map<std::string, std::optional<std::string>> stored_changes(const Stored& before, const RevisionBook& book,
                                                                 const RolloutState& state);

}  // namespace tidemark::policy
