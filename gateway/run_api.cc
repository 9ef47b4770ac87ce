#include "gateway/run_api.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "gateway/door.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

constexpr std::string_view kListPath = "/tidemark/v1/runs";
constexpr std::string_view kRunsPath = "/tidemark/v1/runs/";

void refuse_run(net::HttpExchange& exchange, const Error& error) {
  const Refusal refusal = refusal_of(error);
  respond(exchange, refusal.status, Json::object({{"msg", refusal.message}}));
}

Json batch_body(const SparkJob& job) {
  Json out = to_json(job);
  out["proxyUser"] = Json(job.user);
  out.as_object().erase("user");
  if (job.class_name.empty()) out.as_object().erase("className");
  out["conf"].as_object().erase("spark.app.name");
  return out;
}

Json seconds_of(const std::optional<base::WallTime>& time) {
  if (!time) return {};
  return Json(std::int64_t{std::chrono::duration_cast<std::chrono::seconds>(time->since_epoch).count()});
}

Json attempt_row(const policy::route::Attempt& attempt) {
  using namespace policy::route;
  return Json::object({{"side", name_of(attempt.side)},
                       {"handle", attempt.handle},
                       {"way", name_of(attempt.way)},
                       {"wayReason", attempt.way_reason},
                       {"why", text_of(attempt.reason, attempt.rule)},
                       {"runningSince", seconds_of(attempt.running_since)},
                       {"ended", seconds_of(attempt.ended)},
                       {"end", attempt.end ? Json(name_of(attempt.end->end_class)) : Json()},
                       {"endWhy", attempt.end ? Json(text_of(reason_of(attempt.end->end_class))) : Json()}});
}

std::string decision_text(const policy::route::RouteDecision& decision) {
  return base::cat(decision.side ? name_of(*decision.side) : "no side", ": ",
                   policy::route::text_of(decision.reason, decision.rule));
}

std::string_view word_of(RunState state) {
  switch (state) {
    case RunState::kWaiting:
      return "waiting";
    case RunState::kRunning:
      return "running";
    case RunState::kSucceeded:
      return "succeeded";
    case RunState::kFailed:
      return "failed";
    case RunState::kKilled:
      break;
  }
  return "killed";
}

Json run_row(const Record& record) {
  Json attempts = Json::array();
  for (const auto& attempt : record.run.attempts) attempts.as_array().push_back(attempt_row(attempt));
  const auto cores = cores_of(record.job);
  return Json::object({{"id", record.id},
                       {"name", record.job.name},
                       {"user", record.job.user},
                       {"business", record.job.conf_or(kBusinessConf, "")},
                       {"class", record.job.conf_or(kClassConf, kDefaultClass)},
                       {"state", word_of(state_of(record.run))},
                       {"phase", policy::route::name_of(record.run.phase)},
                       {"created", seconds_of(record.created)},
                       {"since", seconds_of(record.run.since)},
                       {"cores", cores ? Json(*cores) : Json()},
                       {"message", record.message},
                       {"attempts", std::move(attempts)}});
}

}  // namespace

bool RunApi::serves(std::string_view path) {
  return path == kListPath || path.starts_with(kRunsPath);
}

net::Task<void> RunApi::handle(net::HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  if (target && target->path == kListPath && exchange.head().method == "GET") {
    co_await respond_list(exchange, *target);
    co_return;
  }
  const auto parts = base::split(target ? std::string_view(target->path).substr(kRunsPath.size()) : "", '/');
  const auto id = base::parse_int(parts[0]);
  const bool of_run = parts.size() == 2 && parts[1] == "log";
  const bool of_job = parts.size() == 2 && parts[1] == "job";
  const bool of_replay = parts.size() == 2 && parts[1] == "replay";
  const bool of_executor = parts.size() == 4 && parts[1] == "executors" && parts[3] == "log";
  if (exchange.head().method != "GET" || !id || (!of_run && !of_executor && !of_job && !of_replay)) {
    refuse_run(exchange, Error{ErrorKind::kNotFound, "Not found."});
    co_return;
  }
  const auto found = co_await runs_.find(*id);
  if (!found || !*found) {
    refuse_run(exchange, found ? Error{ErrorKind::kNotFound, base::cat("no run ", *id)} : found.error());
  } else if (of_job) {
    respond(exchange, 200, batch_body((*found)->job));
  } else if (of_replay) {
    co_await respond_replay(exchange, **found);
  } else if (of_executor) {
    co_await respond_executor(exchange, **found, std::string(parts[2]));
  } else {
    const auto from = base::parse_int(target->get("from"));
    co_await respond_log(exchange, **found, std::max<std::int64_t>(from.value_or(0), 0));
  }
}

net::Task<void> RunApi::respond_list(net::HttpExchange& exchange, net::Target target) {
  const Slice slice = slice_of(target);
  const std::int64_t from = slice.from.value_or(0);
  const auto page = co_await runs_.page(from, slice.size, {.user = "", .name = "", .newest_first = true});
  if (!page) {
    refuse_run(exchange, page.error());
    co_return;
  }
  Json rows = Json::array();
  for (const Record& record : page->records) rows.as_array().push_back(run_row(record));
  respond(exchange, 200, Json::object({{"from", from}, {"total", page->total}, {"runs", std::move(rows)}}));
}

net::Task<void> RunApi::respond_log(net::HttpExchange& exchange, Record record, std::int64_t from) {
  const bool ended = policy::route::is_final(record.run.phase);
  auto piece = co_await runs_.log_piece(std::move(record), from);
  if (!piece) {
    refuse_run(exchange, piece.error());
    co_return;
  }
  const auto begin = piece->next - static_cast<std::int64_t>(piece->text.size());
  respond(exchange, 200,
          Json::object({{"from", begin}, {"next", piece->next}, {"text", std::move(piece->text)}, {"ended", ended}}));
}

net::Task<void> RunApi::respond_replay(net::HttpExchange& exchange, Record record) {
  Json attempts = Json::array();
  for (const auto& each : co_await runs_.replay(std::move(record))) {
    attempts.as_array().push_back(each ? Json::object({{"same", each->same},
                                                       {"before", decision_text(each->before)},
                                                       {"now", decision_text(each->now)},
                                                       {"signals", each->signals}})
                                       : Json::object({{"error", each.error().message}}));
  }
  respond(exchange, 200, Json::object({{"attempts", std::move(attempts)}}));
}

net::Task<void> RunApi::respond_executor(net::HttpExchange& exchange, Record record, std::string executor) {
  if (!base::parse_uint(executor)) {
    refuse_run(exchange, Error{ErrorKind::kNotFound, base::cat("no executor ", base::in_quotes(executor))});
    co_return;
  }
  auto text = co_await runs_.executor_log(std::move(record), std::move(executor));
  if (!text) {
    refuse_run(exchange, text.error());
    co_return;
  }
  exchange.respond(200, "text/plain; charset=utf-8", *std::move(text));
}

}  // namespace tidemark::gateway
