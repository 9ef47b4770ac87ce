#include "gateway/kyuubi.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "gateway/multipart.h"
#include "policy/route/names.h"

namespace tidemark::gateway {
namespace {

using base::cat;
using namespace policy::route;

constexpr std::string_view kKyuubiPath = "/api/v1/batches";
constexpr std::string_view kIdConf = "kyuubi.batch.id";
constexpr std::string_view kKyuubiConf = "kyuubi.";
constexpr std::size_t kUuidLength = 36;
constexpr std::size_t kFormMax = 64 * 1024 * 1024;  // it is in memory as a whole
constexpr std::size_t kRunDigits = 12;              // the last group of a derived id: the run

bool is_uuid(std::string_view text) {
  if (text.size() != kUuidLength) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const bool dash = at == 8 || at == 13 || at == 18 || at == 23;
    const char c = text[at];
    const bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
    if (dash ? c != '-' : !hex) return false;
  }
  return true;
}

// The groups of a derived id that name the store.
std::string uuid_prefix(std::string_view store) {
  std::string digits(store);
  digits.resize(16, '0');
  return cat(digits.substr(0, 8), "-", digits.substr(8, 4), "-8", digits.substr(12, 3), "-8", digits.substr(13, 3),
             "-");
}

std::string hex12(std::int64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out(kRunDigits, '0');
  for (std::size_t at = kRunDigits; at > 0 && number > 0; number /= 16) {
    out[--at] = kDigits[static_cast<std::size_t>(number % 16)];
  }
  return out;
}

std::optional<std::int64_t> run_in(std::string_view id, std::string_view store) {
  const std::string prefix = uuid_prefix(store);
  if (!is_uuid(id) || !id.starts_with(prefix)) return std::nullopt;
  std::int64_t number = 0;
  for (const char c : id.substr(prefix.size())) number = number * 16 + (c <= '9' ? c - '0' : c - 'a' + 10);
  return number;
}

std::string_view batch_state(const Record& record) {
  switch (state_of(record.run)) {
    case RunState::kWaiting:
      return "PENDING";
    case RunState::kRunning:
      return "RUNNING";
    case RunState::kSucceeded:
      return "FINISHED";
    case RunState::kKilled:
      return record.run.cancel ? "CANCELED" : "ERROR";
    case RunState::kFailed:
      break;
  }
  return "ERROR";
}

std::string_view app_state(const Record& record) {
  switch (state_of(record.run)) {
    case RunState::kWaiting:
      return "PENDING";
    case RunState::kRunning:
      return "RUNNING";
    case RunState::kSucceeded:
      return "FINISHED";
    case RunState::kKilled:
      return "KILLED";
    case RunState::kFailed:
      break;
  }
  const auto end = result_of(record.run);
  return end && end->end_class == EndClass::kLost ? "NOT_FOUND" : "FAILED";
}

std::optional<RunState> state_named(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, RunState>, 5> kStates = {{{"PENDING", RunState::kWaiting},
                                                                             {"RUNNING", RunState::kRunning},
                                                                             {"FINISHED", RunState::kSucceeded},
                                                                             {"ERROR", RunState::kFailed},
                                                                             {"CANCELED", RunState::kKilled}}};
  for (const auto& [word, state] : kStates) {
    if (word == name) return state;
  }
  return std::nullopt;
}

std::int64_t milliseconds(base::WallTime time) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(time.since_epoch).count();
}

Json rows_of(const std::vector<std::string>& lines, std::int64_t from, std::int64_t size) {
  Json rows = lines_of(lines, from, size);
  const auto count = static_cast<std::int64_t>(rows.as_array().size());
  return Json::object({{"logRowSet", std::move(rows)}, {"rowCount", count}});
}

}  // namespace

