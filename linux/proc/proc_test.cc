#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "base/text.h"
#include "linux/proc/cpu_times.h"
#include "linux/proc/memory_info.h"
#include "linux/proc/process.h"
#include "linux/scan.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct ProcTest : ::testing::Test {
  testing::Tree tree;
  Buffer buffer;
  Folder proc = Folder::open(tree.root()).value();
};

constexpr std::string_view kStat =
    "cpu  10 20 30 40 50 60 70 80 5 6\ncpu0 1 2 3 4 5 6 7 8 0 0\ncpu2 9 18 27 36 45 54 63 72 0 0\nintr 5 0 0\nctxt 7\n";

TEST_F(ProcTest, ReadsOnlineCpus) {
  tree.write("stat", kStat);
  MachineCpuTimes out;
  ASSERT_TRUE(read_cpu_times(proc, buffer, out));
  EXPECT_EQ(out.all.busy(), 10 + 20 + 30 + 60 + 70) << "without idle, waiting for disks and what the hypervisor took";
  EXPECT_EQ(out.all.steal, 80);
  ASSERT_EQ(out.each.size(), 2u);
  EXPECT_EQ(out.each[1].cpu, 2);
  EXPECT_EQ(out.each[1].times.iowait, 45);
  EXPECT_GT(ticks_per_second(), 0);
}

