#include "gateway/livy.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "gateway/door.h"
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

void refuse_batch(net::HttpExchange& exchange, int status, std::string_view message) {
  respond(exchange, status, Json::object({{"msg", message}}));
}

void refuse_batch(net::HttpExchange& exchange, const Error& error) {
  const Refusal refusal = refusal_of(error);
  const bool rejected = refusal.status == 400 || refusal.status == 409;
  refuse_batch(exchange, refusal.status, cat(rejected ? "Rejected, Reason: " : "", refusal.message));
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
  if (job.user.empty()) job.user = "root";
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

bool Livy::serves(std::string_view path) {
  return path == kLivyPath || path.starts_with(cat(kLivyPath, "/"));
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

net::Task<void> Livy::create(net::HttpExchange& exchange) {
  const auto body = co_await exchange.body(kBodyMax);
  if (!body) {
    const bool large = body.error().kind == ErrorKind::kExhausted;
    refuse_batch(exchange, large ? 413 : 408, body.error().message);
    co_return;
  }
  auto key = idempotency_key(exchange);
  if (!key) {
    refuse_batch(exchange, key.error());
    co_return;
  }
  auto job = parse_livy_batch(*body);
  if (!job) {
    refuse_batch(exchange, job.error());
    co_return;
  }
  const auto added = co_await runs_.add(*std::move(job), *std::move(key));
  if (!added) {
    refuse_batch(exchange, added.error());
    co_return;
  }
  net::Headers headers;
  headers.add("content-type", "application/json");
  headers.add("location", cat(kLivyPath, "/", added->record.id));
  exchange.respond(201, std::move(headers), net::make_buffer(batch_of(added->record).dump()));
}

net::Task<void> Livy::list(net::HttpExchange& exchange, const net::Target& target) {
  Slice slice = slice_of(target);
  slice.from = std::max<std::int64_t>(slice.from, 0);
  const auto page = co_await runs_.page(slice.from, slice.size);
  if (!page) {
    refuse_batch(exchange, page.error());
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
    refuse_batch(exchange, 404, "Session not found.");
    co_return;
  }
  const auto found = co_await runs_.find(*id);
  if (!found) {
    refuse_batch(exchange, found.error());
    co_return;
  }
  if (!*found) {
    refuse_batch(exchange, 404, cat("Session '", *id, "' not found."));
    co_return;
  }
  const Record& record = **found;
  if (method == "DELETE" && part.empty()) {
    const auto cancelled = co_await runs_.cancel(*id);
    if (!cancelled) {
      refuse_batch(exchange, cancelled.error());
    } else {
      refuse_batch(exchange, 200, "deleted");
    }
  } else if (method != "GET") {
    refuse_batch(exchange, 405, "Method not allowed.");
  } else if (part.empty()) {
    respond(exchange, 200, batch_of(record));
  } else if (part == "state") {
    respond(exchange, 200, Json::object({{"id", *id}, {"state", livy_state(record)}}));
  } else if (part == "log") {
    const auto lines = co_await runs_.log_lines(record);
    if (!lines) {
      refuse_batch(exchange, lines.error());
      co_return;
    }
    const auto total = static_cast<std::int64_t>(lines->size());
    const Slice slice = slice_of(target);
    // Without `from`: the last lines.
    const std::int64_t from = slice.from >= 0 ? slice.from : std::max<std::int64_t>(total - slice.size, 0);
    respond(exchange, 200,
            Json::object({{"id", *id}, {"from", from}, {"total", total}, {"log", lines_of(*lines, from, slice.size)}}));
  } else {
    refuse_batch(exchange, 404, "Not found.");
  }
}

net::Task<void> Livy::handle(net::HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  if (!target) {
    refuse_batch(exchange, 400, "Bad request.");
    co_return;
  }
  std::string_view rest = std::string_view(target->path).substr(kLivyPath.size());
  if (rest.starts_with('/')) rest.remove_prefix(1);
  if (!rest.empty()) {
    co_await one(exchange, *target, rest);
  } else if (exchange.head().method == "POST") {
    co_await create(exchange);
  } else if (exchange.head().method == "GET") {
    co_await list(exchange, *target);
  } else {
    refuse_batch(exchange, 405, "Method not allowed.");
  }
}

}  // namespace tidemark::gateway