Result<KyuubiBatch> parse_kyuubi_batch(std::string_view body) {
  TM_TRY(const Json json, Json::parse(body));
  if (!json.is_object()) return fail(ErrorKind::kInvalid, "an object is expected");
  KyuubiBatch out;
  std::string type;
  for (const auto& [key, value] : json.as_object()) {
    if (value.is_null()) continue;
    if (key == "batchType") {
      TM_TRY(type, read_text(key, value));
    } else if (key == "resource") {
      TM_TRY(out.job.file, read_text(key, value));
    } else if (key == "className") {
      TM_TRY(out.job.class_name, read_text(key, value));
    } else if (key == "name") {
      TM_TRY(out.job.name, read_text(key, value));
    } else if (key == "args") {
      TM_TRY(out.job.args, read_texts(key, value));
    } else if (key == "conf") {
      TM_TRY_VOID(read_conf(key, value, out.job));
    } else if (key == "extraResourcesMap" && value.is_object() && value.as_object().empty()) {
      continue;
    } else {
      return fail(ErrorKind::kUnsupported, key, " is not supported");
    }
  }
  type = base::lower(type);
  if (type != "spark" && type != "pyspark") {
    return fail(ErrorKind::kInvalid, "batchType: unknown type ", base::in_quotes(type), "; use SPARK or PYSPARK");
  }
  if (out.job.file.empty()) return fail(ErrorKind::kInvalid, "resource is required");
  if (type == "spark" && out.job.class_name.empty())
    return fail(ErrorKind::kInvalid, "className is required for SPARK");
  if ((type == "pyspark") != out.job.is_python()) {
    return fail(ErrorKind::kInvalid, "resource: ", base::in_quotes(out.job.file), " does not fit to batchType ",
                base::in_quotes(type));
  }
  if (const auto id = out.job.conf.find(std::string(kIdConf)); id != out.job.conf.end()) {
    out.id = base::lower(id->second);
    if (!is_uuid(out.id)) return fail(ErrorKind::kInvalid, kIdConf, ": a UUID is expected, found ", id->second);
  }
  std::erase_if(out.job.conf, [](const auto& each) { return each.first.starts_with(kKyuubiConf); });
  if (const auto user = out.job.conf_or("spark.proxyUser", ""); !user.empty()) out.job.user = user;
  TM_TRY(out.job, checked(std::move(out.job)));
  return out;
}

Kyuubi::Kyuubi(RunsOfCaller runs, Uploads* uploads)
    : BatchesDoor(std::move(runs), {.path = kKyuubiPath,
                                    .bad_request = "HTTP 400 Bad Request",
                                    .not_found = "HTTP 404 Not Found",
                                    .not_allowed = "HTTP 405 Method Not Allowed"}),
      uploads_(uploads) {}

bool Kyuubi::serves(std::string_view path) {
  return path == kKyuubiPath || path.starts_with(cat(kKyuubiPath, "/"));
}

DoorAnswer Kyuubi::refusal(const Error& error) {
  const Refusal refusal = refusal_of(error);
  return {refusal.status, Json::object({{"message", refusal.message}})};
}

std::string Kyuubi::id_of(const Record& record) const {
  return is_uuid(record.key) ? record.key : cat(uuid_prefix(runs_.store()), hex12(record.id));
}

net::Task<Result<Record>> Kyuubi::find(std::string id) {
  const std::string lower = base::lower(id);
  const auto run = run_in(lower, runs_.store());
  auto found = run ? runs_.find(*run) : runs_.find_key(lower);
  TM_CO_TRY(auto record, co_await std::move(found));
  if (!record) co_return fail(ErrorKind::kNotFound, "Invalid batchId: ", id);
  co_return *std::move(record);
}

Json Kyuubi::batch_of(const Record& record) const {
  const std::string app_id = runs_.app_id(record);
  const bool ended = is_final(record.run.phase);
  return Json::object({{"id", id_of(record)},
                       {"user", record.job.user},
                       {"batchType", record.job.is_python() ? "PYSPARK" : "SPARK"},
                       {"name", record.job.name},
                       {"appStartTime", 0},
                       {"appId", app_id.empty() ? Json() : Json(app_id)},
                       {"appUrl", nullptr},
                       {"appState", app_state(record)},
                       {"appDiagnostic", record.message},
                       {"kyuubiInstance", cat("tidemark-gateway-", runs_.store())},
                       {"state", batch_state(record)},
                       {"createTime", milliseconds(record.created)},
                       {"endTime", ended ? milliseconds(record.run.since) : 0},
                       {"batchInfo", Json::object()}});
}

