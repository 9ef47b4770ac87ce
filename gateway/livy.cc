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

constexpr std::size_t kBodyMax = 4 * 1024 * 1024;
constexpr std::size_t kKeyMax = 256;
constexpr std::int64_t kPageMax = 1000;
constexpr std::int64_t kPageDefault = 100;
constexpr std::string_view kPath = "/batches";

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

Result<std::string> read_text(std::string_view field, const Json& value) {
  if (value.is_string()) return value.as_string();
  if (value.is_int()) return cat(value.as_int());
  if (value.is_bool()) return std::string(value.as_bool() ? "true" : "false");
  return fail(ErrorKind::kInvalid, field, ": a text is expected, found ", value.dump());
}

Result<std::vector<std::string>> read_texts(std::string_view field, const Json& value) {
  if (!value.is_array()) return fail(ErrorKind::kInvalid, field, ": a list is expected, found ", value.dump());
  std::vector<std::string> out;
  for (const Json& each : value.as_array()) {
    TM_TRY(out.emplace_back(), read_text(field, each));
  }
  return out;
}

void respond(net::HttpExchange& exchange, int status, const Json& body) {
  exchange.respond(status, "application/json", body.dump());
}

void refuse(net::HttpExchange& exchange, int status, std::string_view message) {
  respond(exchange, status, Json::object({{"msg", message}}));
}

void refuse(net::HttpExchange& exchange, const Error& error) {
  switch (error.kind) {
    case ErrorKind::kNotFound:
      return refuse(exchange, 404, error.message);
    case ErrorKind::kConflict:
      return refuse(exchange, 409, cat("Rejected, Reason: ", error.message));
    case ErrorKind::kInvalid:
    case ErrorKind::kUnsupported:
      return refuse(exchange, 400, cat("Rejected, Reason: ", error.message));
    case ErrorKind::kExhausted:
      return refuse(exchange, 503, error.message);
    default:
      return refuse(exchange, 500, error.message);
  }
}

struct Slice {
  std::int64_t from = 0;
  std::int64_t size = kPageDefault;
};
Slice slice_of(const net::Target& target) {
  Slice out;
  out.from = std::max<std::int64_t>(base::parse_int(target.get("from")).value_or(-1), -1);
  out.size = std::clamp<std::int64_t>(base::parse_int(target.get("size")).value_or(kPageDefault), 0, kPageMax);
  return out;
}

// The gateway's own lines: one for each step that users ask about.
std::vector<std::string> log_of(const Record& record, const std::string& app_id) {
  std::vector<std::string> out;
  out.push_back(cat(base::format_rfc3339(record.created), " run ", record.id, " received"));
  for (std::size_t at = 0; at < record.run.attempts.size(); ++at) {
    const Attempt& attempt = record.run.attempts[at];
    out.push_back(
        cat("attempt ", at + 1, " on ", name_of(attempt.side), ": ", policy::route::text_of(reason_of(attempt.reason))));
    if (!attempt.handle.empty()) {
      out.push_back(cat("attempt ", at + 1, attempt.side == Side::kKubernetes ? ": pod name: " : ": ", attempt.handle));
    }
    if (const auto why = reason_of(attempt.stop)) {
      out.push_back(cat("attempt ", at + 1, ": ", policy::route::text_of(*why)));
    }
    if (!attempt.end) continue;
    const std::string started = attempt.end->never_started ? "the driver never started; " : "";
    out.push_back(cat("attempt ", at + 1, ": ", started, policy::route::text_of(reason_of(attempt.end->end_class))));
  }
  if (!app_id.empty()) out.push_back(cat("application id: ", app_id));
  out.push_back(cat(base::format_rfc3339(record.run.since), " run ", record.id, " ", name_of(record.run.phase)));
  if (!record.message.empty()) out.push_back(record.message);
  return out;
}

Json lines_of(const std::vector<std::string>& lines, std::int64_t from, std::int64_t size) {
  Json::Array out;
  for (auto at = from; at < from + size && at < static_cast<std::int64_t>(lines.size()); ++at) {
    out.emplace_back(lines[static_cast<std::size_t>(at)]);
  }
  return Json(std::move(out));
}

}  // namespace

