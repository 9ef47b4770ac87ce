#include "operate/settings_change.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "kube/objects.h"
#include "manager/settings/effective.h"
#include "model/names.h"
#include "model/reason.h"
#include "operate/get.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::operate {
namespace {

using base::cat;

constexpr base::Duration kRolloutLookPause = std::chrono::milliseconds(500);  // between two looks while waiting
constexpr base::Duration kRolloutLookMin = std::chrono::seconds(1);  // for the last look, however little time is left

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
  policy::settings::Stored stored;
};

net::Task<Result<Store>> read_store(kube::Client& client, const SettingsOptions& options) {
  Store store;
  TM_CO_TRY(store.map, co_await read_map(client, options, model::kRevisionsName));
  if (!store.map.exists) {
    co_return fail(ErrorKind::kNotFound, "there is no ConfigMap ", options.config_namespace, "/", model::kRevisionsName,
                   ": no manager has stored its settings yet");
  }
  store.stored = policy::settings::decode_stored(store.map.data);
  co_return store;
}

// What the object selector of the webhook asks for.
std::string_view configmap_type(std::string_view name) {
  return name == model::kTidemarkConfigName ? model::kTidemarkConfigName : model::kConfigName;
}

// Brings a ConfigMap to exactly this data (nullopt: deletes it), unless it changed meanwhile.
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
                                      policy::settings::RolloutRequest request, const ChangeOptions& change) {
  request.id = change.id;
  const Json body =
      Json::object({{"data", Json::object({{policy::settings::kRequestKey,
                                            Json(policy::settings::encode_request(request, change.reason))}})}});
  kube::WriteOptions write;
  write.ns = options.config_namespace;
  write.note.reason = model::reason_id(model::Reason::kWriteAsked);
  auto answer = co_await client.patch(kube::kConfigMaps, model::kRevisionsName, kube::PatchType::kMerge, body.dump(),
                                      write, options.limit);
  if (!answer) co_return std::unexpected(std::move(answer).error().within("leaving the request"));
  co_return Result<void>();
}

// Until `done` says so of what is stored, or the time is up.
net::Task<RolloutWait> wait_until(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                  base::Duration limit, std::function<bool(const policy::settings::Stored&)> done) {
  const auto end = loop.clock().monotonic() + limit;
  const base::Duration look_limit = options.limit;
  RolloutWait waited;
  while (true) {
    options.limit = std::min(look_limit, std::max(end - loop.clock().monotonic(), kRolloutLookMin));
    const auto store = co_await read_store(client, options);
    waited.happened = store && done(store->stored);
    waited.problem = store ? "" : store.error().message;
    const bool over = loop.clock().monotonic() >= end || (!store && !passes(store.error()));
    if (waited.happened || over) co_return waited;
    co_await loop.sleep(kRolloutLookPause);
  }
}

using TextMap = std::map<std::string, std::string, std::less<>>;

