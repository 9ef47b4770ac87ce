// One group, held open and read repeatedly. Its counters belong to the opened group: a later group with the same name
// is opened separately, and no rate spans the two.
#pragma once

#include <sys/types.h>

#include <bitset>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "agent/sampler/counter.h"
#include "agent/sampler/measured.h"
#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/cpu.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/io.h"
#include "linux/cgroup/memory.h"
#include "linux/psi.h"

namespace tidemark::agent {

// Shared by the readings of one pass.
struct Pass {
  const base::Clock& clock;
  linux::Buffer& buffer;
  std::vector<linux::DeviceIo>& devices;
  std::vector<pid_t>& processes;
  PassReport& report;
  std::int64_t tick = 0;  // counts the periods of the sampler, skipped ones too
  int cpus = 1;

  void note(const Error&) const;
};

void put_pressure(const linux::Pressure&, base::MonotonicTime at, Sample<PressureUse>&);

// Each reading returns false if the group is gone. Other failures are in the sample.
class GroupMeter {
 public:
  // `keep`: the files that are read every second. nullopt: the group does not exist.
  static Result<std::optional<GroupMeter>> open(const linux::Hierarchies&, std::string_view path,
                                                std::initializer_list<linux::File> keep);

  const linux::Group& group() const { return group_; }

  bool read_cpu(const Pass&, Sample<std::int64_t>& micro);
  bool read_throttling(const Pass&, Sample<Throttling>&);
  // Both; on v2 they are in one file, which is read once.
  bool read_cpu_and_throttling(const Pass&, GroupUse&);
  bool read_memory(const Pass&, Sample<MemoryUse>&);
  bool read_working_set(const Pass&, Sample<std::int64_t>& bytes);  // with the memory.stat that was read last
  bool read_pressure(const Pass&, Pressures&);
  bool read_io(const Pass&, Sample<IoUse>&);

  // Adds the events since the last reading; the first reading adds all since the group was created. v1 counts the group
  // itself, v2 also the groups below it.
  bool read_memory_events(const Pass&, Sample<MemoryEventTotals>&);

 private:
  explicit GroupMeter(linux::Group group) : group_(std::move(group)) {}

  bool misses(linux::File, const Pass&);
  template <class T, class Read, class Take>
  bool take(const Pass&, linux::File, Sample<T>&, Read, Take);
  template <class T>
  void failed(const Pass&, linux::File, const Error&, Sample<T>&);
  bool one_pressure(const Pass&, linux::File, Sample<PressureUse>&);
  void put_cpu(const Pass&, std::int64_t ns, Sample<std::int64_t>&);
  void put_throttling(const Pass&, const linux::CpuThrottling&, Sample<Throttling>&);

  linux::Group group_;
  std::vector<linux::File> keep_;
  std::bitset<linux::kFiles> missing_;
  std::int64_t look_again_ = 0, patience_ = 1;  // ticks

  Counter cpu_, read_bytes_, write_bytes_, reads_, writes_;
  Counter periods_, throttled_periods_, throttled_ns_;
  std::optional<std::int64_t> inactive_file_;
  linux::MemoryEvents events_;
};

}  // namespace tidemark::agent
