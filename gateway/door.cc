#include "gateway/door.h"

#include <utility>

#include "base/text.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::size_t kKeyMax = 256;

}  // namespace

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

Result<void> read_conf(std::string_view field, const Json& value, SparkJob& job) {
  if (!value.is_object()) return fail(ErrorKind::kInvalid, field, ": an object is expected, found ", value.dump());
  for (const auto& [name, setting] : value.as_object()) {
    TM_TRY(job.conf[name], read_text(cat(field, ".", name), setting));
  }
  return {};
}

void respond(net::HttpExchange& exchange, int status, const Json& body) {
  exchange.respond(status, "application/json", body.dump());
}

Refusal refusal_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kNotFound:
      return {404, error.message};
    case ErrorKind::kConflict:
    case ErrorKind::kAlreadyExists:
      return {409, error.message};
    case ErrorKind::kInvalid:
    case ErrorKind::kUnsupported:
      return {400, error.message};
    case ErrorKind::kDenied:
      return {403, error.message};
    case ErrorKind::kExhausted:
      return {503, error.message};
    default:
      return {500, error.message};
  }
}

Result<std::string> idempotency_key(const net::HttpExchange& exchange) {
  std::string key(exchange.head().headers.get("idempotency-key"));
  if (key.size() > kKeyMax) return fail(ErrorKind::kInvalid, "Idempotency-Key is longer than ", kKeyMax, " bytes");
  return key;
}

std::vector<std::string> steps_of(const Record& record, const std::string& app_id) {
  std::vector<std::string> out;
  out.push_back(cat(base::format_rfc3339(record.created), " run ", record.id, " received"));
  for (std::size_t at = 0; at < record.run.attempts.size(); ++at) {
    const Attempt& attempt = record.run.attempts[at];
    out.push_back(cat("attempt ", at + 1, " on ", name_of(attempt.side), ": ",
                      policy::route::text_of(reason_of(attempt.reason))));
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

}  // namespace tidemark::gateway