void compare(std::vector<SettingsTextChange>& changes, const std::string& map, const TextMap& before,
             const TextMap& after) {
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

TextMap slo_of(const policy::settings::SettingsTexts& texts) {
  return {texts.slo.begin(), texts.slo.end()};
}

TextMap tidemark_of(const policy::settings::SettingsTexts& texts) {
  if (!texts.tidemark) return {};
  return {{std::string(model::kTidemarkConfigKey), *texts.tidemark}};
}

// Both ConfigMaps as they are on the server.
struct Maps {
  Map slo, tidemark;

  policy::settings::SettingsTexts texts() const {
    policy::settings::SettingsTexts out;
    out.slo = {slo.data.begin(), slo.data.end()};
    if (const auto at = tidemark.data.find(model::kTidemarkConfigKey); at != tidemark.data.end())
      out.tidemark = at->second;
    return out;
  }
};

net::Task<Result<Maps>> read_maps(kube::Client& client, const SettingsOptions& options) {
  Maps maps;
  TM_CO_TRY(maps.slo, co_await read_map(client, options, options.config_name));
  TM_CO_TRY(maps.tidemark, co_await read_map(client, options, model::kTidemarkConfigName));
  co_return maps;
}

std::vector<SettingsTextChange> changes_to(const policy::settings::SettingsTexts& texts, const Maps& maps) {
  std::vector<SettingsTextChange> changes;
  compare(changes, maps.slo.name, maps.slo.data, slo_of(texts));
  compare(changes, maps.tidemark.name, maps.tidemark.data, tidemark_of(texts));
  return changes;
}

struct MapWrite {
  const Map& before;
  std::optional<TextMap> wanted;
};
// Of the ConfigMaps that change.
std::vector<MapWrite> writes_to(const policy::settings::SettingsTexts& texts, const Maps& maps) {
  std::vector<MapWrite> writes;
  if (maps.slo.data != slo_of(texts)) writes.push_back({maps.slo, slo_of(texts)});
  if (maps.tidemark.data != tidemark_of(texts)) {
    writes.push_back({maps.tidemark, texts.tidemark ? std::optional(tidemark_of(texts)) : std::nullopt});
  }
  return writes;
}

// So that a right that is missing or a webhook that refuses leaves nothing half done.
net::Task<Result<void>> try_writes(kube::Client& client, const SettingsOptions& options,
                                   const std::vector<MapWrite>& writes) {
  for (const MapWrite& each : writes) TM_CO_TRY_VOID(co_await put(client, options, each.before, each.wanted, true));
  co_return Result<void>();
}

// `done` counts the writes that succeeded.
net::Task<Result<void>> do_writes(kube::Client& client, const SettingsOptions& options,
                                  const std::vector<MapWrite>& writes, std::size_t& done) {
  for (done = 0; done < writes.size(); ++done) {
    TM_CO_TRY_VOID(co_await put(client, options, writes[done].before, writes[done].wanted, false));
  }
  co_return Result<void>();
}

bool is_conflict(const Error& error) {
  return error.kind == ErrorKind::kConflict || error.kind == ErrorKind::kAlreadyExists;
}

// Null: a roll-out is under way, or none ever was.
const policy::settings::StoredRevision* in_force_everywhere(const policy::settings::Stored& stored) {
  if (!stored.state || stored.state->layers.size() != 1) return nullptr;
  return policy::settings::find_revision(stored.book, stored.state->target());
}

Result<const policy::settings::StoredRevision*> choose(const policy::settings::Stored& stored, std::int64_t to) {
  if (to != 0) {
    const auto* found = policy::settings::find_revision(stored.book, to);
    if (found != nullptr) return found;
    std::string there;
    for (const auto& each : stored.book) there += cat(there.empty() ? "" : ", ", each.number);
    return fail(ErrorKind::kNotFound, "revision ", to, " is not kept; there are: ", there);
  }
  if (!stored.state || stored.state->layers.empty()) {
    return fail(ErrorKind::kNotFound, "nothing was taken yet, so there is nothing to undo");
  }
  if (stored.state->layers.size() > 1) {
    if (const auto* found = policy::settings::find_revision(stored.book, stored.state->layers.front().revision))
      return found;
  }
  const auto before = std::find_if(stored.book.rbegin(), stored.book.rend(), [&](const auto& each) {
    return each.completed && each.hash != stored.state->target();
  });
  if (before != stored.book.rend()) return &*before;
  return fail(ErrorKind::kNotFound,
              "no earlier revision that was in force everywhere is kept; `tidemark list revisions` shows what is, "
              "--to NUMBER takes any of them");
}

// A request that is nothing but a request.
net::Task<Result<RolloutChange>> request_only(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                              ChangeOptions change, policy::settings::RolloutRequest request) {
  TM_CO_TRY(const auto store, co_await read_store(client, options));
  request.at = loop.clock().wall();
  RolloutChange out;
  if (!change.dry_run) {
    TM_CO_TRY_VOID(co_await leave_request(client, options, request, change));
    if (change.wait > base::Duration(0)) {
      out.waited = co_await wait_until(loop, client, options, change.wait, [&](const policy::settings::Stored& stored) {
        return stored.state && stored.state->request == change.id;
      });
    }
  }
  out.request = std::move(request);
  co_return out;
}

}  // namespace

net::Task<Result<policy::settings::Stored>> read_revisions(kube::Client& client, SettingsOptions options) {
  TM_CO_TRY(auto store, co_await read_store(client, options));
  co_return std::move(store.stored);
}

