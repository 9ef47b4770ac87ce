// An agent reads every second for months: a pass over a group that it has read before allocates nothing.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/testing/allocations.h"
#include "linux/cgroup/cpu.h"
#include "linux/cgroup/io.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/memory.h"
#include "linux/cgroup/processes.h"
#include "linux/numa.h"
#include "linux/proc/cpu_times.h"
#include "linux/proc/memory_info.h"
#include "linux/proc/process.h"
#include "linux/psi.h"
#include "linux/testing/tree.h"

namespace tidemark::linux {
namespace {

struct Steady : ::testing::Test {
  testing::Tree tree;
  Buffer buffer;
  std::vector<DeviceIo> devices;
  std::vector<pid_t> processes;
  MachineCpuTimes times;

  // How many allocations the second of two passes makes.
  template <class Pass>
  long of(Pass pass) {
    pass();
    return base::testing::allocated_by(pass);
  }
};

TEST_F(Steady, TheCounterCounts) {
  EXPECT_GT(of([] { std::string(100, 'x').swap(*std::make_unique<std::string>()); }), 0);
}

void make_group_v2(testing::Tree& tree) {
  testing::make_v2(tree);
  testing::make_v2_group(tree, "", "a");
  tree.write("a/cgroup.procs", "1\n2\n3\n");
  tree.write("a/cpu.stat",
             "usage_usec 1500\nuser_usec 1000\nsystem_usec 500\nnr_periods 10\nnr_throttled 3\nthrottled_usec 700\n");
  tree.write("a/cpu.max", "max 100000\n");
  tree.write("a/cpuset.cpus.effective", "0-3,8\n");
  tree.write("a/memory.current", "10000\n");
  tree.write("a/memory.stat",
             "anon 4096\nfile 8192\ninactive_anon 1\nactive_anon 2\ninactive_file 6000\nunevictable 5\n");
  tree.write("a/memory.events", "low 1\nhigh 2\nmax 3\noom 4\noom_kill 5\n");
  tree.write(
      "a/io.stat",
      "254:0 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=0 dios=0\n8:0 rbytes=5 wbytes=6 rios=1 wios=2 dbytes=0 dios=0\n");
  tree.write("a/pids.current", "12\n");
  tree.write("a/pids.max", "max\n");
  tree.write("a/pids.events", "max 4\n");
  tree.write("a/cpu.pressure", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
}

void make_group_v1(testing::Tree& tree) {
  testing::make_v1(tree);
  testing::make_v1_group(tree, "a");
  tree.write("cpu/a/cgroup.procs", "1\n2\n3\n");
  tree.write("cpuacct/a/cpuacct.usage", "42\n");
  tree.write("cpu/a/cpu.stat", "nr_periods 10\nnr_throttled 3\nthrottled_time 700000\n");
  tree.write("cpu/a/cpu.cfs_quota_us", "-1\n");
  tree.write("cpuset/a/cpuset.effective_cpus", "0-3\n");
  tree.write("memory/a/memory.usage_in_bytes", "10000\n");
  tree.write("memory/a/memory.stat", "total_cache 8192\ntotal_rss 4096\ntotal_inactive_file 6000\n");
  tree.write("memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  tree.write("memory/a/memory.failcnt", "3\n");
  tree.write("blkio/a/blkio.throttle.io_service_bytes_recursive", "254:0 Read 5\n254:0 Write 6\nTotal 11\n");
  tree.write("blkio/a/blkio.throttle.io_serviced_recursive", "254:0 Read 1\n254:0 Write 2\nTotal 3\n");
  tree.write("pids/a/pids.current", "12\n");
  tree.write("pids/a/pids.max", "max\n");
}

TEST_F(Steady, APassOverAGroup) {
  for (const auto make : {make_group_v1, make_group_v2}) {
    testing::Tree here;
    make(here);
    const auto hierarchies = Hierarchies::discover(here.root(), "").value();
    auto group = std::move(*Group::open(hierarchies, "a").value());
    for (const File file : {File::kCpuUsage, File::kCpuThrottling, File::kMemoryUsage}) ASSERT_TRUE(group.keep(file));
    int read = 0;
    EXPECT_EQ(of([&] {
                read += read_cpu_usage_ns(group, buffer)->has_value();
                read += read_cpu_throttling(group, buffer)->has_value();
                read += read_value(group, File::kCpuQuota, buffer)->has_value();
                read += read_cpuset(group, File::kCpusetCpusEffective, buffer)->has_value();
                read += read_memory_use(group, buffer)->has_value();
                read += read_memory_events(group, buffer)->has_value();
                read += *read_io(group, buffer, devices);
                read += *read_processes(group, File::kProcesses, buffer, processes);
                if (group.has(File::kCpuPressure))
                  (void)parse_pressure(group.read(File::kCpuPressure, buffer).value().value()).value();
              }),
              0);
    EXPECT_EQ(read, 2 * 8) << "everything was there to be read";
  }
}

TEST_F(Steady, RetryForMissingHierarchyAllocatesNothing) {
  testing::make_v1(tree);
  testing::make_v2_group(tree, "cpu", "a");
  const auto hierarchies = Hierarchies::discover(tree.root(), "").value();
  const auto group = std::move(*Group::open(hierarchies, "a").value());
  EXPECT_EQ(of([&] { EXPECT_FALSE(group.has(File::kMemoryUsage)); }), 0);
}

TEST_F(Steady, APassOverTheMachine) {
  const Folder proc = Folder::open("/proc").value();
  const pid_t self = ::getpid();
  EXPECT_EQ(of([&] {
              (void)read_cpu_times(proc, buffer, times).value();
              (void)read_memory_info(proc, buffer).value();
              (void)read_schedstat(proc, self, buffer).value();
            }),
            0);
  tree.write("pressure/memory", "some avg10=1.00 avg60=0.00 avg300=0.00 total=5\n");
  tree.write("node0/meminfo",
             "Node 0 MemTotal: 1000 kB\nNode 0 MemFree: 100 kB\nNode 0 Active(file): 50 kB\nNode 0 Inactive(file): 40 "
             "kB\nNode 0 SReclaimable: 10 kB\n");
  const Folder folder = Folder::open(tree.root()).value();
  EXPECT_EQ(of([&] {
              (void)read_pressure(folder, "pressure/memory", buffer).value();
              (void)read_numa_memory(folder, 0, buffer).value();
            }),
            0);
}

}  // namespace
}  // namespace tidemark::linux
