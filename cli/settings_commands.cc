#include "cli/settings_commands.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "cli/get.h"
#include "cli/line_diff.h"
#include "kube/objects.h"
#include "manager/settings/effective.h"
#include "model/names.h"
#include "model/reason.h"
#include "policy/render/rollout_text.h"
#include "policy/rollout/stored.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr base::Duration kLookPause = std::chrono::milliseconds(500);  // between two looks while waiting
constexpr base::Duration kLookMin = std::chrono::seconds(1);           // for the last look, however little time is left
constexpr int kOutputSchema = 1;

// One ConfigMap as it is on the server; absent where it does not exist.
struct Map {
  std::string name;
  bool exists = false;
  std::string uid;
  std::string resource_version;
  std::map<std::string, std::string, std::less<>> data;
};

net::Task<Result<Map>> read_map(kube::Client& client, const SettingsOptions& options, std::string_view name) {
  Map map;
  map.name = name;
  auto bytes = co_await client.get(kube::kConfigMaps, options.config_namespace, name, options.limit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) co_return map;
    co_return std::unexpected(
        std::move(bytes).error().within(cat("reading ConfigMap ", options.config_namespace, "/", name)));
  }
  kube::Interner interner;
  TM_CO_TRY(const auto decoded, kube::decode_config_map(*bytes, {}, kube::KeyFilter::all(), interner));
  map.exists = true;
  map.uid = decoded.meta.uid;
  map.resource_version = decoded.meta.resource_version;
  map.data = manager::data_of(decoded);
  co_return map;
}

struct Store {
  Map map;
  policy::Stored stored;
};

net::Task<Result<Store>> read_store(kube::Client& client, const SettingsOptions& options) {
  Store store;
  TM_CO_TRY(store.map, co_await read_map(client, options, model::kRevisionsName));
  if (!store.map.exists) {
    co_return fail(ErrorKind::kNotFound, "there is no ConfigMap ", options.config_namespace, "/", model::kRevisionsName,
                   ": no manager has stored its settings yet");
  }
  store.stored = policy::decode_stored(store.map.data);
  co_return store;
}

// What the object selector of the webhook asks for.
std::string_view configmap_type(std::string_view name) {
  return name == model::kTidemarkConfigName ? model::kTidemarkConfigName : model::kConfigName;
}

// Brings a ConfigMap to exactly this data (nullopt: it goes), if nobody changed it meanwhile.
net::Task<Result<void>> put(kube::Client& client, const SettingsOptions& options, const Map& before,
                            const std::optional<std::map<std::string, std::string, std::less<>>>& wanted,
                            bool dry_run) {
  kube::WriteOptions write;
  write.ns = options.config_namespace;
  write.dry_run = dry_run;
  write.note.reason = model::reason_id(model::Reason::kWriteAsked);
  Json was = Json::object();
  for (const auto& [key, text] : before.data) was[key] = Json(text);
  if (before.exists) write.note.before = was.dump();
  if (!wanted) {
    if (!before.exists) co_return Result<void>();
    auto removed = co_await client.remove(kube::kConfigMaps, before.name, before.uid, write, options.limit);
    if (!removed) co_return std::unexpected(std::move(removed).error().within(cat("deleting ConfigMap ", before.name)));
    co_return Result<void>();
  }
  if (before.exists && before.data == *wanted) co_return Result<void>();
  Json data = Json::object();
  for (const auto& [key, text] : before.data) data[key] = Json(nullptr);
  for (const auto& [key, text] : *wanted) data[key] = Json(text);
  Json body = Json::object({{"metadata", Json::object({{"name", Json(before.name)}})}, {"data", std::move(data)}});
  Result<std::string> answer;
  if (before.exists) {
    body["metadata"]["resourceVersion"] = Json(before.resource_version);
    answer = co_await client.patch(kube::kConfigMaps, before.name, kube::PatchType::kMerge, body.dump(), write,
                                   options.limit);
  } else {
    // Without the label the webhook that checks edits of it would never be asked again.
    body["metadata"]["labels"] = Json::object({{model::kConfigMapTypeLabel, Json(configmap_type(before.name))}});
    answer = co_await client.create(kube::kConfigMaps, body.dump(), write, "", options.limit);
  }
  if (!answer) co_return std::unexpected(std::move(answer).error().within(cat("writing ConfigMap ", before.name)));
  co_return Result<void>();
}

