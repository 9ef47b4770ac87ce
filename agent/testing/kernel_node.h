// A node as its kernel shows it, in folders: cgroups of each form, /proc and NUMA nodes, written by a test.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/sampler/sampler.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/testing/tree.h"

namespace tidemark::agent::testing {

using linux::Layout;

class KernelNode {
 public:
  static constexpr std::int64_t kTickNs = 10'000'000;

  explicit KernelNode(Layout layout) : layout_(layout) {
    if (layout == Layout::kV2) linux::testing::make_v2(cgroups);
    if (layout != Layout::kV2) linux::testing::make_v1(cgroups);
    if (layout == Layout::kHybrid) {
      cgroups.write("unified/cgroup.controllers", "\n");
      cgroups.write("unified/cgroup.procs", "");
    }
    cpu_ticks({0, 0});
    memory(1000 << 20, 1000 << 20, 1000 << 20);
    hierarchies.emplace(linux::Hierarchies::discover(cgroups.root(), "").value());
    proc_folder.emplace(linux::Folder::open(proc.root()).value());
    EXPECT_EQ(hierarchies->layout(), layout);
  }

  SamplerPlaces places() const { return {*hierarchies, *proc_folder, numa_folder ? &*numa_folder : nullptr, true}; }

  // The busy ticks of each processor; half of them are the system's.
  void cpu_ticks(const std::vector<std::int64_t>& each) {
    std::int64_t sum = 0;
    for (const std::int64_t one : each) sum += one;
    std::string text = base::cat("cpu  ", sum - sum / 2, " 0 ", sum / 2, " 1000 7 0 0 50 0 0\n");
    for (std::size_t at = 0; at < each.size(); ++at) {
      text += base::cat("cpu", at, " ", each[at] - each[at] / 2, " 0 ", each[at] / 2, " 500 3 0 0 25 0 0\n");
    }
    proc.write("stat", text + "intr 1\n");
  }
  void memory(std::int64_t total, std::int64_t available, std::int64_t free) {
    proc.write("meminfo", base::cat("MemTotal: ", total / 1024, " kB\nMemFree: ", free / 1024,
                                    " kB\nMemAvailable: ", available / 1024, " kB\n"));
  }
  void numa(std::initializer_list<std::pair<std::string, std::int64_t>> cpus_and_used) {
    int id = 0;
    for (const auto& [cpus, used] : cpus_and_used) {
      const std::string folder = base::cat("node", id, "/");
      numa_tree.write(folder + "cpulist", cpus + "\n");
      const auto line = [&](std::string_view name, std::int64_t kib) {
        return base::cat("Node ", id, " ", name, ": ", kib, " kB\n");
      };
      constexpr std::int64_t kTotal = 1 << 20;
      numa_tree.write(folder + "meminfo", line("MemTotal", kTotal) + line("MemFree", kTotal - used / 1024) +
                                              line("Active(file)", 0) + line("Inactive(file)", 0) +
                                              line("SReclaimable", 0));
      ++id;
    }
    numa_tree.write("online", id == 1 ? "0\n" : base::cat("0-", id - 1, "\n"));
    if (!numa_folder) numa_folder.emplace(linux::Folder::open(numa_tree.root()).value());
  }

