#include "console/settings_api.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "console/guard.h"
#include "console/json_values.h"
#include "console/settings_documents.h"
#include "model/names.h"
#include "operate/budgets.h"
#include "operate/override.h"
#include "operate/override_json.h"
#include "operate/plan.h"
#include "operate/plan_json.h"
#include "operate/revisions.h"

namespace tidemark::console {
namespace {

using policy::settings::SettingsTexts;

constexpr base::Duration kCallLimit = std::chrono::seconds(30);
constexpr std::size_t kTextsBytesMax = std::size_t{4} << 20;  // both ConfigMaps, as JSON text
constexpr std::string_view kPools = "pools/";
constexpr std::string_view kResume = "/resume";

std::string in_etag(std::string_view hash) {
  return base::cat("\"", hash, "\"");
}

void respond_wrong(net::HttpExchange& exchange, const WrongBody& wrong) {
  respond_problem(exchange, 400, "invalid", wrong.detail, wrong.field);
}

void respond_written(net::HttpExchange& exchange, const Json& body, std::string_view hash = {}) {
  net::Headers headers = answer_headers("application/json", "no-store");
  if (!hash.empty()) headers.set("etag", in_etag(hash));
  exchange.respond(200, std::move(headers), net::make_buffer(body.dump()));
}

// nullopt: the path is not that of a pool's resume.
std::optional<std::string_view> pool_to_resume(std::string_view what) {
  if (!what.starts_with(kPools) || !what.ends_with(kResume)) return std::nullopt;
  if (what.size() <= kPools.size() + kResume.size()) return std::nullopt;
  return what.substr(kPools.size(), what.size() - kPools.size() - kResume.size());
}

}  // namespace

SettingsApi::SettingsApi(net::EventLoop& loop, const base::Log& log, kube::Client& client, base::Random random,
                         ViewOptions settings)
    : loop_(loop),
      log_(log.named("settings")),
      client_(client),
      random_(std::move(random)),
      settings_(std::move(settings)) {}

operate::SettingsOptions SettingsApi::options() const {
  return {settings_.config_namespace, settings_.config_name, kCallLimit};
}

operate::ChangeOptions SettingsApi::change_of(std::string reason) {
  operate::ChangeOptions change;
  change.confirmed = true;
  change.reason = std::move(reason);
  change.id = base::cat("console-", random_.next() >> 1);
  return change;
}

Json SettingsApi::texts_json(const SettingsTexts& texts) const {
  Json slo = Json::object(), tidemark = Json::object();
  for (const auto& [key, text] : texts.slo) slo[key] = Json(text);
  if (texts.tidemark) tidemark[model::kTidemarkConfigKey] = Json(*texts.tidemark);
  Json out = Json::object();
  out[settings_.config_name] = std::move(slo);
  out[model::kTidemarkConfigName] = std::move(tidemark);
  return out;
}

void SettingsApi::keep(std::string hash, SettingsTexts texts) {
  const bool known = std::ranges::any_of(bases_, [&](const auto& each) { return each.first == hash; });
  if (known) return;
  bases_.emplace_front(std::move(hash), std::move(texts));
  if (bases_.size() > kBasesKept) bases_.pop_back();
}

net::Task<void> SettingsApi::texts(net::HttpExchange& exchange) {
  const auto now = co_await operate::read_revisions_now(client_, options());
  if (!now) {
    respond_error(exchange, now.error());
    co_return;
  }
  keep(now->hash, now->texts);
  respond_written(exchange,
                  Json::object({{"schema", kSchema}, {"hash", Json(now->hash)}, {"texts", texts_json(now->texts)}}),
                  now->hash);
}

bool SettingsApi::takes(std::string_view method, std::string_view what) {
  if (method == "PUT") return what == "settings/texts";
  constexpr std::array<std::string_view, 5> kPosts = {"settings/undo", "settings/pause", "settings/resume",
                                                      "settings/text-changes", "overrides"};
  return std::ranges::find(kPosts, what) != kPosts.end() || pool_to_resume(what).has_value();
}

net::Task<void> SettingsApi::write(net::HttpExchange& exchange, std::string what, Person person) {
  auto body = co_await exchange.body(kTextsBytesMax);
  if (!body) {
    respond_problem(exchange, body.error().kind == ErrorKind::kExhausted ? 413 : 408, "body", body.error().message);
    co_return;
  }
  if (what == "settings/texts") {
    co_await edit(exchange, *std::move(body), std::move(person));
  } else if (what == "settings/undo") {
    co_await undo(exchange, *std::move(body), std::move(person));
  } else if (what == "settings/pause") {
    co_await pause(exchange, *std::move(body), std::move(person));
  } else if (what == "settings/resume") {
    co_await resume(exchange, *std::move(body), std::move(person));
  } else if (what == "settings/text-changes") {
    change_text_of(exchange, *body);
  } else if (what == "overrides") {
    co_await override_line(exchange, *std::move(body), std::move(person));
  } else {
    co_await resume_pool(exchange, std::string(pool_to_resume(what).value_or("")), *std::move(body), std::move(person));
  }
}

net::Task<void> SettingsApi::edit(net::HttpExchange& exchange, std::string body, Person person) {
  const auto request = parse_edit(body, settings_.config_name);
  if (!request) {
    respond_wrong(exchange, request.error());
    co_return;
  }
  std::string_view base = exchange.head().headers.get("if-match");
  if (base.size() < 3 || !base.starts_with('"') || !base.ends_with('"')) {
    respond_problem(exchange, 428, "if-match",
                    "an edit needs the header If-Match: the ETag of /api/v1/settings/texts that it began with",
                    "If-Match");
    co_return;
  }
  const std::string base_hash(base.substr(1, base.size() - 2));
  operate::ChangeOptions change = change_of(request->reason);
  change.dry_run = true;
  auto edited = co_await operate::edit_config(loop_, *person.writer, options(), change, base_hash, request->texts);
  std::optional<Json> planned;
  if (edited && !edited->theirs) {
    planned = co_await plan(exchange, request->texts, edited->changes, *person.writer);
    if (!planned) co_return;
    if (!request->dry_run) {
      change.dry_run = false;
      edited = co_await operate::edit_config(loop_, *person.writer, options(), change, base_hash, request->texts);
    }
  }
  if (!edited) {
    respond_error(exchange, edited.error());
    co_return;
  }
  if (edited->theirs) {
    co_await answer_changed(exchange, base_hash, *std::move(edited->theirs), request->texts);
    co_return;
  }
  if (edited->written) {
    log_.info("settings edited", {{"by", person.name}, {"hash", edited->hash}, {"reason", request->reason}});
  }
  Json answer = Json::object({{"schema", kSchema}, {"written", Json(edited->written)}, {"hash", Json(edited->hash)}});
  answer["changes"] = changes_json(edited->changes);
  answer["plan"] = *std::move(planned);
  respond_written(exchange, answer, edited->written ? edited->hash : base_hash);
}

void SettingsApi::change_text_of(net::HttpExchange& exchange, std::string_view body) {
  auto request = parse_text_change(body);
  if (!request) return respond_wrong(exchange, request.error());
  const auto changed = change_text(std::move(request->text), request->changes);
  if (!changed) return respond_wrong(exchange, {"text", changed.error().message});
  respond_written(exchange,
                  Json::object({{"schema", kSchema}, {"text", Json(changed->text)}, {"value", changed->value}}));
}

net::Task<std::optional<Json>> SettingsApi::plan(net::HttpExchange& exchange, const SettingsTexts& texts,
                                                 const std::vector<operate::SettingsTextChange>& changes,
                                                 kube::Client& client) {
  if (planning_ >= kPlansAtOnce) {
    respond_problem(exchange, 503, "unavailable",
                    base::cat(kPlansAtOnce, " plans are being computed already; try again"));
    co_return std::nullopt;
  }
  struct Count {
    int& of;
    explicit Count(int& count) : of(count) { ++of; }
    ~Count() { --of; }
  } count(planning_);
  // A ConfigMap that stays as it is is not checked: an old mistake there does not block this edit.
  operate::PlanOptions question;
  question.manifests.emplace();
  for (const auto& each : changes) {
    if (each.map == settings_.config_name) {
      question.manifests->slo = texts.slo;
    } else {
      auto& data = question.manifests->tidemark.emplace();
      if (texts.tidemark) data[std::string(model::kTidemarkConfigKey)] = *texts.tidemark;
    }
  }
  question.config_namespace = settings_.config_namespace;
  question.config_name = settings_.config_name;
  question.zones = settings_.zones;
  const auto planned = co_await operate::plan_settings(loop_, client, std::move(question));
  if (!planned) {
    respond_error(exchange, planned.error());
    co_return std::nullopt;
  }
  if (planned->problems.empty()) co_return operate::plan_json(*planned, kNodesInPlan);
  Json errors = Json::array();
  for (const auto& each : planned->problems) {
    errors.as_array().push_back(Json::object({{"configMap", Json(each.map)},
                                              {"key", Json(each.key)},
                                              {"place", Json(each.place)},
                                              {"detail", Json(each.text)}}));
  }
  respond_problem(exchange, 400, "invalid-settings",
                  base::cat("the new settings cannot be used: ", planned->problems.size(),
                            planned->problems.size() == 1 ? " error" : " errors"),
                  "texts", Json::object({{"errors", std::move(errors)}}));
  co_return std::nullopt;
}

net::Task<void> SettingsApi::answer_changed(net::HttpExchange& exchange, std::string base_hash, SettingsTexts theirs,
                                            SettingsTexts yours) {
  std::optional<SettingsTexts> base;
  const auto kept = std::ranges::find_if(bases_, [&](const auto& each) { return each.first == base_hash; });
  if (kept != bases_.end()) {
    base = kept->second;
  } else if (const auto now = co_await operate::read_revisions_now(client_, options())) {
    // Another replica gave the texts: they may be a stored revision.
    const auto* stored = policy::settings::find_revision(now->stored.book, base_hash);
    if (stored != nullptr) base = stored->texts;
  }
  std::string hash = policy::settings::hash_of(theirs);
  Json more = Json::object({{"hash", Json(hash)}, {"theirs", texts_json(theirs)}, {"yours", texts_json(yours)}});
  more["base"] = base ? texts_json(*base) : Json(nullptr);
  keep(std::move(hash), std::move(theirs));
  respond_problem(exchange, 412, "changed", "the settings changed since this edit began; nothing was written", "",
                  std::move(more));
}

net::Task<void> SettingsApi::undo(net::HttpExchange& exchange, std::string body, Person person) {
  const auto request = parse_undo(body);
  if (!request) {
    respond_wrong(exchange, request.error());
    co_return;
  }
  operate::ChangeOptions change = change_of(request->reason);
  change.dry_run = request->dry_run;
  const auto undone = co_await operate::undo_config(loop_, *person.writer, options(), change, request->to);
  if (!undone) {
    respond_error(exchange, undone.error());
    co_return;
  }
  if (undone->written) {
    log_.info("settings undone", {{"by", person.name}, {"hash", undone->hash}, {"reason", request->reason}});
  }
  Json answer = Json::object({{"schema", kSchema},
                              {"written", Json(undone->written)},
                              {"revision", undone->number},
                              {"hash", Json(undone->hash)},
                              {"neverTaken", Json(undone->never_taken)},
                              {"atOnce", Json(undone->at_once)}});
  answer["changes"] = changes_json(undone->changes);
  respond_written(exchange, answer);
}

net::Task<void> SettingsApi::pause(net::HttpExchange& exchange, std::string body, Person person) {
  const auto request = parse_pause(body);
  if (!request) {
    respond_wrong(exchange, request.error());
    co_return;
  }
  const auto change = change_of(request->reason);
  const auto done = co_await operate::pause_config(loop_, *person.writer, options(), change, request->lasts);
  if (!done) {
    respond_error(exchange, done.error());
    co_return;
  }
  log_.info("rollout paused", {{"by", person.name}, {"reason", request->reason}});
  respond_written(exchange, Json::object({{"schema", kSchema}, {"request", Json(change.id)}}));
}

net::Task<void> SettingsApi::resume(net::HttpExchange& exchange, std::string body, Person person) {
  const auto request = parse_resume(body, false);
  if (!request) {
    respond_wrong(exchange, request.error());
    co_return;
  }
  const auto change = change_of(request->reason);
  const auto done = co_await operate::resume_config(loop_, *person.writer, options(), change, request->now);
  if (!done) {
    respond_error(exchange, done.error());
    co_return;
  }
  log_.info("rollout resumed", {{"by", person.name}, {"reason", request->reason}});
  respond_written(exchange, Json::object({{"schema", kSchema}, {"request", Json(change.id)}}));
}

net::Task<void> SettingsApi::override_line(net::HttpExchange& exchange, std::string body, Person person) {
  const auto request = parse_override(body);
  if (!request) {
    respond_wrong(exchange, request.error());
    co_return;
  }
  operate::OverrideOptions given;
  given.pool = request->pool;
  given.command = {request->line, person.name, request->reason, loop_.clock().wall() + request->lasts};
  given.dry_run = request->dry_run;
  given.settings = {settings_.config_namespace, settings_.config_name, settings_.zones, kCallLimit};
  const auto report = co_await operate::give_override(loop_, *person.writer, std::move(given));
  if (!report) {
    respond_error(exchange, report.error());
    co_return;
  }
  if (!request->dry_run) {
    log_.info("override", {{"pool", request->pool}, {"by", person.name}, {"reason", request->reason}});
  }
  respond_written(exchange, operate::render_json(*report));
}

net::Task<void> SettingsApi::resume_pool(net::HttpExchange& exchange, std::string pool, std::string body,
                                         Person person) {
  const auto request = parse_resume(body, true);
  if (!request) {
    respond_wrong(exchange, request.error());
    co_return;
  }
  operate::ResumePoolOptions asked;
  asked.pool = pool;
  asked.why = request->reason;
  asked.id = base::cat(person.name, "-", random_.next() >> 1);
  asked.config_namespace = settings_.config_namespace;
  asked.limit = kCallLimit;
  const std::string id = asked.id;
  const auto done = co_await operate::resume_pool(loop_, *person.writer, std::move(asked));
  if (!done) {
    respond_error(exchange, done.error());
    co_return;
  }
  log_.info("pool resumed", {{"pool", pool}, {"by", person.name}, {"reason", request->reason}});
  respond_written(exchange, Json::object({{"schema", kSchema}, {"pool", Json(pool)}, {"request", Json(id)}}));
}

}  // namespace tidemark::console
