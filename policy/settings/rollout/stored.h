// How revisions and the state of a rollout are stored: the data of the ConfigMap `tidemark-config-revisions`.
//
//    state        JSON: the RolloutState
//    revision-N   JSON: revision number N with its texts
//    request      JSON: the last request of a person; written by `tidemark`, never by the manager
//
// Each has `schema` and the version of the policy that wrote it. A newer schema is neither read nor overwritten.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "policy/settings/rollout/revision.h"
#include "policy/settings/rollout/rollout.h"

namespace tidemark::policy::settings {

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
  std::string problem;  // unreadable parts, one a line; empty if there are none
  bool newer = false;   // a newer version wrote the state or a revision: this one may not write
};

// Total: unreadable parts are omitted and reported. An unreadable state, or one that names a missing revision, becomes
// "the newest revision that was in force everywhere, on all nodes".
Stored decode_stored(const std::map<std::string, std::string, std::less<>>& data);

// The keys to write over `before`; nullopt removes a key.
std::map<std::string, std::optional<std::string>> stored_changes(const Stored& before, const RevisionBook& book,
                                                                 const RolloutState& state);

}  // namespace tidemark::policy::settings
