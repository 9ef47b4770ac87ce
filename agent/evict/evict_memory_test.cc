#include "agent/evict/evict_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/testing/tree.h"
#include "policy/evict/stored.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

class EvictMemories : public ::testing::Test {
 protected:
  EvictMemories() { boot("b1"); }
  void boot(std::string_view id) { tree.write("proc/sys/kernel/random/boot_id", base::cat(id, "\n")); }
  EvictMemory memory() { return EvictMemory(log, tree.root() + "/run", tree.root() + "/proc"); }
  policy::evict::EvictState evicted() const {
    policy::evict::EvictState out;
    out.hour = {kNow};
    return out;
  }
  bool there() const { return std::filesystem::exists(tree.root() + "/run/evictions.json"); }

  static constexpr base::MonotonicTime kNow{2h};
  linux::testing::Tree tree;
  base::testing::Clock clock;
  std::string lines;
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
};

TEST_F(EvictMemories, NextAgentContinuesTheCount) {
  EXPECT_EQ(memory().begin(kNow), policy::evict::first_evict_state(kNow));
  memory().keep(evicted());
  EXPECT_EQ(memory().begin(kNow + 1min).hour, evicted().hour);
  EXPECT_NE(lines.find("continues with evictions"), std::string::npos);
  boot("b2");
  EXPECT_EQ(memory().begin(kNow), policy::evict::first_evict_state(kNow)) << "another life of the machine";
}

// A process that is out of descriptors reads no boot id: what it evicts counts for the next one all the same.
TEST_F(EvictMemories, UnreadableBootIdIsReportedAndLaterEvictionsAreKept) {
  boot("");
  EvictMemory kept = memory();
  EXPECT_EQ(kept.begin(kNow), policy::evict::first_evict_state(kNow));
  EXPECT_NE(lines.find("cannot read earlier evictions; they do not count"), std::string::npos) << lines;
  EXPECT_NE(lines.find("boot_id"), std::string::npos) << lines;
  kept.keep(evicted());
  EXPECT_FALSE(there()) << "it would be unknown of which life of the machine it is";
  EXPECT_NE(lines.find("cannot save evictions"), std::string::npos) << lines;
  boot("b1");
  kept.keep(evicted());
  EXPECT_EQ(memory().begin(kNow + 1min).hour, evicted().hour);
}

TEST_F(EvictMemories, NoFileWithoutEviction) {
  EvictMemory kept = memory();
  kept.keep(kept.begin(kNow));
  EXPECT_FALSE(there());
  kept.keep(evicted());
  EXPECT_TRUE(there());
  kept.keep(policy::evict::first_evict_state(kNow));
  EXPECT_FALSE(there());
}

TEST_F(EvictMemories, DoesNotWriteTheSameTwice) {
  EvictMemory kept = memory();
  kept.keep(evicted());
  std::filesystem::remove(tree.root() + "/run/evictions.json");
  kept.keep(evicted());
  EXPECT_FALSE(there());
}

TEST_F(EvictMemories, UnreadableFileIsReportedAndIgnored) {
  std::filesystem::create_directory(tree.root() + "/run");
  std::ofstream(tree.root() + "/run/evictions.json") << "{\"schema\":";
  EXPECT_EQ(memory().begin(kNow), policy::evict::first_evict_state(kNow));
  EXPECT_NE(lines.find("cannot read earlier evictions; they do not count"), std::string::npos);
}

TEST_F(EvictMemories, ReportsFailedSaveOnce) {
  std::ofstream(tree.root() + "/run") << "a file where the folder should be";
  EvictMemory kept = memory();
  kept.keep(evicted());
  kept.keep(evicted());
  const std::string told = "cannot save evictions";
  EXPECT_NE(lines.find(told), std::string::npos);
  EXPECT_EQ(lines.find(told), lines.rfind(told));
}

}  // namespace
}  // namespace tidemark::agent
