#include "policy/settings/rollout/stored.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "model/reason.h"

namespace tidemark::policy::settings {
namespace {

using base::JsonReader;
using base::JsonWriter;
using model::Reason;

constexpr std::array<std::string_view, 4> kPhases{"settled", "canary", "soak", "fleet"};
constexpr std::array<std::string_view, 3> kVerbs{"take", "hold", "resume"};
constexpr std::string_view kRevisionKeyPrefix = "revision-";

void begin(JsonWriter& json) {
  json.begin_object().member("schema", kStoredSchema).member("policy", kRolloutPolicyVersion);
}

void write_time(JsonWriter& json, std::string_view name, base::WallTime when) {
  json.member(name, base::format_rfc3339_micro(when));
}

// One object of the store, member by member; unknown members are ignored, since a later version of the same schema may
// add some.
class Fields {
 public:
  explicit Fields(const Json& value) : value_(value) {}

  std::string text(std::string_view key) const { return std::string(value_.text_at(key)); }
  std::int64_t number(std::string_view key) const {
    const Json* found = value_.member(key);
    return found == nullptr ? 0 : found->get_int().value_or(0);
  }
  bool truth(std::string_view key) const {
    const Json* found = value_.member(key);
    return found != nullptr && found->get_bool().value_or(false);
  }
  std::optional<base::WallTime> time_at(std::string_view key) const { return base::parse_rfc3339(value_.text_at(key)); }
  const Json::Array& list(std::string_view key) const {
    static const Json::Array kNone;
    const Json* found = value_.member(key);
    return found == nullptr || !found->is_array() ? kNone : found->as_array();
  }
  bool has(std::string_view key) const { return value_.member(key) != nullptr; }
  const Json* member(std::string_view key) const { return value_.member(key); }

 private:
  const Json& value_;
};

std::unexpected<Error> lacks(std::string_view what) {
  return fail(ErrorKind::kInvalid, what, " is missing or invalid");
}

Result<Json> read_object(std::string_view text) {
  TM_TRY(auto value, Json::parse(text));
  if (!value.is_object()) return fail(ErrorKind::kInvalid, "wanted an object");
  const std::int64_t schema = Fields(value).number("schema");
  if (schema > kStoredSchema) {
    return fail(ErrorKind::kUnsupported, "written with schema ", schema, "; this version reads ", kStoredSchema);
  }
  if (schema != kStoredSchema) return lacks("schema");
  return value;
}

void write_pools(JsonWriter& json, std::string_view name, const std::vector<PoolEvictions>& list) {
  json.key(name).begin_array();
  for (const auto& each : list) {
    json.begin_object().member("pool", each.pool).member("evictions", each.evictions).end_object();
  }
  json.end_array();
}

std::optional<std::size_t> index_of(std::span<const std::string_view> words, std::string_view word) {
  const auto at = std::ranges::find(words, word);
  if (at == words.end()) return std::nullopt;
  return static_cast<std::size_t>(at - words.begin());
}

Result<Hold> read_hold(const Json& value) {
  const Fields fields(value);
  Hold hold;
  hold.reason = fields.text("why") == "evictions" ? Reason::kRolloutEvictionSpike : Reason::kRolloutHeld;
  const auto since = fields.time_at("since");
  if (!since) return lacks("hold.since");
  hold.since = *since;
  hold.until = fields.time_at("until");
  hold.pool = fields.text("pool");
  hold.evictions = fields.number("evictions");
  hold.allowed = fields.number("allowed");
  return hold;
}

}  // namespace

std::string revision_key(std::int64_t number) {
  return base::cat(kRevisionKeyPrefix, number);
}

std::string encode_revision(const StoredRevision& revision) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  json.member("number", revision.number).member("hash", std::string_view(revision.hash));
  write_time(json, "taken", revision.taken);
  json.member("completed", revision.completed);
  json.key("slo-controller-config").begin_object();
  for (const auto& [key, text] : revision.texts.slo) json.member(key, std::string_view(text));
  json.end_object();
  if (revision.texts.tidemark) json.member("tidemark-config", std::string_view(*revision.texts.tidemark));
  json.end_object();
  return out;
}

