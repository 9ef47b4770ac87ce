#include "cli/local/cri_line.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "runtime/shim/log_lines.h"

namespace tidemark::cli {
namespace {

TEST(CriLineTest, ParsesFullAndPartialLine) {
  const auto whole = parse_cri_line("2026-11-23T20:15:30.123456789Z stdout F a  line ");
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->time_text, "2026-11-23T20:15:30.123456789Z");
  EXPECT_EQ(whole->time.since_epoch.count() % 1'000'000'000, 123456789);
  EXPECT_FALSE(whole->error);
  EXPECT_FALSE(whole->partial);
  EXPECT_EQ(whole->text, "a  line ");
  const auto part = parse_cri_line("2026-11-23T20:15:30.1+08:00 stderr P:more x");
  ASSERT_TRUE(part);
  EXPECT_TRUE(part->error);
  EXPECT_TRUE(part->partial);
  EXPECT_EQ(part->text, "x");
}

TEST(CriLineTest, EmptyLines) {
  EXPECT_EQ(parse_cri_line("2026-11-23T20:15:30Z stdout F ")->text, "");
  EXPECT_EQ(parse_cri_line("2026-11-23T20:15:30Z stdout F")->text, "");
}

TEST(CriLineTest, RejectsOtherLines) {
  for (const std::string_view line :
       {"", " ", "plain text", "2026-11-23T20:15:30Z", "2026-11-23T20:15:30Z stdout ", "yesterday stdout F x",
        "2026-11-23T20:15:30Z stdlog F x", "2026-11-23T20:15:30Z stdout X x", "2026-11-23T20:15:30Z  stdout F x"}) {
    EXPECT_FALSE(parse_cri_line(line)) << line;
  }
}

TEST(CriLineTest, ReadsOutputOfShim) {
  std::string out;
  runtime::LogLines lines("stderr");
  lines.take("one\ntwo", {std::chrono::seconds(1'700'000'000)}, out);
  lines.end({std::chrono::seconds(1'700'000'001)}, out);
  std::vector<std::string> texts;
  for (const auto line : base::split(base::trim(out), '\n')) {
    const auto read = parse_cri_line(line);
    ASSERT_TRUE(read) << line;
    EXPECT_TRUE(read->error);
    texts.emplace_back(read->text);
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"one", "two"}));
}

}  // namespace
}  // namespace tidemark::cli
