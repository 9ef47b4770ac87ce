// The whole node: CPUs, memory, NUMA nodes and pressure.
#pragma once

#include <vector>

#include "agent/sampler/counter.h"
#include "agent/sampler/group_meter.h"
#include "agent/sampler/measured.h"
#include "base/result.h"
#include "linux/cpu_set.h"
#include "linux/kernel_files.h"
#include "linux/numa.h"
#include "linux/proc/cpu_times.h"

namespace tidemark::agent {

class MachineMeter {
 public:
  // `numa_nodes`: /sys/devices/system/node; nullptr where the machine has none. Both outlive the meter.
  MachineMeter(const linux::Folder& proc, const linux::Folder* numa_nodes, linux::Version memory_groups,
               base::Duration numa_memory_good_for)
      : proc_(proc),
        numa_nodes_(numa_nodes),
        memory_groups_(memory_groups),
        numa_memory_good_for_(numa_memory_good_for) {}

  // First call of a pass: it also counts the online CPUs.
  void read_cpu(Pass&, NodeMeasured&);
  void read_memory(const Pass&, NodeMeasured&);
  void read_numa_memory(const Pass&, NodeMeasured&);
  void read_pressure(const Pass&, NodeMeasured&);

  linux::CpuSet cpus_on() const;

 private:
  struct NumaCpu {
    int id = 0;
    Counter ticks_ns;
    std::int64_t sum_ns = 0;
    int cpus = 0;
  };
  void find_numa_nodes(const Pass&, NodeMeasured&);
  void read_numa_cpu(const Pass&, NodeMeasured&);
  void one_pressure(const Pass&, const char* resource, Sample<PressureUse>&) const;

  const linux::Folder& proc_;
  const linux::Folder* numa_nodes_;
  linux::Version memory_groups_;
  base::Duration numa_memory_good_for_;
  linux::MachineCpuTimes times_;
  Counter cpu_;
  std::size_t cpus_known_ = 0;        // online CPUs when the NUMA nodes were looked up
  std::vector<std::size_t> numa_of_;  // index in numa_ of each CPU's node
  std::vector<NumaCpu> numa_;
};

}  // namespace tidemark::agent
