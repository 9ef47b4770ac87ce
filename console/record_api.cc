#include "console/record_api.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/text.h"
#include "console/decisions.h"
#include "console/guard.h"
#include "console/online_document.h"
#include "console/platform_document.h"
#include "console/settings_documents.h"
#include "operate/budgets.h"
#include "operate/components.h"
#include "operate/online.h"
#include "operate/revisions.h"
#include "policy/explain/budget_text.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::console {
namespace {

constexpr base::Duration kAnswerLimit = std::chrono::seconds(20);
constexpr std::size_t kQuestionsWaiting = 8;  // for the worker that reads files
constexpr std::int64_t kLatest_s = std::int64_t{4'000'000'000};

std::string question_of(std::string_view what, const net::Target& target) {
  std::string out(what);
  for (const auto& [key, value] : target.query) out += base::cat("\n", key, "=", value);
  return out;
}

// What the files do not reach is unknown, and no error of the question.
std::string unknown_document(std::string_view why) {
  return Json::object({{"schema", 1}, {"unknown", why}}).dump();
}

Result<base::WallTime> time_in(const net::Target& target, std::string_view key, base::WallTime otherwise) {
  if (!target.has(key)) return otherwise;
  const auto since_1970 = base::parse_int(target.get(key));
  if (!since_1970 || *since_1970 < 0 || *since_1970 > kLatest_s) {
    return fail(ErrorKind::kInvalid, key, ": ", base::in_quotes(target.get(key)),
                " is not a time in seconds since 1970");
  }
  return base::WallTime{std::chrono::seconds(*since_1970)};
}

}  // namespace

// An answer that is made. Its questions may leave before it is there.
struct RecordApi::Reading {
  explicit Reading(net::EventLoop& loop) : over(loop) {}
  net::Event over;
  std::optional<Result<std::string>> body;
};

RecordApi::RecordApi(RecordParts parts)
    : parts_(std::move(parts)),
      place_(parts_.loop),
      online_read_(parts_.loop),
      workers_(1, kQuestionsWaiting),
      scope_(parts_.loop) {}

bool RecordApi::has(std::string_view what) {
  constexpr std::array<std::string_view, 11> kPaths = {"decisions",  "settings",    "settings/diff", "calendar",
                                                       "platform",   "yarn",        "budgets",       "online",
                                                       "past/offer", "past/record", "past/incident"};
  return std::ranges::find(kPaths, what) != kPaths.end();
}

operate::SettingsOptions RecordApi::settings_options() const {
  return {parts_.settings.config_namespace, parts_.settings.config_name, kAnswerLimit};
}

net::Task<void> RecordApi::handle(net::HttpExchange& exchange, std::string what, net::Target target) {
  if (what == "decisions") {
    co_await decisions(exchange, std::move(target));
    co_return;
  }
  if (what == "online") {
    co_await online(exchange, std::string(target.get("workload")));
    co_return;
  }
  std::string key = question_of(what, target);
  auto body = co_await shared(std::move(key), [this, what, target] { return answer(what, target); });
  if (body) {
    respond_json(exchange, *std::move(body));
  } else {
    respond_error(exchange, body.error());
  }
}

net::Task<Result<std::string>> RecordApi::shared(std::string key, Make make) {
  const base::MonotonicTime now = parts_.loop.clock().monotonic();
  if (const auto kept = answers_.find(key); kept != answers_.end() && now - kept->second.at < kAnswerLife) {
    co_return kept->second.body;
  }
  std::shared_ptr<Reading> reading;
  if (const auto same = under_way_.find(key); same != under_way_.end()) {
    reading = same->second;
  } else if (under_way_.size() >= kAnswersUnderWay) {
    co_return fail(ErrorKind::kExhausted, kAnswersUnderWay, " answers are under way already; try again");
  } else {
    reading = under_way_.emplace(key, std::make_shared<Reading>(parts_.loop)).first->second;
    scope_.spawn(read(std::move(key), reading, std::move(make)));
  }
  co_await reading->over.wait();
  co_return *reading->body;
}

net::Task<void> RecordApi::read(std::string key, std::shared_ptr<Reading> reading, Make make) {
  while (making_ >= kAnswersAtOnce) {
    place_.clear();
    co_await place_.wait();
  }
  const base::MonotonicTime now = parts_.loop.clock().monotonic();
  ++making_;
  reading->body = co_await make();
  --making_;
  place_.wake_one();
  under_way_.erase(key);
  if (*reading->body) {
    if (answers_.size() >= kAnswersKept) {
      answers_.erase(std::ranges::min_element(answers_, {}, [](const auto& each) { return each.second.at; }));
    }
    answers_.insert_or_assign(std::move(key), Answer{now, **reading->body});
  }
  reading->over.set();
}

net::Task<void> RecordApi::online(net::HttpExchange& exchange, std::string workload) {
  if (!workload.empty() && policy::waterline::parse_workload(workload).none()) {
    respond_problem(
        exchange, 400, "invalid",
        base::cat("workload: ", base::in_quotes(workload), " is not a workload; expected NAMESPACE/KIND/NAME"));
    co_return;
  }
  if (online_ == nullptr) {
    if (!online_under_way_) {
      online_under_way_ = true;
      online_read_.clear();
      scope_.spawn(read_online());
    }
    co_await online_read_.wait();
  }
  if (const auto services = online_) {
    respond_json(exchange, online_document(*services, workload));
  } else {
    respond_error(exchange, *online_error_);
  }
}

net::Task<void> RecordApi::read_online() {
  auto read = co_await operate::read_online(parts_.loop, parts_.client, parts_.settings.config_namespace, kAnswerLimit);
  if (read) {
    online_ = std::make_shared<const operate::OnlineServices>(*std::move(read));
  } else {
    online_error_ = std::move(read).error();
  }
  online_under_way_ = false;
  online_read_.set();
  if (online_ == nullptr) co_return;
  co_await parts_.loop.sleep(kOnlineLife);
  online_.reset();
}

net::Task<void> RecordApi::decisions(net::HttpExchange& exchange, net::Target target) {
  auto query = decision_query(target);
  if (!query) {
    const std::string& message = query.error().message;
    respond_error(exchange, query.error(), std::string_view(message).substr(0, message.find(':')));
    co_return;
  }
  const std::string format(target.get("format"));
  if (target.has("format") && format != "json" && format != "csv") {
    respond_problem(exchange, 400, "invalid",
                    base::cat("format: ", base::in_quotes(format), " is not a format; expected json or csv"), "format");
    co_return;
  }
  const bool csv = format == "csv";
  auto body = co_await shared(question_of("decisions", target), [this, csv, query = *query] {
    const auto make = [](RecordApi& api, operate::DecisionQuery wanted, bool as_csv) -> net::Task<Result<std::string>> {
      const operate::DecisionsFound found = co_await api.find(std::move(wanted));
      co_return as_csv ? operate::decisions_csv(found.decisions) : decisions_document(found);
    };
    return make(*this, query, csv);
  });
  if (!body) {
    respond_error(exchange, body.error());
    co_return;
  }
  if (!csv && !target.has("download")) {
    respond_json(exchange, *std::move(body));
    co_return;
  }
  net::Headers headers = answer_headers(csv ? "text/csv; charset=utf-8" : "application/json", "no-store");
  headers.set("content-disposition",
              csv ? "attachment; filename=\"decisions.csv\"" : "attachment; filename=\"decisions.json\"");
  exchange.respond(200, std::move(headers), net::make_buffer(*std::move(body)));
}

net::Task<operate::DecisionsFound> RecordApi::find(operate::DecisionQuery query) {
  for (const auto& [name, row] : parts_.view.rows()) query.pools.emplace(name, row.pool);
  operate::DecisionsFound found;
  if (!parts_.files.empty()) {
    auto read = co_await workers_.run<operate::DecisionsFound>(
        parts_.loop, [files = parts_.files, query] { return operate::find_decisions(files, query); });
    if (read) {
      found = *std::move(read);
    } else {
      found.notes.push_back(read.error().message);
    }
  }
  if (parts_.files.empty() && parts_.past_of_pods.decisions) {
    auto of_pods = co_await parts_.past_of_pods.decisions(query);
    auto decisions = std::exchange(of_pods.decisions, {});
    found = std::move(of_pods);
    operate::add_events(found, std::move(decisions), query);
  }
  auto events = co_await operate::list_events(parts_.loop, parts_.client, kAnswerLimit);
  if (events) {
    operate::add_events(found, *std::move(events), query);
  } else {
    found.notes.push_back(base::cat("events: ", events.error().message));
  }
  co_return found;
}

net::Task<Result<std::string>> RecordApi::answer(std::string what, net::Target target) {
  if (what == "settings" || what == "settings/diff") {
    TM_CO_TRY(const auto now, co_await operate::read_revisions_now(parts_.client, settings_options()));
    if (what == "settings") co_return settings_document(now, parts_.view, target.get("pool"));
    co_return settings_diff_document(now, target.get("from"), target.get("to"), parts_.settings.config_name);
  }
  if (what == "calendar") {
    const base::WallTime now = parts_.loop.clock().wall();
    TM_CO_TRY(const base::WallTime at, time_in(target, "at", now));
    if (!parts_.view.known().settings) co_return fail(ErrorKind::kUnavailable, "the settings are not read yet");
    co_return calendar_document(parts_.view.settings(), target.get("pool"), at, now);
  }
  if (what == "platform") {
    const auto components =
        co_await operate::read_components(parts_.loop, parts_.client, parts_.settings.config_namespace, kAnswerLimit);
    std::optional<ServedCertificate> certificate;
    if (parts_.certificate_end) certificate = ServedCertificate{parts_.certificate_end()};
    co_return platform_document(components, parts_.view, certificate, parts_.loop.clock().wall());
  }
  if (what == "budgets") {
    auto found = co_await operate::read_budgets(parts_.client, {"", parts_.settings.config_namespace, kAnswerLimit});
    if (!found && found.error().kind != ErrorKind::kNotFound) co_return std::unexpected(std::move(found).error());
    const auto report = found ? *std::move(found) : operate::BudgetsReport();
    co_return policy::explain::budgets_json(report.state, report.counts.value_or(policy::evict::EvictionBook()),
                                            report.grants, parts_.loop.clock().wall())
        .dump();
  }
  if (what.starts_with("past/")) co_return co_await past(std::move(what), std::move(target));
  const auto events = co_await operate::list_events(parts_.loop, parts_.client, kAnswerLimit);
  const auto leases =
      co_await operate::read_leases(parts_.loop, parts_.client, parts_.settings.config_namespace, kAnswerLimit);
  co_return yarn_document(parts_.view, events, leases, parts_.loop.clock().wall());
}

net::Task<Result<std::string>> RecordApi::past(std::string what, net::Target target) {
  constexpr base::Duration kSpanDefault = std::chrono::minutes(15), kSpanMax = std::chrono::hours(24);
  const base::WallTime now = parts_.loop.clock().wall();
  TM_CO_TRY(const base::WallTime to, time_in(target, what == "past/offer" ? "at" : "to", now));
  TM_CO_TRY(const base::WallTime from, time_in(target, "from", to + -kSpanDefault));
  if (from >= to || to - from > kSpanMax) {
    co_return fail(ErrorKind::kInvalid, "from: expected a time before `to`, by a day at most");
  }
  const std::string node(target.get("node")), ns(target.get("namespace")), name(target.get("name"));
  for (const std::string_view wanted : what == "past/incident" ? std::vector<std::string_view>{"namespace", "name"}
                                                               : std::vector<std::string_view>{"node"}) {
    if (target.get(wanted).empty()) co_return fail(ErrorKind::kInvalid, wanted, ": it is missing");
  }
  const PastFiles& files = parts_.past;
  const PastOfPods& pods = parts_.past_of_pods;
  std::function<Result<Json>()> ask;
  net::Task<Result<Json>> ask_pods;
  if (what == "past/offer") {
    if (files.offer) ask = [offer = files.offer, node, to] { return offer(node, to); };
    if (pods.offer) ask_pods = pods.offer(node, to);
  } else if (what == "past/record") {
    if (files.record) ask = [record = files.record, node, from, to] { return record(node, from, to); };
    if (pods.record) ask_pods = pods.record(node, from, to);
  } else {
    if (files.incident) ask = [incident = files.incident, ns, name, from, to] { return incident(ns, name, from, to); };
    if (pods.incident && !node.empty()) ask_pods = pods.incident(node, ns, name, from, to);
  }
  if (!ask && !ask_pods) {
    co_return unknown_document(what == "past/offer"
                                   ? "this console was given no decision journal; start it with --journal-dir"
                                   : "this console was given no record of an agent; start it with --agent-dir, or use "
                                     "`tidemark incident` on the node");
  }
  Result<Json> answer = fail(ErrorKind::kNotFound, "");
  if (ask) {
    auto done = co_await workers_.run<Result<Json>>(parts_.loop, std::move(ask));
    if (!done) co_return std::unexpected(std::move(done).error());
    answer = *std::move(done);
  }
  if (!answer && answer.error().kind == ErrorKind::kNotFound && ask_pods) {
    answer = co_await ask_pods;
    if (!answer) co_return unknown_document(answer.error().message);
  }
  if (!answer && answer.error().kind == ErrorKind::kNotFound) co_return unknown_document(answer.error().message);
  if (!answer) co_return std::unexpected(std::move(answer).error());
  co_return answer->dump();
}

}  // namespace tidemark::console
