#include "journal/audit_file.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

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

  Appended append(const std::vector<std::string>& lines) const {
    std::vector<Entry> entries;
    for (const auto& line : lines) entries.push_back({line, {}});
    return append_audit(options, entries);
  }
  bool kept(const std::vector<std::string>& lines) const { return append(lines).kept == lines.size(); }
  std::uintmax_t bytes_on_disk() const {
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) bytes += entry.file_size();
    return bytes;
  }
  int files_on_disk() const { return static_cast<int>(std::distance(std::filesystem::directory_iterator(folder), {})); }

  std::string folder;
  AuditFileOptions options;
};

TEST_F(Audit, LinesAreAppendedAndOnlyTheOwnerMayReadThem) {
  ASSERT_TRUE(kept({"one"}));
  ASSERT_TRUE(kept({"two", "three"}));
  EXPECT_EQ(content(options.path), "one\ntwo\nthree\n");
  EXPECT_EQ(std::filesystem::status(options.path).permissions(), std::filesystem::perms(0600));
}

TEST_F(Audit, AllFilesTogetherNeverPassTheirBoundAndKeepMostOfIt) {
  options.bytes_max = kAuditBytesMin;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> lines;
    for (int j = 0; j < i % 23; ++j)
      lines.push_back(std::string(static_cast<std::size_t>(1 + (i * 131 + j * 977) % 9000), 'x'));
    ASSERT_TRUE(kept(lines));
    ASSERT_LE(bytes_on_disk(), static_cast<std::uintmax_t>(options.bytes_max));
  }
  EXPECT_EQ(files_on_disk(), kAuditOldFiles + 1);
  EXPECT_GE(bytes_on_disk(), static_cast<std::uintmax_t>(kAuditBytesMin / 2));
}

TEST_F(Audit, AFileIsFilledToTheByteAndNotOneMore) {
  options.bytes_max = kAuditBytesMin;
  const std::size_t file_max = kAuditBytesMin / (kAuditOldFiles + 1);
  ASSERT_TRUE(kept({std::string(file_max - 3, 'x'), "y"})) << "with their newlines that is all of it";
  EXPECT_EQ(files_on_disk(), 1);
  EXPECT_EQ(bytes_on_disk(), file_max);
  ASSERT_TRUE(kept({""}));
  EXPECT_EQ(files_on_disk(), 2);
  EXPECT_EQ(content(options.path), "\n");
  std::ofstream(options.path, std::ios::trunc) << std::string(file_max - 3, 'x');
  ASSERT_TRUE(kept({"y"})) << "beside the end of a line that broke off";
  EXPECT_EQ(files_on_disk(), 2);
  EXPECT_EQ(std::filesystem::file_size(options.path), file_max);
}

// What waited while the disk was slow comes at once, and is more than a file takes.
TEST_F(Audit, ManyLinesAtOnceAreSplitAndNoneIsCut) {
  options.bytes_max = kAuditBytesMin;
  const std::string line(10'000, 'x');
  ASSERT_TRUE(kept(std::vector<std::string>(400, line)));
  EXPECT_LE(bytes_on_disk(), static_cast<std::uintmax_t>(options.bytes_max));
  EXPECT_EQ(files_on_disk(), kAuditOldFiles + 1);
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    EXPECT_EQ(entry.file_size() % (line.size() + 1), 0u) << entry.path();
  }
}

TEST_F(Audit, SmallerBoundRemovesOldest) {
  options.bytes_max = 8 * kAuditBytesMin;
  const std::vector<std::string> megabyte(1024, std::string(1023, 'x'));
  for (int i = 0; i < 7; ++i) ASSERT_TRUE(kept(megabyte));
  EXPECT_EQ(files_on_disk(), kAuditOldFiles + 1);
  options.bytes_max = 3 * kAuditBytesMin;
  ASSERT_TRUE(kept({"the newest"}));
  EXPECT_LE(bytes_on_disk(), static_cast<std::uintmax_t>(options.bytes_max));
  EXPECT_TRUE(std::filesystem::exists(options.path + ".1"));
  options.bytes_max = kAuditBytesMin;
  ASSERT_TRUE(kept({"newer still"}));
  EXPECT_LE(bytes_on_disk(), static_cast<std::uintmax_t>(options.bytes_max));
  EXPECT_EQ(content(options.path), "the newest\nnewer still\n");
}

TEST_F(Audit, LosesOnlyLineLongerThanFile) {
  options.bytes_max = kAuditBytesMin;
  const Appended done = append({"one", std::string(kAuditBytesMin / 4, 'x'), "two"});
  EXPECT_EQ(done.kept, 2u);
  EXPECT_EQ(done.lost, 1u);
  EXPECT_NE(done.problem, "");
  EXPECT_EQ(content(options.path), "one\ntwo\n");
}

TEST_F(Audit, KeepsNothingIfDisabled) {
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  for (const char* path : {"", "none"}) {
    options.path = path;
    EXPECT_EQ(AuditFile::make(loop, quiet(clock), metrics, options), nullptr);
  }
  options.path = folder + "/./none";
  EXPECT_NE(AuditFile::make(loop, quiet(clock), metrics, options), nullptr);
}

// The process ends: the loop has stopped, and requests that were cancelled write their lines only now.
TEST_F(Audit, TheLastLinesAreWrittenAfterTheLoopHasStopped) {
  const base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  AuditFile file(loop, quiet(clock), metrics, options);
  loop.post([&] { loop.stop(); });
  loop.run();
  file.add("one");
  file.finish(30s);
  EXPECT_EQ(content(options.path), "one\n");
  file.finish(30s);
}

TEST_F(Audit, ReopensMovedFileAndKeepsBrokenLine) {
  ASSERT_TRUE(kept({"one"}));
  std::filesystem::rename(options.path, folder + "/moved");
  ASSERT_TRUE(kept({"two"}));
  EXPECT_EQ(content(options.path), "two\n");
  std::ofstream(options.path, std::ios::app) << "{\"cut";
  ASSERT_TRUE(kept({"three"}));
  EXPECT_EQ(content(options.path), "two\n{\"cut\nthree\n");
}

TEST_F(Audit, CountsLostLinesAndReportsThemLater) {
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

TEST_F(Audit, LosesLineBeyondLimitWithoutBlocking) {
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