net::Task<Result<void>> leave_request(kube::Client& client, const SettingsOptions& options,
                                      policy::RolloutRequest request, const ChangeOptions& change) {
  request.id = change.id;
  const Json body = Json::object(
      {{"data", Json::object({{policy::kRequestKey, Json(policy::encode_request(request, change.reason))}})}});
  kube::WriteOptions write;
  write.ns = options.config_namespace;
  write.note.reason = model::reason_id(model::Reason::kWriteAsked);
  auto answer = co_await client.patch(kube::kConfigMaps, model::kRevisionsName, kube::PatchType::kMerge, body.dump(),
                                      write, options.limit);
  if (!answer) co_return std::unexpected(std::move(answer).error().within("leaving the request"));
  co_return Result<void>();
}

// What became of what is written by now.
struct Waited {
  bool happened = false;
  std::string problem;  // why it could not be seen; "" where it could
};

// Until `done` says so of what is stored, or the time is up.
net::Task<Waited> wait_until(net::EventLoop& loop, kube::Client& client, SettingsOptions options, base::Duration limit,
                             std::function<bool(const policy::Stored&)> done) {
  const auto end = loop.clock().monotonic() + limit;
  const base::Duration look_limit = options.limit;
  Waited waited;
  while (true) {
    options.limit = std::min(look_limit, std::max(end - loop.clock().monotonic(), kLookMin));
    const auto store = co_await read_store(client, options);
    waited.happened = store && done(store->stored);
    waited.problem = store ? "" : store.error().message;
    const bool over = loop.clock().monotonic() >= end || (!store && !passes(store.error()));
    if (waited.happened || over) co_return waited;
    co_await loop.sleep(kLookPause);
  }
}

struct Change {
  std::string map;
  std::string key;
  std::optional<std::string> before;
  std::optional<std::string> after;
};

using TextMap = std::map<std::string, std::string, std::less<>>;

void compare(std::vector<Change>& changes, const std::string& map, const TextMap& before, const TextMap& after) {
  for (const auto& [key, text] : before) {
    const auto at = after.find(key);
    if (at == after.end()) {
      changes.push_back({map, key, text, std::nullopt});
    } else if (at->second != text) {
      changes.push_back({map, key, text, at->second});
    }
  }
  for (const auto& [key, text] : after) {
    if (!before.contains(key)) changes.push_back({map, key, std::nullopt, text});
  }
}

TextMap slo_of(const policy::StoredRevision& revision) {
  return {revision.texts.slo.begin(), revision.texts.slo.end()};
}

TextMap tidemark_of(const policy::StoredRevision& revision) {
  if (!revision.texts.tidemark) return {};
  return {{std::string(model::kTidemarkConfigKey), *revision.texts.tidemark}};
}

std::vector<Change> changes_to(const policy::StoredRevision& revision, const Map& slo, const Map& tidemark) {
  std::vector<Change> changes;
  compare(changes, slo.name, slo.data, slo_of(revision));
  compare(changes, tidemark.name, tidemark.data, tidemark_of(revision));
  return changes;
}

std::string changes_text(const std::vector<Change>& changes) {
  std::string out;
  for (const auto& change : changes) {
    out += cat(change.map, " ", change.key,
               !change.before  ? " (comes back)"
               : !change.after ? " (goes)"
                               : "",
               ":\n", line_diff(change.before.value_or(""), change.after.value_or("")));
  }
  return out.empty() ? "the ConfigMaps hold it already\n" : out;
}

Json changes_json(const std::vector<Change>& changes) {
  Json list = Json::array();
  for (const auto& change : changes) {
    list.as_array().push_back(Json::object({{"configMap", Json(change.map)},
                                            {"key", Json(change.key)},
                                            {"before", change.before ? Json(*change.before) : Json(nullptr)},
                                            {"after", change.after ? Json(*change.after) : Json(nullptr)}}));
  }
  return list;
}

// Null: a roll-out is under way, or none ever was.
const policy::StoredRevision* in_force_everywhere(const policy::Stored& stored) {
  if (!stored.state || stored.state->layers.size() != 1) return nullptr;
  return policy::find_revision(stored.book, stored.state->target());
}

