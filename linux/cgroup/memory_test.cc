#include "linux/cgroup/memory.h"

#include <gtest/gtest.h>

#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kV1Stat =
    "cache 1\nrss 2\ninactive_file 3\nhierarchical_memory_limit 9223372036854771712\ntotal_cache 8192\ntotal_rss 4096\n"
    "total_inactive_anon 1\ntotal_active_anon 2\ntotal_inactive_file 6000\ntotal_active_file 4\ntotal_unevictable 5\n";
constexpr std::string_view kV2Stat =
    "anon 4096\nfile 8192\nkernel 100\nfile_dirty 12\ninactive_anon 1\nactive_anon 2\ninactive_file 6000\nactive_file "
    "4\n"
    "unevictable 5\nslab_reclaimable 77\nworkingset_refault_file 9\n";

TEST(Memory, StatOfBothVersionsIncludesDescendants) {
  for (const auto& stat : {parse_memory_stat(kV1Stat, Version::kV1), parse_memory_stat(kV2Stat, Version::kV2)}) {
    ASSERT_TRUE(stat) << stat.error().message;
    EXPECT_EQ(stat->anon, 4096);
    EXPECT_EQ(stat->file, 8192);
    EXPECT_EQ(stat->inactive_anon, 1);
    EXPECT_EQ(stat->active_anon, 2);
    EXPECT_EQ(stat->inactive_file, 6000);
    EXPECT_EQ(stat->unevictable, 5);
    EXPECT_FALSE(stat->shmem) << "what is not said has no value";
  }
  EXPECT_EQ(parse_memory_stat(kV2Stat, Version::kV2)->slab_reclaimable, 77);
  EXPECT_EQ(parse_memory_stat(kV2Stat, Version::kV2)->dirty_file, 12);
}

TEST(Memory, AStatOfTheOtherVersionIsRefused) {
  EXPECT_FALSE(parse_memory_stat(kV1Stat, Version::kV2));
  EXPECT_FALSE(parse_memory_stat(kV2Stat, Version::kV1));
  EXPECT_FALSE(parse_memory_stat("", Version::kV2));
  EXPECT_FALSE(parse_memory_stat("anon 1\nfile x\ninactive_file 3\n", Version::kV2));
}

TEST(Memory, TheWorkingSetIsTheKubelets) {
  EXPECT_EQ(working_set_bytes(10'000, 6000), 4000);
  EXPECT_EQ(working_set_bytes(5000, 6000), 0) << "never negative";
}

TEST(Memory, EventsOfBothVersions) {
  const auto v2 = parse_memory_events("low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\noom_group_kill 6\n", Version::kV2);
  ASSERT_TRUE(v2) << v2.error().message;
  EXPECT_EQ(v2->low, 1);
  EXPECT_EQ(v2->oom_kill, 5);
  EXPECT_EQ(v2->oom_group_kill, 6);
  const auto v1 = parse_memory_events("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n", Version::kV1);
  ASSERT_TRUE(v1) << v1.error().message;
  EXPECT_EQ(v1->oom_kill, 7);
  EXPECT_FALSE(v1->high);
  const auto old = parse_memory_events("oom_kill_disable 0\nunder_oom 0\n", Version::kV1);
  ASSERT_TRUE(old) << "before 4.13";
  EXPECT_FALSE(old->oom_kill) << "not counted is not none";
  for (const std::string_view text : {"", "x\n", "oom_kill x\n", "low 1\n"}) {
    EXPECT_FALSE(parse_memory_events(text, Version::kV1)) << text;
    EXPECT_FALSE(parse_memory_events(text, Version::kV2)) << text;
  }
}

TEST(Memory, OfAGroupOfV1) {
  testing::Tree tree;
  testing::make_v1(tree);
  testing::make_v1_group(tree, "a");
  tree.write("memory/a/memory.usage_in_bytes", "10000\n");
  tree.write("memory/a/memory.stat", kV1Stat);
  tree.write("memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  tree.write("memory/a/memory.failcnt", "3\n");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "a").value());
  Buffer buffer;
  const auto use = read_memory_use(group, buffer);
  ASSERT_TRUE(use && *use);
  EXPECT_EQ((*use)->usage_bytes, 10'000);
  EXPECT_EQ((*use)->working_set_bytes, 4000);
  const auto events = read_memory_events(group, buffer);
  ASSERT_TRUE(events && *events);
  EXPECT_EQ((*events)->oom_kill, 7);
  EXPECT_EQ((*events)->max, 3);
  tree.remove("memory/a");
  EXPECT_FALSE(read_memory_use(group, buffer).value());
  EXPECT_FALSE(read_memory_events(group, buffer).value());
}

TEST(Memory, WithoutTheControllerItIsMissing) {
  testing::Tree tree;
  testing::make_v2(tree, "cpu\n");
  testing::make_v2_group(tree, "", "a");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "a").value());
  Buffer buffer;
  EXPECT_EQ(read_memory_use(group, buffer).error().kind, ErrorKind::kUnsupported);
  EXPECT_EQ(read_memory_events(group, buffer).error().kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace tidemark::linux
