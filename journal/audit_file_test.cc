#include "journal/audit_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/text.h"
#include "net/testing/loop.h"

namespace tidemark::journal {
namespace {

using namespace std::chrono_literals;

std::string content(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

base::Log quiet(const base::Clock& clock) {
  return base::Log(clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}});
}

class Audit : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "audit-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.path = folder + "/audit.jsonl";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string folder;
  AuditFileOptions options;
};

TEST_F(Audit, LinesAreAppendedAndOnlyTheOwnerMayReadThem) {
  ASSERT_TRUE(append_audit(options, "one\n"));
  ASSERT_TRUE(append_audit(options, "two\nthree\n"));
  EXPECT_EQ(content(options.path), "one\ntwo\nthree\n");
  EXPECT_EQ(std::filesystem::status(options.path).permissions(), std::filesystem::perms(0600));
}

TEST_F(Audit, AllFilesTogetherStayWithinTheirBound) {
  options.bytes_max = kAuditBytesMin;
  const std::string kilobyte(1023, 'x');
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(append_audit(options, kilobyte + "\n"));
  std::uintmax_t bytes = 0;
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    bytes += entry.file_size();
    ++files;
  }
  EXPECT_EQ(files, kAuditOldFiles + 1);
  EXPECT_LE(bytes, static_cast<std::uintmax_t>(kAuditBytesMin));
  EXPECT_GE(bytes, static_cast<std::uintmax_t>(kAuditBytesMin / 2)) << "and what is kept is most of that";
}

TEST_F(Audit, AFileThatIsMovedAwayIsBegunAnewAndABrokenLineIsLeftAlone) {
  ASSERT_TRUE(append_audit(options, "one\n"));
  std::filesystem::rename(options.path, folder + "/moved");
  ASSERT_TRUE(append_audit(options, "two\n"));
  EXPECT_EQ(content(options.path), "two\n");
  std::ofstream(options.path, std::ios::app) << "{\"cut";
  ASSERT_TRUE(append_audit(options, "three\n"));
  EXPECT_EQ(content(options.path), "two\n{\"cut\nthree\n");
}

TEST_F(Audit, WhatCannotBeKeptIsCountedAndToldWhenItIsOver) {
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  const std::string place = folder + "/not-there";
  options.path = place + "/audit.jsonl";
  AuditFile file(loop, quiet(clock), metrics, options);
  const auto drained = [&] { return net::testing::run_task(loop, file.drain(30s)); };
  file.add("one");
  file.add("two");
  EXPECT_TRUE(drained());
  const auto lost = [&] { return metrics.counter("tidemark_audit_lost_total", "").value(); };
  EXPECT_EQ(lost(), 2u);
  std::filesystem::create_directory(place);
  file.add("three");
  EXPECT_TRUE(drained());
  EXPECT_EQ(content(options.path), "{\"schema\":1,\"lost\":2}\nthree\n");
  EXPECT_EQ(lost(), 2u);
  EXPECT_EQ(metrics.counter("tidemark_audit_lines_total", "").value(), 1u);
}

TEST_F(Audit, ALineMoreThanMayWaitIsLostAndNobodyWaits) {
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  AuditFile file(loop, quiet(clock), metrics, options);
  const std::string large(std::size_t{1} << 20, 'x');
  for (int i = 0; i < 6; ++i) file.add(large);  // the loop does not run meanwhile
  EXPECT_EQ(metrics.counter("tidemark_audit_lost_total", "").value(), 3u) << "each has its newline";
  EXPECT_TRUE(net::testing::run_task(loop, file.drain(30s)));
}

}  // namespace
}  // namespace tidemark::journal
