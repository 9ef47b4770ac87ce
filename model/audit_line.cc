#include "model/audit_line.h"

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace tidemark::model {
namespace {

std::string_view word(AuditOutcome outcome) {
  switch (outcome) {
    case AuditOutcome::kDone:
      return "done";
    case AuditOutcome::kRefused:
      return "refused";
    case AuditOutcome::kUnknown:
      break;
  }
  return "unknown";
}

void text_or_null(base::JsonWriter& out, std::string_view key, std::string_view value) {
  out.key(key);
  if (value.empty()) {
    out.null();
  } else {
    out.value(value);
  }
}

// One line is one write: a value that was written over several lines is written again.
void value_or_null(base::JsonWriter& out, std::string_view key, std::string_view value) {
  out.key(key);
  if (value.empty()) {
    out.null();
    return;
  }
  if (value.size() <= kAuditValueMax) {
    if (const auto json = Json::parse(value)) {
      out.raw(json->dump());
      return;
    }
  }
  out.value(base::utf8_prefix(value, kAuditValueMax));
  if (value.size() > kAuditValueMax) {
    out.member(base::cat(key, "Bytes"), static_cast<std::int64_t>(value.size()));
  }
}

}  // namespace

std::string to_string(const AuditLine& line) {
  std::string text;
  base::JsonWriter out(text);
  out.begin_object().member("schema", kAuditSchema).member("time", base::format_rfc3339_micro(line.time));
  out.member("actor", line.actor).member("verb", line.verb);
  out.key("object").begin_object().member("kind", line.kind);
  if (!line.ns.empty()) out.member("namespace", line.ns);
  out.member("name", line.name);
  if (!line.part.empty()) out.member("part", line.part);
  out.end_object();
  value_or_null(out, "old", line.old_value);
  value_or_null(out, "new", line.new_value);
  text_or_null(out, "reason", line.reason);
  text_or_null(out, "config", line.config);
  text_or_null(out, "trace", line.trace);
  out.member("outcome", word(line.outcome));
  if (!line.detail.empty()) out.member("detail", base::utf8_prefix(line.detail, kAuditDetailMax));
  out.member("milliseconds", std::chrono::duration_cast<std::chrono::milliseconds>(line.took).count());
  out.end_object();
  return text;
}

}  // namespace tidemark::model
