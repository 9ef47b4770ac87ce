#include "model/audit_line.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace tidemark::model {
namespace {

AuditLine a_line() {
  AuditLine line;
  line.time = *base::parse_rfc3339("2026-11-21T21:00:00.5Z");
  line.actor = "manager node-7";
  line.verb = "patch";
  line.kind = "Node";
  line.name = "n1";
  line.part = "status";
  line.old_value = R"({"a":1})";
  line.new_value = "{\n  \"a\": 2\n}";
  line.reason = "TM-WRITE-005";
  line.config = "0123456789abcdef";
  line.trace = "t";
  line.took = std::chrono::milliseconds(12);
  return line;
}

TEST(AuditLine, ContainsActorActionReasonAndOutcome) {
  EXPECT_EQ(to_string(a_line()),
            R"({"schema":1,"time":"2026-11-21T21:00:00.500000Z","actor":"manager node-7","verb":"patch",)"
            R"("object":{"kind":"Node","name":"n1","part":"status"},"old":{"a":1},"new":{"a":2},)"
            R"("reason":"TM-WRITE-005","config":"0123456789abcdef","trace":"t","outcome":"done","milliseconds":12})");
}

TEST(AuditLine, WritesUnknownValuesAsNull) {
  AuditLine line;
  line.verb = "delete";
  line.kind = "ConfigMap";
  line.ns = "system";
  line.name = "c";
  line.outcome = AuditOutcome::kUnknown;
  line.detail = "no answer in time";
  EXPECT_EQ(to_string(line),
            R"({"schema":1,"time":"1970-01-01T00:00:00.000000Z","actor":"","verb":"delete",)"
            R"("object":{"kind":"ConfigMap","namespace":"system","name":"c"},"old":null,"new":null,)"
            R"("reason":null,"config":null,"trace":null,"outcome":"unknown","detail":"no answer in time",)"
            R"("milliseconds":0})");
}

TEST(AuditLine, IsAlwaysOneLineOfJson) {
  AuditLine line = a_line();
  line.old_value = "{\"a\": not\njson\x01\xff";
  line.new_value = "[\"" + std::string(kAuditValueMax, 'x') + "\"]";
  line.detail = std::string(10 * kAuditDetailMax, 'y');
  line.name = "a\nb";
  const std::string text = to_string(line);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_LT(text.size(), 2 * kAuditValueMax);
  const auto json = Json::parse(text);
  ASSERT_TRUE(json) << json.error().message;
  EXPECT_EQ(json->member("newBytes")->as_int(), static_cast<std::int64_t>(line.new_value.size()));
  EXPECT_TRUE(json->member("new")->is_string());
  EXPECT_TRUE(json->member("old")->is_string());
}

TEST(AuditLine, ReadsWhatItWrote) {
  AuditLine line = a_line();
  line.outcome = AuditOutcome::kRefused;
  line.detail = "forbidden";
  const auto read = parse_audit_line(to_string(line));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->lost, 0u);
  EXPECT_EQ(read->line.new_value, R"({"a":2})");
  EXPECT_EQ(to_string(read->line), to_string(line));
}

TEST(AuditLine, RejectsUnreadableLinesWithAReason) {
  EXPECT_EQ(parse_audit_line(R"({"schema":1,"lost":7})")->lost, 7u);
  EXPECT_EQ(parse_audit_line(R"({"schema":2,"time":"2026-11-21T21:00:00Z"})").error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(parse_audit_line(R"({"schema":1,"time":"yesterday"})").error().kind, ErrorKind::kInvalid);
  EXPECT_FALSE(parse_audit_line(R"({"schema":1,"time":"2026-11-21T21:00:00Z","object":7})"));
  EXPECT_FALSE(parse_audit_line(R"({"schema":1,)"));
}

}  // namespace
}  // namespace tidemark::model
