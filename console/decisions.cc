#include "console/decisions.h"

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/json.h"
#include "base/text.h"
#include "console/json_values.h"

namespace tidemark::console {
namespace {

constexpr std::int64_t kLimitDefault = 200;

// Seconds since 1970, or "2026-11-20T22:15:00Z".
Result<std::optional<base::WallTime>> time_of(const net::Target& target, std::string_view key) {
  const std::string_view text = target.get(key);
  if (text.empty()) return std::nullopt;
  if (const auto time = base::parse_rfc3339(text)) return time;
  constexpr std::int64_t kLatest = std::int64_t{4'000'000'000};
  const auto since_1970 = base::parse_int(text);
  if (since_1970 && *since_1970 >= 0 && *since_1970 <= kLatest) {
    return base::WallTime{std::chrono::seconds(*since_1970)};
  }
  return fail(ErrorKind::kInvalid, key, ": ", base::in_quotes(text),
              " is not a time; expected 2026-11-20T22:15:00Z or seconds since 1970");
}

}  // namespace

Result<operate::DecisionQuery> decision_query(const net::Target& target) {
  operate::DecisionQuery query;
  query.node = target.get("node");
  query.pool = target.get("pool");
  query.reason = target.get("reason");
  query.person = target.get("person");
  TM_TRY(query.since, time_of(target, "since"));
  TM_TRY(query.until, time_of(target, "until"));
  std::int64_t limit = kLimitDefault;
  if (target.has("limit")) {
    const auto value = base::parse_int(target.get("limit"));
    if (!value || *value < 1 || *value > static_cast<std::int64_t>(operate::kDecisionsMax)) {
      return fail(ErrorKind::kInvalid, "limit: ", base::in_quotes(target.get("limit")), " is not a number from 1 to ",
                  operate::kDecisionsMax);
    }
    limit = *value;
  }
  query.limit = static_cast<std::size_t>(limit);
  return query;
}

std::string query_text(const operate::DecisionQuery& query) {
  std::string out = base::cat("limit=", query.limit);
  const auto add = [&](std::string_view key, std::string_view value) {
    if (!value.empty()) out += base::cat("&", key, "=", net::percent_encode(value));
  };
  add("node", query.node);
  add("pool", query.pool);
  add("reason", query.reason);
  add("person", query.person);
  if (query.since) add("since", base::cat(seconds(*query.since)));
  if (query.until) add("until", base::cat(seconds(*query.until)));
  return out;
}

std::string decisions_document(const operate::DecisionsFound& found) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("journals", static_cast<std::int64_t>(found.journals));
  json.member("audits", static_cast<std::int64_t>(found.audits));
  json.key("notes").begin_array();
  for (const auto& note : found.notes) json.value(note);
  json.end_array();
  json.member("more", found.more);
  json.key("decisions").begin_array();
  for (const operate::Decision& each : found.decisions) {
    json.begin_object();
    json.member("at", seconds(each.at));
    json.member("source", to_string(each.source));
    json.member("by", each.by);
    json.member("object", each.object);
    text_member(json, "node", each.node);
    text_member(json, "pool", each.pool);
    json.member("action", each.action);
    text_member(json, "reason", each.reason);
    json.member("text", each.text);
    optional_member(json, "batchCpu", each.batch_cpu_milli);
    optional_member(json, "batchMemory", each.batch_memory_bytes);
    text_member(json, "before", each.before);
    text_member(json, "after", each.after);
    text_member(json, "outcome", each.outcome);
    text_member(json, "detail", each.detail);
    json.end_object();
  }
  json.end_array().end_object();
  return out;
}

Result<operate::DecisionsFound> read_decisions(const Json& document) {
  operate::DecisionsFound found;
  const Json* notes = document.member("notes");
  const Json* decisions = document.member("decisions");
  const Json* more = document.member("more");
  if (notes == nullptr || !notes->is_array() || decisions == nullptr || !decisions->is_array() || more == nullptr) {
    return fail(ErrorKind::kInvalid, "the answer has no decisions");
  }
  found.more = more->get_bool().value_or(false);
  const auto count = [&](std::string_view key) {
    const Json* value = document.member(key);
    return static_cast<std::size_t>(value == nullptr ? 0 : value->get_int().value_or(0));
  };
  found.journals = count("journals");
  found.audits = count("audits");
  for (const Json& note : notes->as_array()) found.notes.emplace_back(note.get_string().value_or(""));
  for (const Json& each : decisions->as_array()) {
    const auto number = [&](std::string_view key) {
      const Json* value = each.member(key);
      return value == nullptr ? std::nullopt : value->get_int();
    };
    const auto at = number("at");
    if (!at) return fail(ErrorKind::kInvalid, "a decision has no time");
    operate::Decision& out = found.decisions.emplace_back();
    out.at = base::WallTime{std::chrono::seconds(*at)};
    out.source = each.text_at("source") == "audit"     ? operate::DecisionSource::kAudit
                 : each.text_at("source") == "journal" ? operate::DecisionSource::kJournal
                                                       : operate::DecisionSource::kEvent;
    out.by = each.text_at("by");
    out.object = each.text_at("object");
    out.node = each.text_at("node");
    out.pool = each.text_at("pool");
    out.action = each.text_at("action");
    out.reason = each.text_at("reason");
    out.text = each.text_at("text");
    out.batch_cpu_milli = number("batchCpu");
    out.batch_memory_bytes = number("batchMemory");
    out.before = each.text_at("before");
    out.after = each.text_at("after");
    out.outcome = each.text_at("outcome");
    out.detail = each.text_at("detail");
  }
  return found;
}

}  // namespace tidemark::console
