#include "journal/read_lines.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/text.h"

namespace tidemark::journal {
namespace {

struct ReadLinesTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "read-lines-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
  }
  std::string kept(std::size_t line_max = 1000) {
    std::vector<std::string> lines;
    const auto read =
        read_kept_lines(folder + "/a", line_max, [&](std::string_view line) { lines.emplace_back(line); });
    if (!read) return read.error().message;
    return base::cat(base::join(lines, "|"), " of ", read->files, ", ", read->too_long, " too long");
  }
  std::string folder;
};

TEST_F(ReadLinesTest, TheOldestComeFirst) {
  EXPECT_EQ(kept(), " of 0, 0 too long");
  write("a", "5\n6\n");
  write("a.1", "3\n4\n");
  write("a.2", "\n2\n");
  EXPECT_EQ(kept(), "|2|3|4|5|6 of 3, 0 too long");
  write("a.3", "1\n");
  write("a.4", "not ours\n");
  EXPECT_EQ(kept(), "1||2|3|4|5|6 of 4, 0 too long");
}

TEST_F(ReadLinesTest, ALineIsWholeWhereverAPieceEnds) {
  const std::string long_line(std::size_t{700} << 10, 'x');
  write("a", "begin\n" + long_line + "\nend without a newline");
  EXPECT_EQ(kept(long_line.size()), base::cat("begin|", long_line, "|end without a newline of 1, 0 too long"));
  EXPECT_EQ(kept(long_line.size() - 1), "begin|end without a newline of 1, 1 too long");
  EXPECT_EQ(kept(3), " of 1, 3 too long");
  write("a", long_line);
  EXPECT_EQ(kept(10), " of 1, 1 too long");
}

TEST_F(ReadLinesTest, AFileThatCannotBeReadIsNamed) {
  std::filesystem::create_directory(folder + "/a");
  EXPECT_NE(kept().find("a: "), std::string::npos) << kept();
}

}  // namespace
}  // namespace tidemark::journal
