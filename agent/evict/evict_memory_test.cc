#include "agent/evict/evict_memory.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/testing/clock.h"
#include "linux/testing/tree.h"
#include "policy/evict/stored.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;

class EvictMemories : public ::testing::Test {
 protected:
  EvictMemory memory(std::string boot = "b1") { return EvictMemory(log, tree.root() + "/run", std::move(boot)); }
  policy::EvictState evicted() const {
    policy::EvictState out;
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

TEST_F(EvictMemories, TheNextAgentCountsOn) {
  EXPECT_EQ(memory().begin(kNow), policy::first_evict_state(kNow));
  memory().keep(evicted());
  EXPECT_EQ(memory().begin(kNow + 1min).hour, evicted().hour);
  EXPECT_NE(lines.find("goes on with evictions"), std::string::npos);
  EXPECT_EQ(memory("b2").begin(kNow), policy::first_evict_state(kNow)) << "another life of the machine";
}

TEST_F(EvictMemories, WhereNothingWasEvictedThereIsNoFile) {
  EvictMemory kept = memory();
  kept.keep(kept.begin(kNow));
  EXPECT_FALSE(there());
  kept.keep(evicted());
  EXPECT_TRUE(there());
  kept.keep(policy::first_evict_state(kNow));
  EXPECT_FALSE(there());
}

TEST_F(EvictMemories, TheSameIsNotWrittenTwice) {
  EvictMemory kept = memory();
  kept.keep(evicted());
  std::filesystem::remove(tree.root() + "/run/evictions.json");
  kept.keep(evicted());
  EXPECT_FALSE(there());
}

TEST_F(EvictMemories, WhatCannotBeReadDoesNotCountAndIsTold) {
  std::filesystem::create_directory(tree.root() + "/run");
  std::ofstream(tree.root() + "/run/evictions.json") << "{\"schema\":";
  EXPECT_EQ(memory().begin(kNow), policy::first_evict_state(kNow));
  EXPECT_NE(lines.find("evictions before this start do not count"), std::string::npos);
}

TEST_F(EvictMemories, WhereNothingCanBeKeptItIsToldOnce) {
  std::ofstream(tree.root() + "/run") << "a file where the folder should be";
  EvictMemory kept = memory();
  kept.keep(evicted());
  kept.keep(evicted());
  const std::string told = "evictions are not kept";
  EXPECT_NE(lines.find(told), std::string::npos);
  EXPECT_EQ(lines.find(told), lines.rfind(told));
}

}  // namespace
}  // namespace tidemark::agent