Result<StoredRevision> decode_revision(std::string_view text) {
  TM_TRY(const Json value, read_object(text));
  const Fields fields(value);
  StoredRevision revision;
  revision.number = fields.number("number");
  if (revision.number < 1) return lacks("number");
  const auto taken = fields.time_at("taken");
  if (!taken) return lacks("taken");
  revision.taken = *taken;
  revision.completed = fields.truth("completed");
  const Json* slo = fields.member("slo-controller-config");
  if (slo == nullptr || !slo->is_object()) return lacks("slo-controller-config");
  for (const auto& [key, each] : slo->as_object()) {
    if (!each.is_string()) return lacks(key);
    revision.texts.slo.emplace(key, each.as_string());
  }
  if (fields.has("tidemark-config")) revision.texts.tidemark = fields.text("tidemark-config");
  // The texts define the revision; a different hash beside them shows an edit by hand.
  revision.hash = hash_of(revision.texts);
  if (revision.hash != fields.text("hash")) return fail(ErrorKind::kInvalid, "the texts do not match the stored hash");
  return revision;
}

std::string encode_state(const RolloutState& state) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  json.member("phase", kPhases[static_cast<std::size_t>(state.phase)]);
  json.key("layers").begin_array();
  for (const auto& layer : state.layers) {
    json.begin_object().member("revision", std::string_view(layer.revision));
    json.member("canaries", std::string_view(layer.canaries))
        .member("others", std::string_view(layer.others))
        .end_object();
  }
  json.end_array();
  write_time(json, "began", state.began);
  write_time(json, "looked", state.looked);
  json.member("soakedMs", std::chrono::duration_cast<std::chrono::milliseconds>(state.soaked).count());
  json.key("grants").begin_array();
  for (const auto& grant : state.grants) {
    json.begin_object();
    write_time(json, "at", grant.at);
    json.member("nodes", grant.nodes).end_object();
  }
  json.end_array();
  if (state.baselines) write_pools(json, "baselines", *state.baselines);
  if (state.hold) {
    json.key("hold").begin_object();
    json.member("why", state.hold->reason == Reason::kRolloutEvictionSpike ? "evictions" : "asked");
    write_time(json, "since", state.hold->since);
    if (state.hold->until) write_time(json, "until", *state.hold->until);
    if (state.hold->reason == Reason::kRolloutEvictionSpike) {
      json.member("pool", std::string_view(state.hold->pool)).member("evictions", state.hold->evictions);
      json.member("allowed", state.hold->allowed);
    }
    json.end_object();
  }
  json.member("request", std::string_view(state.request)).end_object();
  return out;
}

Result<RolloutState> decode_state(std::string_view text) {
  TM_TRY(const Json value, read_object(text));
  const Fields fields(value);
  RolloutState state;
  const auto phase = index_of(kPhases, fields.text("phase"));
  if (!phase) return lacks("phase");
  state.phase = static_cast<Phase>(*phase);
  for (const Json& each : fields.list("layers")) {
    const Fields layer(each);
    state.layers.push_back({layer.text("revision"), layer.text("canaries"), layer.text("others")});
  }
  if (state.layers.empty() || state.layers.size() > kLayersMax) return lacks("layers");
  if (state.phase == Phase::kSettled && state.layers.size() != 1) return lacks("layers");
  const auto began = fields.time_at("began");
  const auto looked = fields.time_at("looked");
  if (!began || !looked) return lacks("began or looked");
  state.began = *began;
  state.looked = *looked;
  constexpr std::int64_t kSoakedMaxMs = std::int64_t{1000} * 3600 * 24 * 365;
  state.soaked = std::chrono::milliseconds(std::clamp<std::int64_t>(fields.number("soakedMs"), 0, kSoakedMaxMs));
  for (const Json& each : fields.list("grants")) {
    const auto at = Fields(each).time_at("at");
    if (!at) return lacks("grants.at");
    constexpr std::int64_t kNodesMax = 1'000'000'000;
    state.grants.push_back({*at, std::clamp<std::int64_t>(Fields(each).number("nodes"), 0, kNodesMax)});
  }
  if (fields.has("baselines")) {
    state.baselines.emplace();
    for (const Json& each : fields.list("baselines")) {
      state.baselines->push_back({Fields(each).text("pool"), Fields(each).number("evictions")});
    }
  }
  if (const Json* hold = fields.member("hold")) {
    TM_TRY(state.hold, read_hold(*hold));
  }
  state.request = fields.text("request");
  return state;
}

