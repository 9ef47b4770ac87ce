#include "agent/enforcer/oom_journal.h"

#include <gtest/gtest.h>

#include <string>

#include "linux/testing/tree.h"

namespace tidemark::agent {
namespace {

const OomEntries kEntries = {{7, {420, "yarn/c1", -997, 1000}}, {8, {421, "a \"quoted\" group", 1000, 940, 960}}};

TEST(OomJournal, ReadsBackWhatWasWritten) {
  EXPECT_EQ(parse_oom_journal(oom_journal_text(kEntries, "b1"), "b1").value(), kEntries);
  EXPECT_TRUE(parse_oom_journal(oom_journal_text(kEntries, "b1"), "b2").value().empty()) << "another life";
  linux::testing::Tree tree;
  EXPECT_TRUE(read_oom_journal(tree.root(), "b1").value().empty());
  ASSERT_TRUE(write_oom_journal(tree.root(), kEntries, "b1"));
  EXPECT_EQ(read_oom_journal(tree.root(), "b1").value(), kEntries);
  EXPECT_FALSE(read_oom_journal(tree.root(), "")) << "it is unknown which life this is";
}

TEST(OomJournal, RefusesNewerVersionAndSkipsInvalidLine) {
  EXPECT_EQ(parse_oom_journal("{\"schema\":2,\"boot\":\"b1\"}\n", "b1").error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(parse_oom_journal("what\n", "b1"));
  const auto some = parse_oom_journal(
      "{\"schema\":1,\"boot\":\"b1\"}\nwhat\n{\"pid\":0,\"start\":1,\"found\":0,\"wrote\":1}\n"
      "{\"pid\":9,\"start\":1,\"group\":\"g\",\"found\":0,\"wrote\":1000}\n{\"pid\":10}\n",
      "b1");
  EXPECT_EQ(some.value(), (OomEntries{{9, {1, "g", 0, 1000}}}));
}

TEST(OomJournal, TruncatedJournalIsReadOrRefused) {
  const std::string text = oom_journal_text(kEntries, "b1");
  for (std::size_t end = 0; end <= text.size(); ++end) {
    const auto read = parse_oom_journal(text.substr(0, end), "b1");
    ASSERT_TRUE(read) << end;
    for (const auto& [pid, entry] : *read) EXPECT_EQ(entry, kEntries.at(pid));
  }
}

}  // namespace
}  // namespace tidemark::agent