net::Task<Result<SettingsEdited>> edit_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                              ChangeOptions change, std::string base,
                                              policy::settings::SettingsTexts wanted) {
  SettingsEdited out;
  TM_CO_TRY(const Maps maps, co_await read_maps(client, options));
  if (auto now = maps.texts(); policy::settings::hash_of(now) != base) {
    out.theirs = std::move(now);
    co_return out;
  }
  out.hash = policy::settings::hash_of(wanted);
  out.changes = changes_to(wanted, maps);
  if (change.dry_run || out.changes.empty()) co_return out;
  const auto writes = writes_to(wanted, maps);
  // Of an edit that another one came before.
  const auto overtaken = [&]() -> net::Task<Result<SettingsEdited>> {
    TM_CO_TRY(const Maps now, co_await read_maps(client, options));
    SettingsEdited refused;
    refused.theirs = now.texts();
    co_return refused;
  };
  if (auto tried = co_await try_writes(client, options, writes); !tried) {
    if (is_conflict(tried.error())) co_return co_await overtaken();
    co_return std::unexpected(std::move(tried).error());
  }
  if (writes.size() > 1) {
    policy::settings::RolloutRequest request;
    request.verb = policy::settings::RolloutRequest::Verb::kTake;
    request.revision = out.hash;
    request.at = loop.clock().wall();
    auto left = co_await leave_request(client, options, request, change);
    // Without stored revisions there is no rollout: the first settings hold at once.
    if (!left && left.error().kind != ErrorKind::kNotFound) co_return std::unexpected(std::move(left).error());
  }
  std::size_t done = 0;
  if (auto written = co_await do_writes(client, options, writes, done); !written) {
    if (done == 0 && is_conflict(written.error())) co_return co_await overtaken();
    co_return std::unexpected(std::move(written).error().within(
        done == 0 ? std::string("nothing is written") : cat(options.config_name, " is written, the rest is not")));
  }
  out.written = true;
  co_return out;
}

net::Task<Result<SettingsUndo>> undo_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                            ChangeOptions change, std::int64_t to) {
  TM_CO_TRY(const auto store, co_await read_store(client, options));
  TM_CO_TRY(const Maps maps, co_await read_maps(client, options));
  SettingsUndo out;
  const auto* in_force = in_force_everywhere(store.stored);
  out.never_taken = to == 0 && in_force != nullptr && !changes_to(in_force->texts, maps).empty();
  TM_CO_TRY(const policy::settings::StoredRevision* target,
            out.never_taken ? Result<const policy::settings::StoredRevision*>(in_force) : choose(store.stored, to));
  out.changes = changes_to(target->texts, maps);
  out.number = target->number;
  out.hash = target->hash;
  out.taken = target->taken;
  out.at_once = target->completed;
  if (change.dry_run || !change.confirmed) co_return out;

  policy::settings::RolloutRequest request;
  request.verb = policy::settings::RolloutRequest::Verb::kTake;
  request.revision = target->hash;
  request.at_once = out.at_once;
  request.at = loop.clock().wall();
  const auto writes = writes_to(target->texts, maps);
  TM_CO_TRY_VOID(co_await try_writes(client, options, writes));
  TM_CO_TRY_VOID(co_await leave_request(client, options, request, change));
  std::size_t done = 0;
  if (auto written = co_await do_writes(client, options, writes, done); !written) {
    co_return std::unexpected(std::move(written).error().within(
        done == 0 ? cat("only the request is left, which lapses; no settings are written, do it again with --to ",
                        target->number)
                  : cat(options.config_name, " is written, the rest is not; do it again with --to ", target->number)));
  }
  out.written = true;
  if (change.wait > base::Duration(0)) {
    const std::string hash = target->hash;
    out.waited = co_await wait_until(loop, client, options, change.wait, [&](const policy::settings::Stored& stored) {
      return stored.state && stored.state->layers.size() == 1 && stored.state->target() == hash;
    });
  }
  co_return out;
}

net::Task<Result<RolloutChange>> pause_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                              ChangeOptions change, base::Duration lasts) {
  policy::settings::RolloutRequest request;
  request.verb = policy::settings::RolloutRequest::Verb::kHold;
  if (lasts > base::Duration(0)) request.until = loop.clock().wall() + lasts;
  co_return co_await request_only(loop, client, std::move(options), std::move(change), std::move(request));
}

net::Task<Result<RolloutChange>> resume_config(net::EventLoop& loop, kube::Client& client, SettingsOptions options,
                                               ChangeOptions change, bool now) {
  policy::settings::RolloutRequest request;
  request.verb = policy::settings::RolloutRequest::Verb::kResume;
  request.at_once = now;
  co_return co_await request_only(loop, client, std::move(options), std::move(change), std::move(request));
}

}  // namespace tidemark::operate