std::string encode_request(const RolloutRequest& request, std::string_view reason) {
  std::string out;
  JsonWriter json(out);
  begin(json);
  json.member("id", std::string_view(request.id)).member("verb", kVerbs[static_cast<std::size_t>(request.verb)]);
  if (!request.revision.empty()) json.member("revision", std::string_view(request.revision));
  json.member("atOnce", request.at_once);
  write_time(json, "at", request.at);
  if (request.until) write_time(json, "until", *request.until);
  if (!reason.empty()) json.member("reason", reason);
  json.end_object();
  return out;
}

Result<RolloutRequest> decode_request(std::string_view text) {
  TM_TRY(const Json value, read_object(text));
  const Fields fields(value);
  RolloutRequest request;
  request.id = fields.text("id");
  if (request.id.empty()) return lacks("id");
  const auto verb = index_of(kVerbs, fields.text("verb"));
  if (!verb) return lacks("verb");
  request.verb = static_cast<RolloutRequest::Verb>(*verb);
  request.revision = fields.text("revision");
  if (request.verb == RolloutRequest::Verb::kTake && request.revision.empty()) return lacks("revision");
  request.at_once = fields.truth("atOnce");
  const auto at = fields.time_at("at");
  if (!at) return lacks("at");
  request.at = *at;
  request.until = fields.time_at("until");
  return request;
}

Stored decode_stored(const std::map<std::string, std::string, std::less<>>& data) {
  Stored stored;
  const auto tell = [&](std::string_view key, const Error& error) {
    stored.problem += base::cat(stored.problem.empty() ? "" : "\n", key, ": ", error.message);
  };
  for (const auto& [key, text] : data) {
    if (!key.starts_with(kRevisionKeyPrefix)) continue;
    auto revision = decode_revision(text);
    if (!revision) {
      tell(key, revision.error());
      stored.newer = stored.newer || revision.error().kind == ErrorKind::kUnsupported;
    } else if (find_revision(stored.book, revision->hash) == nullptr) {
      stored.book.push_back(std::move(*revision));
    }
  }
  std::ranges::sort(stored.book, {}, &StoredRevision::number);

  if (const auto at = data.find(kStateKey); at != data.end()) {
    auto state = decode_state(at->second);
    if (!state) {
      tell(kStateKey, state.error());
      stored.newer = stored.newer || state.error().kind == ErrorKind::kUnsupported;
    } else {
      stored.state = std::move(*state);
      for (const auto& layer : stored.state->layers) {
        // One revision on all nodes needs no text to be in force: it may have been too large to store.
        if (stored.state->layers.size() == 1 || find_revision(stored.book, layer.revision) != nullptr) continue;
        tell(kStateKey, Error{ErrorKind::kInvalid, base::cat("revision ", layer.revision, " is not there"), 0, 0});
        stored.state.reset();
        break;
      }
    }
  }
  if (!stored.state) {
    const auto last =
        std::find_if(stored.book.rbegin(), stored.book.rend(), [](const auto& each) { return each.completed; });
    if (last != stored.book.rend()) {
      stored.state.emplace();
      stored.state->layers = {{last->hash, kAllNodes, kAllNodes}};
    }
  }

  if (const auto at = data.find(kRequestKey); at != data.end()) {
    auto request = decode_request(at->second);
    if (request) {
      stored.request = std::move(*request);
    } else {
      tell(kRequestKey, request.error());
    }
  }
  return stored;
}

std::map<std::string, std::optional<std::string>> stored_changes(const Stored& before, const RevisionBook& book,
                                                                 const RolloutState& state) {
  std::map<std::string, std::optional<std::string>> changes;
  for (const auto& revision : before.book) {
    if (find_revision(book, revision.number) == nullptr) changes[revision_key(revision.number)] = std::nullopt;
  }
  for (const auto& revision : book) {
    const auto* old = find_revision(before.book, revision.number);
    if (old == nullptr || *old != revision) changes[revision_key(revision.number)] = encode_revision(revision);
  }
  if (before.state != state) changes[std::string(kStateKey)] = encode_state(state);
  return changes;
}

}  // namespace tidemark::policy::settings
