// Cycles per instruction of online accounts, counted in windows of some seconds each minute: counters cost a descriptor
// for each CPU and event, and time at each switch between groups.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/sampler/accounts.h"
#include "agent/sampler/group_meter.h"
#include "linux/cpu_set.h"
#include "linux/perf.h"

namespace tidemark::agent {

struct CpiOptions {
  bool on = true;
  base::Duration window = std::chrono::seconds(10);
  // Accounts that do not fit are counted in the next window.
  std::size_t descriptors_max = 2048;
  std::array<linux::PerfEvent, 2> events{linux::PerfEvent::kCycles, linux::PerfEvent::kInstructions};
};

class CpiWindows {
 public:
  explicit CpiWindows(const CpiOptions& options) : options_(options) {}

  bool open() const { return until_.has_value(); }
  bool over(base::MonotonicTime now) const { return until_ && now >= *until_; }

  // After it, every online account is offered once; take() returns whether there was room for it.
  void begin(const Pass&);
  bool take(const Pass&, TaskHandle, const linux::Group&, const linux::CpuSet& cpus);
  // Calls `put(handle, use)` for each result.
  template <class Put>
  void finish(const Pass& pass, Put put) {
    for (const Counted& one : counted_) {
      if (const auto use = read(pass, one)) put(one.handle, *use);
    }
    close();
  }
  void close();

  // Why this machine has no counters: then no window opens any more.
  const std::optional<std::string>& missing() const { return missing_; }

 private:
  struct Counted {
    TaskHandle handle;
    linux::PerfCounters counters;
  };
  std::optional<CpiUse> read(const Pass&, const Counted&) const;

  CpiOptions options_;
  std::vector<Counted> counted_;
  std::optional<base::MonotonicTime> until_;
  std::size_t descriptors_ = 0;
  std::optional<std::string> missing_;
};

}  // namespace tidemark::agent
