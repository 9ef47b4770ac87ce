// What an agent gives of its files: lines of a time, and no more bytes than it may.
#include "agent/record/past_lines.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "agent/record/recorder.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using base::cat;

base::WallTime at(int minute) {
  return *base::parse_rfc3339(cat("2026-11-23T20:", minute, ":00Z"));
}
std::string record(int minute, std::string_view more = "") {
  return cat(R"({"schema":1,"time":")", base::format_rfc3339_micro(at(minute)), R"(","node":"n1")", more, "}\n");
}
std::string audit(int minute, std::string_view kind) {
  return cat(R"({"schema":1,"time":")", base::format_rfc3339_micro(at(minute)), R"(","kind":")", kind, "\"}\n");
}

class PastLines : public ::testing::Test {
 protected:
  PastLines() {
    char made[] = "/tmp/tidemark-past-XXXXXX";
    folder = mkdtemp(made);
  }
  ~PastLines() override { std::filesystem::remove_all(folder); }
  void write(const std::string& name, const std::string& text) { std::ofstream(folder + "/" + name) << text; }
  std::string path(const std::string& name) const { return folder + "/" + name; }
  std::string folder;
};

TEST_F(PastLines, RecordHasTheLinesOfTheTimeFromAllFiles) {
  write("record.jsonl.1", record(10) + record(11));
  const std::string lost = "{\"schema\":1,\"lost\":3}\n";
  write("record.jsonl", record(12) + lost + record(13) + lost);
  EXPECT_EQ(*record_lines(path("record.jsonl"), at(11), at(12)), record(11) + record(12) + lost);
  EXPECT_EQ(*record_lines(path("record.jsonl"), at(20), at(30)), "");
  EXPECT_EQ(*record_lines(path("none"), at(11), at(12)), "");
}

TEST_F(PastLines, MoreThanTheLimitIsRefused) {
  write("record.jsonl", record(10) + record(11) + record(12));
  const auto refused = record_lines(path("record.jsonl"), at(10), at(12), 2 * record(10).size());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(record_lines(path("record.jsonl"), at(11), at(11), 2 * record(10).size()));
}

TEST_F(PastLines, AuditKeepsItsBeginningAndWhatMayStillBeInForce) {
  const std::string begin = audit(10, "Pod"), old = audit(11, "CgroupFile"), other = audit(12, "Node"),
                    last = audit(13, "CgroupFile"), in = audit(20, "Pod"), after = audit(31, "CgroupFile");
  write("audit.jsonl", begin + old + other + last + in + after);
  EXPECT_EQ(*audit_lines(path("audit.jsonl"), at(20), at(30)), begin + old + last + in);
  EXPECT_EQ(*audit_lines(path("audit.jsonl"), at(20), at(30), begin.size() + last.size() + in.size()),
            begin + last + in)
      << "the oldest goes first";
  EXPECT_FALSE(audit_lines(path("audit.jsonl"), at(20), at(30), in.size()));
}

TEST_F(PastLines, ServesOnlyWhatIsKept) {
  write(std::string(kRecordFile), record(10));
  const auto served = past_of_agent(folder, "none");
  ASSERT_EQ(served.size(), 1U);
  const auto answer = [&](const std::string& query) { return served.at("/past/record")(*net::parse_target(query)); };
  const auto seconds = std::chrono::floor<std::chrono::seconds>(at(10).since_epoch).count();
  EXPECT_EQ(*answer(cat("/past/record?from=", seconds, "&to=", seconds)), record(10));
  EXPECT_EQ(answer("/past/record?from=now").error().kind, ErrorKind::kInvalid);
  EXPECT_TRUE(past_of_agent("", "").empty());
}

}  // namespace
}  // namespace tidemark::agent