TEST_F(ProcTest, ALongLineOfInterruptsDoesNotMatter) {
  tree.write("stat", std::string(kStat) + std::string(100'000, '0') + "\n");
  MachineCpuTimes out;
  ASSERT_TRUE(read_cpu_times(proc, buffer, out));
  EXPECT_EQ(out.each.size(), 2u);
}

TEST_F(ProcTest, RefusesInvalidTimes) {
  MachineCpuTimes out;
  for (const std::string_view text :
       {"", "intr 5\n", "cpu\n", "cpu 1 2 3\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu 1 2 3 4 5 6 7 x\n",
        "cpu 1 2 3 4 5 6 7 8\ncpux 1 2 3 4 5 6 7 8\n", "cpu 9223372036854775807 2 3 4 5 6 7 8\n"}) {
    EXPECT_FALSE(parse_cpu_times(text, out)) << text;
  }
  EXPECT_EQ(read_cpu_times(proc, buffer, out).error().kind, ErrorKind::kNotFound);
}

TEST_F(ProcTest, MemoryOfTheMachine) {
  tree.write("meminfo",
             "MemTotal:       1000 kB\nMemFree:   100 kB\nMemAvailable:   400 kB\nSReclaimable: 7 kB\nHugePages_Total: "
             "      2\n"
             "HugePages_Free: 0\nHugepagesize:       2048 kB\n");
  const auto memory = read_memory_info(proc, buffer);
  ASSERT_TRUE(memory) << memory.error().message;
  EXPECT_EQ(memory->total, 1000 * 1024);
  EXPECT_EQ(memory->used(), 600 * 1024);
  EXPECT_EQ(memory->reclaimable_slab, 7 * 1024);
  EXPECT_EQ(memory->hugepages_total, 2 * 2048 * 1024);
  EXPECT_FALSE(memory->cached);
}

// 20 GiB of 64 were read lately: available, and used as a kubelet counts.
TEST_F(ProcTest, MemoryAsAKubeletCountsIt) {
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  MemoryInfo memory;
  memory.total = 64 * kGib;
  memory.available = 20 * kGib;
  EXPECT_FALSE(memory.working_set(Version::kV1)) << "this kernel does not tell";
  memory.anonymous = 42 * kGib;
  memory.buffers = 0;
  memory.cached = 21 * kGib;
  memory.inactive_file = kGib;
  EXPECT_EQ(memory.working_set(Version::kV1), 62 * kGib);
  EXPECT_FALSE(memory.working_set(Version::kV2)) << "how much is free is not said";
  memory.free = kGib / 2;
  EXPECT_EQ(memory.working_set(Version::kV2), 64 * kGib - kGib / 2 - kGib) << "all that is not free";
  memory.inactive_file = 100 * kGib;
  EXPECT_EQ(memory.working_set(Version::kV1), 0);
}

// The kernel's own count of the root group of version 1, which a kubelet goes by.
TEST(MemoryOnMachine, TheSumOfPagesIsTheUsageOfTheRootGroup) {
  Buffer buffer;
  const auto usage = read_path("/sys/fs/cgroup/memory/memory.usage_in_bytes", buffer);
  const auto counted = usage && *usage ? base::parse_int(without_line_end(**usage)) : std::nullopt;
  if (!counted) GTEST_SKIP() << "memory of this machine is not of version 1, or lies elsewhere";
  const auto proc = Folder::open("/proc");
  ASSERT_TRUE(proc);
  const auto memory = read_memory_info(*proc, buffer);
  ASSERT_TRUE(memory) << memory.error().message;
  const auto working_set = memory->working_set(Version::kV1);
  ASSERT_TRUE(working_set);
  // Other work of the machine moves both between the two readings.
  EXPECT_NEAR(static_cast<double>(*working_set + *memory->inactive_file), static_cast<double>(*counted),
              static_cast<double>(memory->total) / 50);
}

TEST_F(ProcTest, MissingMemoryIsNotZero) {
  EXPECT_EQ(parse_memory_info("MemTotal: 1000 kB\n").error().kind, ErrorKind::kUnsupported);
  for (const std::string_view text :
       {"", "x\n", "MemTotal: 0 kB\nMemAvailable: 0 kB\n", "MemTotal: 1 MB\nMemAvailable: 1 kB\n",
        "MemTotal: 1 kB\nMemAvailable: 2 kB\n", "MemTotal: x kB\n", "MemAvailable: 2 kB\n"}) {
    const auto memory = parse_memory_info(text);
    ASSERT_FALSE(memory) << text;
    EXPECT_EQ(memory.error().kind, ErrorKind::kInvalid) << text;
  }
}

TEST_F(ProcTest, AProcess) {
  tree.write("12/schedstat", "100 2707822 3\n");
  tree.write("12/stat", "12 (a ) (b) S 1 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 8123 9 10\n");
  const auto queue = read_schedstat(proc, 12, buffer);
  ASSERT_TRUE(queue && *queue);
  EXPECT_EQ((*queue)->waited_ns, 2'707'822);
  EXPECT_EQ(read_start_ticks(proc, 12, buffer).value(), 8123);
}

TEST_F(ProcTest, ReadsOwnerOfProcess) {
  tree.write("12/status", "Name:\ta: b\nState:\tZ (zombie)\nTgid:\t12\nUid:\t1000\t0\t7\t8\nNSpid:\t12\t3\n");
  const auto owner = read_process_owner(proc, 12, buffer);
  ASSERT_TRUE(owner && *owner);
  EXPECT_EQ((*owner)->uid, 0) << "the effective one";
  EXPECT_TRUE((*owner)->ended && (*owner)->nested);
  const auto other = parse_process_owner("State:\tS (sleeping)\nUid:\t5\t6\t6\t6\nNSpid:\t12\n");
  ASSERT_TRUE(other) << other.error().message;
  EXPECT_EQ(other->uid, 6);
  EXPECT_FALSE(other->ended || other->nested);
  EXPECT_FALSE(read_process_owner(proc, 13, buffer).value()) << "it is gone";
  for (const std::string_view text : {"", "State:\tS\n", "Uid:\t5\n", "Uid:\tx\ty\n"})
    EXPECT_FALSE(parse_process_owner(text)) << text;
}

TEST_F(ProcTest, ReportsHandledSignals) {
  tree.write("12/status", "Name:\tbash\nSigIgn:\t0000000000000004\nSigCgt:\t0000000180004000\n");
  EXPECT_EQ(read_handles(proc, 12, SIGTERM, buffer).value(), true) << "caught";
  EXPECT_EQ(read_handles(proc, 12, SIGQUIT, buffer).value(), true) << "ignored";
  EXPECT_EQ(read_handles(proc, 12, SIGINT, buffer).value(), false);
  EXPECT_FALSE(read_handles(proc, 13, SIGTERM, buffer).value()) << "it is gone";
  for (const std::string_view text : {"", "SigCgt:\t4000\n", "SigIgn:\t0\nSigCgt:\tx\n", "SigIgn:\t\nSigCgt:\t0\n"})
    EXPECT_FALSE(parse_handles(text, SIGTERM)) << text;
}

TEST_F(ProcTest, ProcessesByTheirName) {
  tree.write("self/stat", "14 (koordlet) S 1\n");
  const std::pair<std::string_view, std::string_view> processes[] = {
      {"1", "systemd"},  {"12", "koordlet"},        {"13", "koordlet-x"},        {"14", "koordlet"},
      {"15", "koordle"}, {"16", "a-name-that-is-"}, {"99999999999", "koordlet"}, {"net", "koordlet"}};
  for (const auto& [pid, name] : processes) tree.write(base::cat(pid, "/comm"), base::cat(name, "\n"));
  tree.folder("17");  // it goes while it is looked at
  EXPECT_EQ(find_named(proc, "koordlet", buffer).value(), std::vector<pid_t>{12}) << "not the one that asks";
  EXPECT_EQ(find_named(proc, "a-name-that-is-cut", buffer).value(), std::vector<pid_t>{16});
}

TEST_F(ProcTest, MissingProcessIsNoError) {
  EXPECT_FALSE(read_schedstat(proc, 13, buffer).value());
  EXPECT_FALSE(read_start_ticks(proc, 2147483647, buffer).value());
}

TEST_F(ProcTest, RefusesInvalidProcessFiles) {
  for (const std::string_view text : {"", "\n", "1 2\n", "1 2 3 4\n", "x 2 3\n"})
    EXPECT_FALSE(parse_schedstat(text)) << text;
  for (const std::string_view text : {"", "12 a S 1", "12 (a) S 1\n"}) EXPECT_FALSE(parse_start_ticks(text)) << text;
}

}  // namespace
}  // namespace tidemark::linux