Result<const policy::StoredRevision*> choose(const policy::Stored& stored, std::int64_t to) {
  if (to != 0) {
    const auto* found = policy::find_revision(stored.book, to);
    if (found != nullptr) return found;
    std::string there;
    for (const auto& each : stored.book) there += cat(there.empty() ? "" : ", ", each.number);
    return fail(ErrorKind::kNotFound, "revision ", to, " is not kept; there are: ", there);
  }
  if (!stored.state || stored.state->layers.empty()) {
    return fail(ErrorKind::kNotFound, "nothing was taken yet, so there is nothing to undo");
  }
  if (stored.state->layers.size() > 1) {
    if (const auto* found = policy::find_revision(stored.book, stored.state->layers.front().revision)) return found;
  }
  const auto before = std::find_if(stored.book.rbegin(), stored.book.rend(), [&](const auto& each) {
    return each.completed && each.hash != stored.state->target();
  });
  if (before != stored.book.rend()) return &*before;
  return fail(ErrorKind::kNotFound,
              "no earlier revision that was in force everywhere is kept; `tidemark list revisions` shows what is, "
              "--to NUMBER takes any of them");
}

std::string not_confirmed(std::string what) {
  return what + "nothing was changed: say --yes to do it";
}

// What every change answers as JSON.
Json outcome(const ChangeOptions& change, std::string_view verb, const std::optional<Waited>& waited) {
  Json out = Json::object({{"schema", kOutputSchema}, {"verb", Json(verb)}, {"dryRun", change.dry_run}});
  out["request"] = change.dry_run ? Json(nullptr) : Json(change.id);
  out["happened"] = waited ? Json(waited->happened) : Json(nullptr);
  if (waited && !waited->problem.empty()) out["problem"] = Json(waited->problem);
  return out;
}

// `written`: what stands on the server, whatever became of it.
std::string waited_text(const ChangeOptions& change, const std::optional<Waited>& waited, std::string_view written) {
  if (!waited) return "a running manager takes it at once; `tidemark list revisions` shows what became of it\n";
  if (waited->happened) return "it is in force\n";
  if (!waited->problem.empty()) {
    return cat(written, "; whether it is in force could not be seen: ", waited->problem,
               "\n`tidemark list revisions` shows what became of it\n");
  }
  return cat(written, ", but it is not in force after ", base::format_go_duration(change.wait),
             ": does a manager run? The next one takes it; `tidemark list revisions` shows\n");
}

ChangeReport report_of(std::string text, const std::optional<Waited>& waited) {
  return {std::move(text), waited ? std::optional(waited->happened) : std::nullopt};
}

// A request that is nothing but a request.
net::Task<Result<ChangeReport>> request_only(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                             ChangeOptions change, policy::RolloutRequest request, std::string verb,
                                             std::string text) {
  TM_CO_TRY(const auto store, co_await read_store(client, options));
  request.at = loop.clock().wall();
  std::optional<Waited> waited;
  if (!change.dry_run) {
    TM_CO_TRY_VOID(co_await leave_request(client, options, request, change));
    if (change.wait > base::Duration(0)) {
      waited = co_await wait_until(loop, client, options, change.wait, [&](const policy::Stored& stored) {
        return stored.state && stored.state->request == change.id;
      });
    }
  }
  if (options.json) co_return report_of(outcome(change, verb, waited).dump_pretty() + "\n", waited);
  co_return report_of(cat(change.dry_run ? "would leave the request: " : "asked for: ", text, "\n",
                          change.dry_run ? "" : waited_text(change, waited, "the request is left")),
                      waited);
}

}  // namespace

net::Task<Result<std::string>> list_revisions(net::EventLoop& loop, kube::Client& client, SettingsOptions options) {
  TM_CO_TRY(const auto store, co_await read_store(client, options));
  if (options.json) co_return policy::render_json(store.stored).dump_pretty() + "\n";
  co_return policy::render_text(store.stored, loop.clock().wall());
}

