#include "model/audit_line.h"

#include "base/json.h"
#include "base/text.h"
#include "base/utf8.h"

namespace tidemark::model {
namespace {

constexpr std::int64_t kTookMax_ms = std::int64_t{1000} * 60 * 60 * 24;

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

// One line is one write: a value with several lines is compacted to one.
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

AuditOutcome outcome_of(std::string_view word_read) {
  for (const AuditOutcome each : {AuditOutcome::kDone, AuditOutcome::kRefused}) {
    if (word(each) == word_read) return each;
  }
  return AuditOutcome::kUnknown;
}

void read_object(base::JsonReader& json, AuditLine& line) {
  json.object([&](std::string_view key) {
    if (key == "kind") {
      json.string(line.kind);
    } else if (key == "namespace") {
      json.string(line.ns);
    } else if (key == "name") {
      json.string(line.name);
    } else if (key == "part") {
      json.string(line.part);
    } else {
      json.skip();
    }
  });
}

void read_value(base::JsonReader& json, std::string& into) {
  std::string_view text;
  if (json.raw(text) && text != "null") into = text;
}

}  // namespace

Result<AuditLineRead> parse_audit_line(std::string_view text) {
  AuditLineRead out;
  AuditLine& line = out.line;
  std::string time, outcome;
  std::int64_t schema = 0, lost = 0, milliseconds = 0;
  base::JsonReader json(text);
  json.object([&](std::string_view key) {
    if (key == "schema") {
      json.integer(schema);
    } else if (key == "lost") {
      json.integer(lost);
    } else if (key == "time") {
      json.string(time);
    } else if (key == "actor") {
      json.string(line.actor);
    } else if (key == "verb") {
      json.string(line.verb);
    } else if (key == "object") {
      read_object(json, line);
    } else if (key == "old") {
      read_value(json, line.old_value);
    } else if (key == "new") {
      read_value(json, line.new_value);
    } else if (key == "reason") {
      json.string(line.reason);
    } else if (key == "config") {
      json.string(line.config);
    } else if (key == "trace") {
      json.string(line.trace);
    } else if (key == "outcome") {
      json.string(outcome);
    } else if (key == "detail") {
      json.string(line.detail);
    } else if (key == "milliseconds") {
      json.integer(milliseconds);
    } else {
      json.skip();
    }
  });
  TM_TRY_VOID(json.finish());
  if (schema != kAuditSchema) {
    return fail(ErrorKind::kUnsupported, "an audit line of schema ", schema, ", and this program reads ", kAuditSchema);
  }
  if (lost > 0) {
    out.lost = static_cast<std::uint64_t>(lost);
    return out;
  }
  const auto at = base::parse_rfc3339(time);
  if (!at) return fail(ErrorKind::kInvalid, "an audit line has a time, found ", base::in_quotes(time));
  line.time = *at;
  line.outcome = outcome_of(outcome);
  if (milliseconds > 0 && milliseconds <= kTookMax_ms) line.took = std::chrono::milliseconds(milliseconds);
  return out;
}

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
