// How long the processes of an account were ready to run without a CPU.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <optional>
#include <vector>

#include "agent/sampler/group_meter.h"
#include "agent/sampler/measured.h"
#include "base/clock.h"
#include "linux/kernel_files.h"

namespace tidemark::agent {

// Reads a file for each process, which is expensive, so their number is bounded. Call begin(), add() for each group
// with processes, finish().
class RunQueueMeter {
 public:
  static constexpr std::size_t kProcessesMax = 32;  // of one account: 0.3 ms

  void begin();
  // A vanished group has no processes.
  void add(const Pass&, const linux::Folder& proc, const linux::Group&);
  void finish(const Pass&, Sample<RunQueueUse>&);

 private:
  struct Seen {
    pid_t pid = 0;
    std::int64_t ran_ns = 0, waited_ns = 0;
  };
  std::vector<Seen> before_, now_;  // by pid
  std::optional<base::MonotonicTime> read_at_;
  int left_out_ = 0;
};

}  // namespace tidemark::agent
