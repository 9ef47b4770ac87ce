#include "agent/enforcer/found_journal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/random.h"
#include "base/text.h"
#include "linux/testing/tree.h"

namespace tidemark::agent {
namespace {

using linux::File;
using model::Strategy;

FoundFile besteffort() {
  return {"kubepods/besteffort", File::kCpuQuota, {29, 4711}, Strategy::kCpuSuppress, "-1", {}};
}

class FoundJournalTest : public ::testing::Test {
 protected:
  std::string folder() const { return tree.root() + "/run"; }
  std::string file() const { return folder() + "/found.journal"; }
  FoundJournal must_open(std::string_view boot = "b1") {
    auto journal = FoundJournal::open(folder(), std::string(boot));
    EXPECT_TRUE(journal) << journal.error().message;
    return std::move(*journal);
  }
  FoundFiles left(std::string_view boot = "b1") const {
    auto reading = read_found(folder(), boot);
    EXPECT_TRUE(reading) << reading.error().message;
    return reading ? reading->files : FoundFiles();
  }
  std::string text() const {
    std::ifstream in(file(), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void write_text(std::string_view text) const {
    std::filesystem::create_directories(folder());
    std::ofstream(file(), std::ios::binary | std::ios::trunc) << text;
  }

  linux::testing::Tree tree;
};

TEST_F(FoundJournalTest, KeepsOriginalAndWrittenValuesForNextAgent) {
  {
    FoundJournal journal = must_open();
    const std::uint32_t id = journal.add(besteffort()).value();
    ASSERT_TRUE(journal.will_write({{id, "200000"}, {id, "120000"}}));
  }
  FoundFile wanted = besteffort();
  wanted.written = {"200000", "120000"};
  EXPECT_EQ(left(), (FoundFiles{{1, wanted}}));
  EXPECT_EQ(must_open().files(), (FoundFiles{{1, wanted}})) << "opening makes it anew";
  EXPECT_EQ(left(), (FoundFiles{{1, wanted}}));
}

// A full folder has no room for another file; the one that is there takes some lines yet.
TEST_F(FoundJournalTest, KeepsAppendingIfRewriteFails) {
  std::uint32_t id = 0;
  {
    FoundJournal journal = must_open();
    id = journal.add(besteffort()).value();
  }
  std::filesystem::create_directories(folder() + "/.found.journal.new");  // where a new one is written first
  {
    FoundJournal journal = must_open();
    ASSERT_TRUE(journal.will_write({{id, "2000"}}));
    ASSERT_TRUE(journal.add(besteffort()));
  }
  FoundFile wanted = besteffort();
  wanted.written = {"2000"};
  EXPECT_EQ(left(), (FoundFiles{{1, wanted}, {2, besteffort()}}));
  // What was never finished, or is of another life of the machine, is no beginning.
  EXPECT_FALSE(FoundJournal::open(folder(), "b2"));
  write_text(text() + R"({"id":2,"wri)");
  EXPECT_FALSE(FoundJournal::open(folder(), "b1"));
}

TEST_F(FoundJournalTest, ClosedEntriesAreGone) {
  FoundJournal journal = must_open();
  const std::uint32_t first = journal.add(besteffort()).value();
  const std::uint32_t second = journal.add(besteffort()).value();
  ASSERT_TRUE(journal.over({first}));
  EXPECT_EQ(left().size(), 1U);
  EXPECT_TRUE(left().contains(second));
  EXPECT_NE(journal.add(besteffort()).value(), first) << "a number is not given twice";
}

TEST_F(FoundJournalTest, NewForeignValueBecomesOriginal) {
  FoundJournal journal = must_open();
  const std::uint32_t id = journal.add(besteffort()).value();
  ASSERT_TRUE(journal.found_now(id, "50000"));
  EXPECT_EQ(left().at(id).found, "50000");
}

TEST_F(FoundJournalTest, KeepsOnlyNewestValues) {
  FoundJournal journal = must_open();
  const std::uint32_t id = journal.add(besteffort()).value();
  for (std::size_t i = 0; i < 2 * kFoundValuesKept; ++i) ASSERT_TRUE(journal.will_write({{id, base::cat(i)}}));
  EXPECT_EQ(left().at(id).written.size(), kFoundValuesKept);
  EXPECT_EQ(left().at(id).written.back(), base::cat(2 * kFoundValuesKept - 1));
}

TEST_F(FoundJournalTest, RestoresNothingAfterReboot) {
  {
    EXPECT_TRUE(must_open("b1").add(besteffort()));
  }
  EXPECT_TRUE(left("b2").empty());
  EXPECT_TRUE(must_open("b2").files().empty());
}

// A process that is out of descriptors reads no boot id either.
TEST_F(FoundJournalTest, UnknownBootIdDiscardsNothing) {
  {
    EXPECT_TRUE(must_open().add(besteffort()));
  }
  const auto journal = FoundJournal::open(folder(), "");
  ASSERT_FALSE(journal);
  EXPECT_NE(journal.error().message.find("boot_id"), std::string::npos) << journal.error().message;
  EXPECT_FALSE(read_found(folder(), ""));
  EXPECT_EQ(left().size(), 1U);
  EXPECT_EQ(must_open().files().size(), 1U);
}

TEST_F(FoundJournalTest, OnlyOneProcessHoldsTheJournal) {
  EXPECT_FALSE(FoundJournal::is_held(folder()));
  const FoundJournal first = must_open();
  EXPECT_TRUE(FoundJournal::is_held(folder()));
  const auto second = FoundJournal::open(folder(), "b1");
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kAlreadyExists);
}

// Cut anywhere, as by a process that is killed: what was whole before is there, and nothing else.
TEST_F(FoundJournalTest, TruncatedJournalKeepsCompleteLines) {
  {
    FoundJournal journal = must_open();
    const std::uint32_t id = journal.add(besteffort()).value();
    ASSERT_TRUE(journal.will_write({{id, "200000"}}));
    ASSERT_TRUE(journal.over({id}));
  }
  const std::string whole = text();
  std::size_t lines = 0;
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    const std::string part = whole.substr(0, size);
    lines = static_cast<std::size_t>(std::ranges::count(part, '\n'));
    const auto reading = parse_found(part, "b1");
    ASSERT_TRUE(reading);
    EXPECT_EQ(reading->files.size(), lines == 2 || lines == 3 ? 1U : 0U) << part;
    EXPECT_EQ(reading->unreadable, 0U) << part;
    if (lines == 3) EXPECT_EQ(reading->files.at(1).written.size(), 1U);
  }
  EXPECT_EQ(lines, 4U);
}

TEST_F(FoundJournalTest, SkipsInvalidLine) {
  FoundFile wanted = besteffort();
  {
    EXPECT_TRUE(must_open().add(wanted));
  }
  for (const std::string_view line : {"{", "null", "[]", R"({"id":0,"over":true})", R"({"id":9,"writes":"1"})",
                                      R"({"id":2,"group":"a","file":"no.such.file"})", R"({"id":1})",
                                      R"({"id":-1,"group":"a"})", R"({"id":1,"writes":5})"}) {
    const auto reading = parse_found(text() + std::string(line) + "\n", "b1");
    ASSERT_TRUE(reading) << line;
    EXPECT_EQ(reading->files, (FoundFiles{{1, wanted}})) << line;
    EXPECT_EQ(reading->unreadable, 1U) << line;
  }
}

TEST_F(FoundJournalTest, RefusesNewerVersion) {
  write_text("{\"schema\":2,\"boot\":\"b1\"}\n");
  const auto journal = FoundJournal::open(folder(), "b1");
  ASSERT_FALSE(journal);
  EXPECT_EQ(journal.error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(text(), "{\"schema\":2,\"boot\":\"b1\"}\n") << "and it stays";
}

TEST_F(FoundJournalTest, RewritesBeforeItGrowsTooLarge) {
  FoundJournal journal = must_open();
  const std::uint32_t id = journal.add(besteffort()).value();
  for (int i = 0; i < 20'000; ++i) ASSERT_TRUE(journal.will_write({{id, base::cat(100'000 + i)}}));
  EXPECT_LT(text().size(), std::size_t{300} << 10);
  EXPECT_EQ(left().at(id).written.back(), "119999");
}

// Every kind of line in any order: what is held is what is read again.
TEST_F(FoundJournalTest, ReadsBackWhatItHolds) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    std::filesystem::remove_all(folder());
    FoundJournal journal = must_open();
    for (int step = 0; step < 60; ++step) {
      const auto any = [&]() -> std::uint32_t {
        auto at = journal.files().begin();
        std::advance(at, static_cast<std::ptrdiff_t>(random.below(journal.files().size())));
        return at->first;
      };
      const bool none = journal.files().empty();
      switch (none ? 0 : random.below(4)) {
        case 0:
          ASSERT_TRUE(journal.add(besteffort()));
          break;
        case 1:
          ASSERT_TRUE(journal.will_write({{any(), base::cat(random.below(5))}}));
          break;
        case 2:
          ASSERT_TRUE(journal.found_now(any(), base::cat(random.below(5))));
          break;
        default:
          ASSERT_TRUE(journal.over({any()}));
      }
      ASSERT_EQ(left(), journal.files()) << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace tidemark::agent
