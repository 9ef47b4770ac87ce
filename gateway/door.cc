#include "gateway/door.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "gateway/decision.h"
#include "policy/route/names.h"
#include "policy/route/signals_text.h"

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

void respond(net::HttpExchange& exchange, DoorAnswer answer) {
  answer.headers.set("content-type", "application/json");
  exchange.respond(answer.status, std::move(answer.headers), net::make_buffer(answer.body.dump()));
}

void respond(net::HttpExchange& exchange, int status, const Json& body) {
  exchange.respond(status, "application/json", body.dump());
}

Refusal refusal_of(const Error& error) {
  if (error.code >= 400 && error.code < 500) return {error.code, error.message};
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

Error error_of(int status, std::string message) {
  return {ErrorKind::kInvalid, std::move(message), status, 0};
}

net::Task<Result<std::string>> read_body(net::HttpExchange& exchange, std::size_t bytes_max) {
  auto body = co_await exchange.body(bytes_max);
  if (body) co_return body;
  const int status = body.error().kind == ErrorKind::kExhausted ? 413 : 408;
  co_return fail(error_of(status, std::move(body).error().message));
}

Slice slice_of(const net::Target& target) {
  Slice out;
  if (const auto from = base::parse_int(target.get("from")); from && *from >= 0) out.from = from;
  out.size = std::clamp<std::int64_t>(base::parse_int(target.get("size")).value_or(kPageDefault), 0, kPageMax);
  return out;
}

net::Task<void> BatchesDoor::handle(net::HttpExchange& exchange) {
  respond(exchange, co_await answer(exchange));
}

net::Task<DoorAnswer> BatchesDoor::answer(net::HttpExchange& exchange) {
  const auto target = net::parse_target(exchange.head().target);
  if (!target) co_return refuse(error_of(400, std::string(words_.bad_request)));
  std::string_view rest = std::string_view(target->path).substr(words_.path.size());
  if (rest.starts_with('/')) rest.remove_prefix(1);
  if (!rest.empty()) co_return co_await one(exchange, *target, rest);
  if (exchange.head().method == "POST") co_return co_await create(exchange);
  if (exchange.head().method == "GET") co_return co_await list(*target);
  co_return refuse(error_of(405, std::string(words_.not_allowed)));
}

net::Task<DoorAnswer> BatchesDoor::create(net::HttpExchange& exchange) {
  auto key = idempotency_key(exchange);
  if (!key) co_return refuse(key.error());
  auto request = co_await read(exchange);
  if (!request) co_return refuse(request.error());
  if (request->key.empty()) request->key = *std::move(key);
  const auto added = co_await runs_.add(std::move(request->job), std::move(request->key));
  if (!added) co_return refuse(added.error());
  co_return created(*added);
}

net::Task<DoorAnswer> BatchesDoor::list(const net::Target& target) {
  auto filter = filter_of(target);
  if (!filter) co_return refuse(filter.error());
  const Slice slice = slice_of(target);
  const auto page = co_await runs_.page(slice.from.value_or(0), slice.size, *std::move(filter));
  if (!page) co_return refuse(page.error());
  co_return listed(slice.from.value_or(0), *page);
}

net::Task<DoorAnswer> BatchesDoor::one(net::HttpExchange& exchange, const net::Target& target, std::string_view rest) {
  const auto slash = rest.find('/');
  const std::string name(slash == std::string_view::npos ? "" : rest.substr(slash + 1));
  const std::string method = exchange.head().method;
  const auto found = co_await find(std::string(rest.substr(0, slash)));
  if (!found) co_return refuse(found.error());
  if (method == "DELETE" && name.empty()) co_return co_await cancel(*found);
  if (method != "GET") co_return refuse(error_of(405, std::string(words_.not_allowed)));
  if (name.empty()) co_return shown(*found);
  auto answer = co_await part(*found, name, slice_of(target));
  if (answer) co_return *std::move(answer);
  co_return refuse(error_of(404, std::string(words_.not_found)));
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
                      policy::route::text_of(attempt.reason, attempt.rule)));
    if (const auto inputs = decode_inputs(attempt.inputs)) {
      out.push_back(cat("attempt ", at + 1, ": ", text_of_signals(inputs->input)));
    }
    if (!attempt.handle.empty()) {
      out.push_back(cat("attempt ", at + 1, attempt.side == Side::kKubernetes ? ": pod name: " : ": ", attempt.handle));
      out.push_back(cat("attempt ", at + 1, ": way: ", policy::route::name_of(attempt.way),
                        attempt.way_reason.empty() ? "" : ": ", attempt.way_reason));
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