  // With nothing used yet.
  void group(const std::string& path) {
    if (layout_ == Layout::kV2) linux::testing::make_v2_group(cgroups, "", path);
    if (layout_ != Layout::kV2) linux::testing::make_v1_group(cgroups, path);
    if (layout_ == Layout::kHybrid) linux::testing::make_v2_group(cgroups, "unified", path);
    cpu(path, 0);
    group_memory(path, {0, 0, 0, 0});
    usage(path, 0);
    oom_kills(path, 0);
    io(path, 0, 0);
    if (layout_ != Layout::kV1) pressure(path, 0);
  }
  void remove_group(const std::string& path) {
    if (layout_ == Layout::kV2) cgroups.remove(path);
    if (layout_ == Layout::kHybrid) cgroups.remove("unified/" + path);
    if (layout_ == Layout::kV2) return;
    for (const char* name : {"cpu", "cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}) {
      cgroups.remove(base::cat(name, "/", path));
    }
  }

  void cpu(const std::string& path, std::int64_t ns, std::int64_t periods = 0, std::int64_t throttled = 0) {
    if (layout_ == Layout::kV2) {
      cgroups.write(path + "/cpu.stat", base::cat("usage_usec ", ns / 1000, "\nuser_usec 0\nsystem_usec 0\nnr_periods ",
                                                  periods, "\nnr_throttled ", throttled, "\nthrottled_usec 0\n"));
      return;
    }
    cgroups.write(base::cat("cpuacct/", path, "/cpuacct.usage"), base::cat(ns, "\n"));
    cgroups.write(base::cat("cpu/", path, "/cpu.stat"),
                  base::cat("nr_periods ", periods, "\nnr_throttled ", throttled, "\nthrottled_time 0\n"));
  }
  struct Kinds {
    std::int64_t inactive_anon = 0, active_anon = 0, inactive_file = 0, active_file = 0;
  };
  void group_memory(const std::string& path, const Kinds& kinds) {
    const std::string_view total = layout_ == Layout::kV2 ? "" : "total_";
    std::string text = layout_ == Layout::kV2 ? "anon 0\nfile 0\n" : "total_rss 0\ntotal_cache 0\n";
    for (const auto& [name, value] :
         std::initializer_list<std::pair<const char*, std::int64_t>>{{"inactive_anon", kinds.inactive_anon},
                                                                     {"active_anon", kinds.active_anon},
                                                                     {"inactive_file", kinds.inactive_file},
                                                                     {"active_file", kinds.active_file},
                                                                     {"unevictable", 1}}) {
      text += base::cat(total, name, " ", value, "\n");
    }
    cgroups.write(file("memory", path, "memory.stat"), text);
  }
  void usage(const std::string& path, std::int64_t bytes) {
    cgroups.write(file("memory", path, layout_ == Layout::kV2 ? "memory.current" : "memory.usage_in_bytes"),
                  base::cat(bytes, "\n"));
  }
  void oom_kills(const std::string& path, std::int64_t kills) {
    if (layout_ == Layout::kV2) {
      cgroups.write(path + "/memory.events", base::cat("low 0\nhigh 5\nmax 3\noom 1\noom_kill ", kills, "\n"));
    } else {
      cgroups.write(base::cat("memory/", path, "/memory.oom_control"),
                    base::cat("oom_kill_disable 0\nunder_oom 0\noom_kill ", kills, "\n"));
      cgroups.write(base::cat("memory/", path, "/memory.failcnt"), "3\n");
    }
  }
  void io(const std::string& path, std::int64_t read_bytes, std::int64_t write_bytes) {
    if (layout_ == Layout::kV2) {
      cgroups.write(path + "/io.stat",
                    base::cat("8:0 rbytes=", read_bytes, " wbytes=", write_bytes, " rios=1 wios=2 dbytes=0 dios=0\n"));
      return;
    }
    cgroups.write(base::cat("blkio/", path, "/blkio.throttle.io_service_bytes_recursive"),
                  base::cat("8:0 Read ", read_bytes, "\n8:0 Write ", write_bytes, "\nTotal 0\n"));
    cgroups.write(base::cat("blkio/", path, "/blkio.throttle.io_serviced_recursive"),
                  "8:0 Read 1\n8:0 Write 2\nTotal 3\n");
  }
  // Of the last ten seconds, in hundredths of a percent.
  void pressure(const std::string& path, int centi) {
    const std::string text =
        base::cat("some avg10=", centi / 100, ".", centi % 100 / 10, centi % 10, " avg60=0.00 avg300=0.00 total=5\n");
    for (const char* name : {"cpu.pressure", "memory.pressure", "io.pressure"}) {
      cgroups.write(layout_ == Layout::kV2 ? base::cat(path, "/", name) : base::cat("unified/", path, "/", name), text);
    }
  }
  void processes(const std::string& path, std::string_view pids) {
    cgroups.write(file("cpu", path, "cgroup.procs"), pids);
  }
  void schedstat(int pid, std::int64_t ran_ns, std::int64_t waited_ns) {
    proc.write(base::cat(pid, "/schedstat"), base::cat(ran_ns, " ", waited_ns, " 1\n"));
  }
  std::string file(std::string_view controller, std::string_view path, std::string_view name) const {
    return layout_ == Layout::kV2 ? base::cat(path, "/", name) : base::cat(controller, "/", path, "/", name);
  }

  linux::testing::Tree cgroups, proc, numa_tree;
  std::optional<linux::Hierarchies> hierarchies;
  std::optional<linux::Folder> proc_folder, numa_folder;
  base::testing::Clock clock;

 private:
  Layout layout_;
};

}  // namespace tidemark::agent::testing
