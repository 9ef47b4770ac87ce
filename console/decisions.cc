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

std::string decisions_document(const operate::DecisionsFound& found, const operate::DecisionFiles& files) {
  std::string out;
  base::JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.member("journals", static_cast<std::int64_t>(files.journals.size()));
  json.member("audits", static_cast<std::int64_t>(files.audits.size()));
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

}  // namespace tidemark::console
