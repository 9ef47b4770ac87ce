// Combines the passes of a period into one line of the node's record (model/node_record.h).
//
//   CPU and memory         the average of the passes, and the largest
//   pressure, kills        growth of the kernel's own counters: nothing between two passes is missed
//   waits in a run queue   wait time of the first threads of its processes, over the time they were watched
//   throttled by a quota   the share of its periods, of the task's own group or of its worst container
//
// The value of a counter when a group is first seen is history and does not count. A task is in the first line that
// ends while it exists and in the line of its end, even if it is quiet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/sampler/kernel_events.h"
#include "agent/sampler/measured.h"
#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "model/node_record.h"
#include "policy/protect/suppress/class_shares.h"
#include "policy/protect/suppress/observation.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

// A task that waits less than this and is not throttled is only in whole lines.
inline constexpr std::int64_t kQuietPressurePermille = 10;

struct StretchInputs {
  const Measured& measured;
  const std::shared_ptr<const TaskSnapshot>& tasks;  // given to the sampler
  const policy::state::AgentPermits& permits;
  const policy::protect::SuppressObservation& suppress;
  std::span<const policy::protect::ClassShare> classes;
};

// The values that the agent wants in the cgroups of a task, and what became of them.
using LimitsOf = std::function<std::vector<model::TaskLimit>(const model::Task&)>;

class Stretch {
 public:
  // `limits_of` is called for the lines that have limits; may be empty.
  explicit Stretch(std::string node, LimitsOf limits_of = {})
      : node_(std::move(node)), limits_of_(std::move(limits_of)) {}

  // Call after a pass of the sampler.
  void take(const StretchInputs& inputs);
  void take(const KernelEvent& event, const TaskSnapshot& tasks, base::WallTime at);
  // Returns the data since the last end.
  model::NodeRecord end(base::WallTime now, base::Duration over, bool whole);

 private:
  struct Mean {
    std::int64_t sum = 0, largest = 0, values = 0;
    void add(std::int64_t value);
    std::optional<std::int64_t> average() const;
    std::optional<std::int64_t> peak() const;
  };
  // A growing counter of the kernel, over time if it counts time.
  struct Growth {
    std::int64_t first = 0, last = 0;
    base::MonotonicTime first_at, last_at;
    bool seen = false;
    void add(std::int64_t total, base::MonotonicTime at);
    std::int64_t permille() const;  // of microseconds
    std::int64_t grown() const { return last - first; }
    void begin_anew();
  };
  struct Pressure {
    Growth cpu, memory, io;
    void add(const Pressures& read, base::MonotonicTime now);
    void begin_anew();
  };
  struct Account {
    std::uint32_t turn = 0;
    bool measured = false;
    bool told = false;  // it is in a line
    Mean cpu;
    std::int64_t memory = 0;
    std::int64_t periods = 0, throttled = 0, worst_container = 0;
    std::int64_t waited_ns = 0, worst_waited_ns = 0, watched_ns = 0;  // in a run queue
    std::int64_t cycles = 0, instructions = 0;
    Pressure pressure;
    Growth limit_hits, oom_kills;
    void begin_anew();
  };
  Account& account(TaskHandle handle);
  void take_account(const AccountMeasured& read, base::MonotonicTime now);
  void take_tasks(const StretchInputs& inputs);
  void take_classes(std::span<const policy::protect::ClassShare> classes);
  void take_leave(const TaskSnapshot& now);
  std::optional<model::TaskRecord> record_of(const ListedTask& listed, bool whole);

  std::string node_;
  LimitsOf limits_of_;
  std::string permit_;
  Mean cpu_, offline_cpu_, disk_, offline_disk_;
  std::optional<std::int64_t> limit_milli_;
  std::int64_t cpus_ = 0, memory_total_ = 0;
  std::optional<std::int64_t> memory_, offline_memory_;
  Pressure pressure_;
  bool tasks_pressure_ = false;
  std::shared_ptr<const TaskSnapshot> tasks_;
  std::vector<Account> accounts_;         // by slot
  std::vector<model::TaskRecord> ended_;  // since the last line
  std::vector<model::ClassRecord> classes_, spare_;
  std::vector<model::NodeEventRecord> events_;
};

}  // namespace tidemark::agent
