#include "journal/tail.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "base/random.h"
#include "base/text.h"
#include "journal/audit_file.h"

namespace tidemark::journal {
namespace {

struct TailTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "tail-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    path = folder + "/a";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void append(const std::string& text) const { std::ofstream(path, std::ios::binary | std::ios::app) << text; }
  void move_away() const {
    for (int number = kAuditOldFiles; number > 0; --number) {
      const std::string from = number == 1 ? path : base::cat(path, ".", number - 1);
      if (std::filesystem::exists(from)) std::filesystem::rename(from, base::cat(path, ".", number));
    }
  }
  std::string next(std::size_t bytes_max = 1000) {
    auto piece = read_on(path, place, bytes_max);
    if (!piece) return piece.error().message;
    place = piece->next;
    return base::cat(piece->skipped ? "skipped " : "", piece->lines, piece->behind > 0 ? "…" : "");
  }

  std::string folder, path;
  TailPlace place;
};

TEST_F(TailTest, GoesOnWhereItStopped) {
  EXPECT_EQ(next(), "");
  append("1\n2\n");
  EXPECT_EQ(next(), "1\n2\n");
  EXPECT_EQ(next(), "");
  append("3\nhalf");
  EXPECT_EQ(next(), "3\n…");
  append(" a line\n");
  EXPECT_EQ(next(), "half a line\n");
}

TEST_F(TailTest, TakesNoMoreThanItMay) {
  append("1111\n2222\n3333\n");
  EXPECT_EQ(next(12), "1111\n2222\n…");
  EXPECT_EQ(next(12), "3333\n");
}

TEST_F(TailTest, FollowsAFileThatIsMovedAway) {
  append("1\n2\n");
  EXPECT_EQ(next(2), "1\n…");
  move_away();
  append("3\n");
  move_away();
  append("4\n");
  EXPECT_EQ(next(), "2\n…");
  EXPECT_EQ(next(), "3\n…");
  EXPECT_EQ(next(), "4\n");
  EXPECT_EQ(next(), "");
}

TEST_F(TailTest, ReportsLostLines) {
  append("1\n2\n");
  EXPECT_EQ(next(2), "1\n…");
  for (int i = 3; i <= 6; ++i) {
    move_away();
    append(base::cat(i, "\n"));
  }
  EXPECT_EQ(next(), "skipped 3\n…");
  EXPECT_EQ(next(), "4\n…");
}

TEST_F(TailTest, SkipsTooLongLine) {
  append("1\n" + std::string(200'000, 'x') + "\n2\n");
  EXPECT_EQ(next(100), "1\n…");
  EXPECT_EQ(next(100), "skipped 2\n");
  append(std::string(300, 'y'));
  EXPECT_EQ(next(100), "…") << "its end may still come";
  append("\n3\n");
  EXPECT_EQ(next(100), "skipped 3\n");
}

TEST_F(TailTest, FromTheEndOn) {
  EXPECT_EQ(end_of(path).value(), TailPlace());
  append("1\ntorn");
  place = end_of(path).value();
  EXPECT_EQ(next(), "");
  append(" line\n2\n");
  EXPECT_EQ(next(), "skipped 2\n") << "the rest of a line is none";
}

TEST_F(TailTest, FileWithReusedInodeIsReadFromStart) {
  append("1\n2\n3\n");
  EXPECT_EQ(next(), "1\n2\n3\n");
  std::filesystem::resize_file(path, 0);
  append("4\n");
  EXPECT_EQ(next(), "skipped 4\n");
}

// For any changes between two reads: lines come in order, each at most once, and a gap is reported.
TEST_F(TailTest, NoDuplicatesAndNoSilentGap) {
  base::Random random(3);
  std::int64_t written = 0, read = 0;
  const AuditFileOptions options{path, kAuditBytesMin};
  for (int round = 0; round < 300; ++round) {
    std::vector<Entry> lines;
    for (std::uint64_t more = random.below(40); more > 0; --more) {
      lines.push_back({base::cat(++written, std::string(random.below(4000), ' ')), {}});
    }
    ASSERT_EQ(append_audit(options, lines).lost, 0u);
    for (std::uint64_t looks = random.below(3); looks > 0; --looks) {
      auto piece = read_on(path, place, 20'000 + random.below(100'000));
      ASSERT_TRUE(piece) << piece.error().message;
      place = piece->next;
      bool may_skip = piece->skipped;
      for (const std::string_view line : base::split(piece->lines, '\n')) {
        if (line.empty()) continue;
        const std::int64_t number = base::parse_int(base::trim(line)).value_or(0);
        if (may_skip) {
          ASSERT_GT(number, read);
        } else {
          ASSERT_EQ(number, read + 1);
        }
        read = number;
        may_skip = false;
      }
    }
  }
  EXPECT_GT(read, 1000);
}

}  // namespace
}  // namespace tidemark::journal