net::Task<Result<std::string>> Kyuubi::request_of_form(std::string content_type, std::string body) {
  TM_CO_TRY(const auto parts, parse_form(content_type, body));
  Json request;
  std::map<std::string, std::string> urls;  // by the name of the file
  for (const FormPart& part : parts) {
    if (part.name == "batchRequest") {
      TM_CO_TRY(request, Json::parse(part.bytes));
    }
  }
  if (!request.is_object()) co_return fail(ErrorKind::kInvalid, "multipart: batchRequest is required");
  for (const FormPart& part : parts) {
    if (part.name == "batchRequest") continue;
    TM_CO_TRY(const std::string url, co_await uploads_->keep(part.file, std::string(part.bytes)));
    if (part.name == "resourceFile") {
      request["resource"] = Json(url);
    } else {
      urls[part.file] = url;
    }
  }
  const Json extra = request.at("extraResourcesMap") == nullptr ? Json() : *request.at("extraResourcesMap");
  if (!extra.is_object()) co_return request.dump();
  // Property → names of files of this request.
  for (const auto& [key, names] : extra.as_object()) {
    std::vector<std::string> named;
    for (const auto name : base::split(names.get_string().value_or(""), ',')) {
      const auto at = urls.find(std::string(base::trim(name)));
      if (at == urls.end()) {
        co_return fail(ErrorKind::kInvalid, "extraResourcesMap.", key, ": the request has no file ",
                       base::in_quotes(name));
      }
      named.push_back(at->second);
    }
    const std::string before(request.text_at("conf", key));
    request["conf"][key] = Json(before.empty() ? base::join(named, ",") : cat(before, ",", base::join(named, ",")));
  }
  request.as_object().erase("extraResourcesMap");
  co_return request.dump();
}

net::Task<Result<BatchesDoor::Request>> Kyuubi::read(net::HttpExchange& exchange) {
  const std::string type(exchange.head().headers.get("content-type"));
  const bool is_form = base::lower(type).starts_with("multipart/");
  if (is_form && uploads_ == nullptr) {
    co_return fail(error_of(415, "files cannot be uploaded here: name a resource that every node can read"));
  }
  TM_CO_TRY(std::string body, co_await read_body(exchange, is_form ? kFormMax : kBodyMax));
  if (is_form) {
    TM_CO_TRY(body, co_await request_of_form(type, std::move(body)));
  }
  TM_CO_TRY(KyuubiBatch batch, parse_kyuubi_batch(body));
  co_return Request{std::move(batch.job), std::move(batch.id)};
}

DoorAnswer Kyuubi::created(const Added& added) const {
  DoorAnswer out{200, batch_of(added.record)};
  if (added.existed) out.body["batchInfo"]["kyuubi.batch.duplicated"] = Json("true");
  return out;
}

Result<RunFilter> Kyuubi::filter_of(const net::Target& target) const {
  RunFilter filter;
  filter.user = target.get("batchUser");
  filter.name = target.get("batchName");
  filter.newest_first = target.get("desc") == "true";
  if (const auto state = target.get("batchState"); !state.empty()) {
    filter.state = state_named(state);
    if (!filter.state) return fail(ErrorKind::kInvalid, "batchState: unknown state ", base::in_quotes(state));
  }
  for (const std::string_view refused : {"batchType", "createTime", "endTime"}) {
    const auto value = target.get(refused);
    if (!value.empty() && value != "0") return fail(ErrorKind::kUnsupported, refused, " is not supported");
  }
  return filter;
}

DoorAnswer Kyuubi::listed(std::int64_t from, const Page& page) const {
  Json batches = Json::array();
  for (const Record& record : page.records) batches.as_array().push_back(batch_of(record));
  return {200, Json::object({{"from", from}, {"total", page.total}, {"batches", std::move(batches)}})};
}

net::Task<DoorAnswer> Kyuubi::cancel(const Record& record) {
  if (is_final(record.run.phase)) {
    const std::string message = cat("The batch[", id_of(record), "] has been terminated.");
    co_return DoorAnswer{200, Json::object({{"success", false}, {"msg", message}})};
  }
  const auto cancelled = co_await runs_.cancel(record.id);
  co_return DoorAnswer{
      200, Json::object({{"success", cancelled.has_value()}, {"msg", cancelled ? "" : cancelled.error().message}})};
}

DoorAnswer Kyuubi::shown(const Record& record) const {
  return {200, batch_of(record)};
}

net::Task<std::optional<DoorAnswer>> Kyuubi::part(const Record& record, std::string name, Slice slice) {
  if (name != "localLog") co_return std::nullopt;
  const auto lines = co_await runs_.log_lines(record);
  if (!lines) co_return refusal(lines.error());
  co_return DoorAnswer{200, rows_of(*lines, slice.from.value_or(0), slice.size)};
}

}  // namespace tidemark::gateway