net::Task<Result<ChangeReport>> undo_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                            ChangeOptions change, std::int64_t to) {
  TM_CO_TRY(const auto store, co_await read_store(client, options));
  TM_CO_TRY(const Map slo, co_await read_map(client, options, options.config_name));
  TM_CO_TRY(const Map tidemark, co_await read_map(client, options, model::kTidemarkConfigName));
  const auto* in_force = in_force_everywhere(store.stored);
  const bool refused = to == 0 && in_force != nullptr && !changes_to(*in_force, slo, tidemark).empty();
  TM_CO_TRY(const policy::StoredRevision* target,
            refused ? Result<const policy::StoredRevision*>(in_force) : choose(store.stored, to));
  const std::vector<Change> changes = changes_to(*target, slo, tidemark);
  const TextMap slo_wanted = slo_of(*target), tidemark_wanted = tidemark_of(*target);

  const bool at_once = target->completed;
  std::string text =
      cat(refused ? "what the ConfigMaps hold was never taken: it was refused, or no manager has seen it yet\n" : "",
          "back to revision ", policy::revision_name(store.stored.book, target->hash), ", taken at ",
          base::format_rfc3339(target->taken),
          at_once ? "; it was in force everywhere, so it holds everywhere at once\n"
                  : "; it was never in force everywhere, so it is rolled out in steps\n",
          changes_text(changes));
  if (!change.dry_run && !change.yes) co_return fail(ErrorKind::kInvalid, not_confirmed(std::move(text)));

  std::optional<Waited> waited;
  if (!change.dry_run) {
    policy::RolloutRequest request;
    request.verb = policy::RolloutRequest::Verb::kTake;
    request.revision = target->hash;
    request.at_once = at_once;
    request.at = loop.clock().wall();
    const auto tidemark_map = target->texts.tidemark ? std::optional(tidemark_wanted) : std::nullopt;
    // Tried first, so that a right that is missing or a webhook that refuses leaves nothing half done.
    TM_CO_TRY_VOID(co_await put(client, options, slo, slo_wanted, true));
    TM_CO_TRY_VOID(co_await put(client, options, tidemark, tidemark_map, true));
    TM_CO_TRY_VOID(co_await leave_request(client, options, request, change));
    if (auto done = co_await put(client, options, slo, slo_wanted, false); !done) {
      co_return std::unexpected(std::move(done).error().within(cat(
          "only the request is left, which lapses; no settings are written, do it again with --to ", target->number)));
    }
    if (auto done = co_await put(client, options, tidemark, tidemark_map, false); !done) {
      co_return std::unexpected(std::move(done).error().within(
          cat(options.config_name, " is written, the rest is not; do it again with --to ", target->number)));
    }
    if (change.wait > base::Duration(0)) {
      const std::string hash = target->hash;
      waited = co_await wait_until(loop, client, options, change.wait, [&](const policy::Stored& stored) {
        return stored.state && stored.state->layers.size() == 1 && stored.state->target() == hash;
      });
    }
  }
  if (options.json) {
    Json out = outcome(change, "undo", waited);
    out["revision"] = Json(target->number);
    out["hash"] = Json(target->hash);
    out["atOnce"] = Json(at_once);
    out["changes"] = changes_json(changes);
    co_return report_of(out.dump_pretty() + "\n", waited);
  }
  if (!change.dry_run) text += waited_text(change, waited, "the ConfigMaps are written");
  co_return report_of(std::move(text), waited);
}

net::Task<Result<ChangeReport>> hold_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                            ChangeOptions change, base::Duration hold_for) {
  policy::RolloutRequest request;
  request.verb = policy::RolloutRequest::Verb::kHold;
  std::string text = "no node takes new settings until resume";
  if (hold_for > base::Duration(0)) {
    request.until = loop.clock().wall() + hold_for;
    text = cat("no node takes new settings until ", base::format_rfc3339(*request.until));
  }
  co_return co_await request_only(loop, client, std::move(options), std::move(change), std::move(request), "hold",
                                  std::move(text));
}

net::Task<Result<ChangeReport>> resume_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                              ChangeOptions change, bool now) {
  policy::RolloutRequest request;
  request.verb = policy::RolloutRequest::Verb::kResume;
  request.at_once = now;
  std::string text = now ? "every node takes the new settings at once" : "the paused rollout continues";
  if (now && !change.yes && !change.dry_run) co_return fail(ErrorKind::kInvalid, not_confirmed(cat(text, "\n")));
  co_return co_await request_only(loop, client, std::move(options), std::move(change), std::move(request), "resume",
                                  std::move(text));
}

}  // namespace tidemark::cli
