#include "gateway/livy.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::string_view kLivyPath = "/batches";

// Livy's fields that are one property of Spark each.
constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kTexts = {{
    {"driverMemory", "spark.driver.memory"},
    {"executorMemory", "spark.executor.memory"},
    {"queue", "spark.yarn.queue"},
    {"driverCores", "spark.driver.cores"},
    {"executorCores", "spark.executor.cores"},
    {"numExecutors", "spark.executor.instances"},
    {"name", "spark.app.name"},
}};
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kLists = {{
    {"jars", "spark.jars"},
    {"pyFiles", "spark.submit.pyFiles"},
    {"files", "spark.files"},
    {"archives", "spark.archives"},
}};

}  // namespace

Result<SparkJob> parse_livy_batch(std::string_view body) {
  TM_TRY(const Json json, Json::parse(body));
  if (!json.is_object()) return fail(ErrorKind::kInvalid, "an object is expected");
  SparkJob job;
  std::vector<std::pair<std::string, std::string>> dedicated;
  for (const auto& [key, value] : json.as_object()) {
    if (value.is_null()) continue;
    if (key == "conf") {
      TM_TRY_VOID(read_conf(key, value, job));
    } else if (key == "file") {
      TM_TRY(job.file, read_text(key, value));
    } else if (key == "className") {
      TM_TRY(job.class_name, read_text(key, value));
    } else if (key == "proxyUser") {
      TM_TRY(job.user, read_text(key, value));
    } else if (key == "args") {
      TM_TRY(job.args, read_texts(key, value));
    } else if (const auto text = std::ranges::find(kTexts, key, [](const auto& each) { return each.first; });
               text != kTexts.end()) {
      TM_TRY(std::string setting, read_text(key, value));
      dedicated.emplace_back(text->second, std::move(setting));
    } else if (const auto list = std::ranges::find(kLists, key, [](const auto& each) { return each.first; });
               list != kLists.end()) {
      TM_TRY(const auto texts, read_texts(key, value));
      if (!texts.empty()) dedicated.emplace_back(list->second, base::join(texts, ","));
    } else {
      return fail(ErrorKind::kInvalid, "unknown field ", base::in_quotes(key));
    }
  }
  for (auto& [key, value] : dedicated) job.conf[key] = std::move(value);
  return checked(std::move(job));
}

std::string_view livy_state(const Record& record) {
  switch (state_of(record.run)) {
    case RunState::kWaiting:
      return "starting";
    case RunState::kRunning:
      return "running";
    case RunState::kSucceeded:
      return "success";
    case RunState::kKilled:
      return "killed";
    case RunState::kFailed:
      break;
  }
  return "dead";
}

Livy::Livy(RunsOfCaller runs)
    : BatchesDoor(std::move(runs), {.path = kLivyPath,
                                    .bad_request = "Bad request.",
                                    .not_found = "Not found.",
                                    .not_allowed = "Method not allowed."}) {}

bool Livy::serves(std::string_view path) {
  return path == kLivyPath || path.starts_with(cat(kLivyPath, "/"));
}

DoorAnswer Livy::refusal(const Error& error) {
  const Refusal refusal = refusal_of(error);
  // Livy has no status of its own for a full quota.
  const bool full = refusal.status == kTooManyRequests;
  const bool rejected = full || (error.code == 0 && (refusal.status == 400 || refusal.status == 409));
  return {full ? 400 : refusal.status,
          Json::object({{"msg", cat(rejected ? "Rejected, Reason: " : "", refusal.message)}})};
}

Json Livy::batch_of(const Record& record) const {
  const std::string app_id = runs_.app_id(record);
  Json attempts = Json::array();  // not in Livy, whose clients ignore it
  for (const Attempt& attempt : record.run.attempts) {
    attempts.as_array().push_back(Json::object({{"side", name_of(attempt.side)},
                                                {"handle", attempt.handle},
                                                {"reason", model::reason_id(reason_of(attempt.reason))},
                                                {"end", attempt.end ? name_of(attempt.end->end_class) : ""}}));
  }
  const auto lines = steps_of(record, app_id);
  return Json::object({{"id", record.id},
                       {"name", record.job.name},
                       {"owner", record.job.user},
                       {"proxyUser", record.job.user},
                       {"state", livy_state(record)},
                       {"appId", app_id.empty() ? Json() : Json(app_id)},
                       {"appInfo", Json::object({{"driverLogUrl", nullptr}, {"sparkUiUrl", nullptr}})},
                       {"attempts", std::move(attempts)},
                       {"log", lines_of(lines, 0, static_cast<std::int64_t>(lines.size()))}});
}

net::Task<Result<BatchesDoor::Request>> Livy::read(net::HttpExchange& exchange) {
  TM_CO_TRY(const std::string body, co_await read_body(exchange));
  TM_CO_TRY(SparkJob job, parse_livy_batch(body));
  co_return Request{std::move(job), ""};
}

DoorAnswer Livy::created(const Added& added) const {
  DoorAnswer out{201, batch_of(added.record)};
  out.headers.add("location", cat(kLivyPath, "/", added.record.id));
  return out;
}

Result<RunFilter> Livy::filter_of(const net::Target&) const {
  return RunFilter{};
}

DoorAnswer Livy::listed(std::int64_t from, const Page& page) const {
  Json sessions = Json::array();
  for (const Record& record : page.records) sessions.as_array().push_back(batch_of(record));
  return {200, Json::object({{"from", from}, {"total", page.total}, {"sessions", std::move(sessions)}})};
}

net::Task<Result<Record>> Livy::find(std::string id) {
  const auto number = base::parse_int(id);
  if (!number) co_return fail(ErrorKind::kNotFound, "Session not found.");
  TM_CO_TRY(auto found, co_await runs_.find(*number));
  if (!found) co_return fail(ErrorKind::kNotFound, "Session '", *number, "' not found.");
  co_return *std::move(found);
}

net::Task<DoorAnswer> Livy::cancel(const Record& record) {
  const auto cancelled = co_await runs_.cancel(record.id);
  if (!cancelled) co_return refusal(cancelled.error());
  co_return DoorAnswer{200, Json::object({{"msg", "deleted"}})};
}

DoorAnswer Livy::shown(const Record& record) const {
  return {200, batch_of(record)};
}

net::Task<std::optional<DoorAnswer>> Livy::part(const Record& record, std::string name, Slice slice) {
  if (name == "state") {
    co_return DoorAnswer{200, Json::object({{"id", record.id}, {"state", livy_state(record)}})};
  }
  if (name != "log") co_return std::nullopt;
  const auto lines = co_await runs_.log_lines(record);
  if (!lines) co_return refusal(lines.error());
  const auto total = static_cast<std::int64_t>(lines->size());
  // Without `from`: the last lines.
  const std::int64_t from = slice.from.value_or(std::max<std::int64_t>(total - slice.size, 0));
  co_return DoorAnswer{
      200,
      Json::object({{"id", record.id}, {"from", from}, {"total", total}, {"log", lines_of(*lines, from, slice.size)}})};
}

}  // namespace tidemark::gateway