Result<SparkJob> parse_livy_batch(std::string_view body) {
  TM_TRY(const Json json, Json::parse(body));
  if (!json.is_object()) return fail(ErrorKind::kInvalid, "an object is expected");
  SparkJob job;
  std::vector<std::pair<std::string, std::string>> dedicated;
  for (const auto& [key, value] : json.as_object()) {
    if (value.is_null()) continue;
    if (key == "conf") {
      if (!value.is_object()) return fail(ErrorKind::kInvalid, "conf: an object is expected");
      for (const auto& [name, setting] : value.as_object()) {
        TM_TRY(job.conf[name], read_text(cat("conf.", name), setting));
      }
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
  if (job.user.empty()) job.user = "root";
  return checked(std::move(job));
}

std::string_view livy_state(const Record& record) {
  switch (record.run.phase) {
    case Phase::kReceived:
    case Phase::kQueued:
    case Phase::kRouted:
    case Phase::kReserved:
    case Phase::kSubmitted:
    case Phase::kAdmitted:
      return "starting";
    case Phase::kRunning:
    case Phase::kEnding:
      return "running";
    case Phase::kCancelled:
      return "killed";
    case Phase::kDone:
      break;
  }
  const auto end = result_of(record.run);
  if (end && end->end_class == EndClass::kSucceeded) return "success";
  return end && end->end_class == EndClass::kKilled ? "killed" : "dead";
}

bool Livy::serves(std::string_view path) {
  return path == kPath || path.starts_with(cat(kPath, "/"));
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
  const auto lines = log_of(record, app_id);
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

net::Task<void> Livy::create(net::HttpExchange& exchange) {
  const auto body = co_await exchange.body(kBodyMax);
  if (!body) {
    const bool large = body.error().kind == ErrorKind::kExhausted;
    refuse(exchange, large ? 413 : 408, body.error().message);
    co_return;
  }
  std::string key(exchange.head().headers.get("idempotency-key"));
  if (key.size() > kKeyMax) {
    refuse(exchange, 400, cat("Rejected, Reason: Idempotency-Key is longer than ", kKeyMax, " bytes"));
    co_return;
  }
  auto job = parse_livy_batch(*body);
  if (!job) {
    refuse(exchange, 400, cat("Rejected, Reason: ", job.error().message));
    co_return;
  }
  const auto added = co_await runs_.add(*std::move(job), std::move(key));
  if (!added) {
    refuse(exchange, added.error());
    co_return;
  }
  net::Headers headers;
  headers.add("content-type", "application/json");
  headers.add("location", cat(kPath, "/", added->record.id));
  exchange.respond(201, std::move(headers), net::make_buffer(batch_of(added->record).dump()));
}

net::Task<void> Livy::list(net::HttpExchange& exchange, const net::Target& target) {
  Slice slice = slice_of(target);
  slice.from = std::max<std::int64_t>(slice.from, 0);
  const auto page = co_await runs_.page(slice.from, slice.size);
  if (!page) {
    refuse(exchange, page.error());
    co_return;
  }
  Json sessions = Json::array();
  for (const Record& record : page->records) sessions.as_array().push_back(batch_of(record));
  respond(exchange, 200,
          Json::object({{"from", slice.from}, {"total", page->total}, {"sessions", std::move(sessions)}}));
}

net::Task<void> Livy::one(net::HttpExchange& exchange, const net::Target& target, std::string_view rest) {
  const auto slash = rest.find('/');
  const std::string word(rest.substr(0, slash));
  const std::string part(slash == std::string_view::npos ? "" : rest.substr(slash + 1));
  const std::string method = exchange.head().method;
  const auto id = base::parse_int(word);
  if (!id) {
    refuse(exchange, 404, "Session not found.");
    co_return;
  }
  const auto found = co_await runs_.find(*id);
  if (!found) {
    refuse(exchange, found.error());
    co_return;
  }
  if (!*found) {
    refuse(exchange, 404, cat("Session '", *id, "' not found."));
    co_return;
  }
  const Record& record = **found;
  if (method == "DELETE" && part.empty()) {
    const auto cancelled = co_await runs_.cancel(*id);
    if (!cancelled) {
      refuse(exchange, cancelled.error());
    } else {
      refuse(exchange, 200, "deleted");
    }
  } else if (method != "GET") {
    refuse(exchange, 405, "Method not allowed.");
  } else if (part.empty()) {
    respond(exchange, 200, batch_of(record));
  } else if (part == "state") {
    respond(exchange, 200, Json::object({{"id", *id}, {"state", livy_state(record)}}));
  } else if (part == "log") {
    const auto lines = log_of(record, runs_.app_id(record));
    const auto total = static_cast<std::int64_t>(lines.size());
    const Slice slice = slice_of(target);
    // Without `from`: the last lines.
    const std::int64_t from = slice.from >= 0 ? slice.from : std::max<std::int64_t>(total - slice.size, 0);
    respond(exchange, 200,
            Json::object({{"id", *id}, {"from", from}, {"total", total}, {"log", lines_of(lines, from, slice.size)}}));
  } else {
    refuse(exchange, 404, "Not found.");
  }
}

net::Task<void> Livy::handle(net::HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  if (!target) {
    refuse(exchange, 400, "Bad request.");
    co_return;
  }
  std::string_view rest = std::string_view(target->path).substr(kPath.size());
  if (rest.starts_with('/')) rest.remove_prefix(1);
  if (!rest.empty()) {
    co_await one(exchange, *target, rest);
  } else if (exchange.head().method == "POST") {
    co_await create(exchange);
  } else if (exchange.head().method == "GET") {
    co_await list(exchange, *target);
  } else {
    refuse(exchange, 405, "Method not allowed.");
  }
}

}  // namespace tidemark::gateway
