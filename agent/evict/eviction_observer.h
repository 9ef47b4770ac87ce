// The node as eviction sees it, from measurements: now, and as an average over the window of CPU features.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "agent/evict/disk_watch.h"
#include "agent/protect/node_facts.h"
#include "agent/sampler/measured.h"
#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "policy/evict/gap.h"
#include "policy/evict/task_seen.h"
#include "policy/protect/node_rules.h"
#include "policy/protect/suppress/suppress.h"

namespace tidemark::agent {

// The longest average: a longer window in the settings counts as this one.
inline constexpr base::Duration kMomentsKept = std::chrono::minutes(10);

// The CPU limit of offline work by the files in force; nullopt: unknown.
struct BesteffortInForce {
  std::optional<std::int64_t> cpus;  // their count
  std::optional<std::int64_t> quota_us;
  std::optional<model::CpuMilli> left{};  // if nothing limits it and it runs last: what all others leave of the node
  std::string_view group{};               // the limited group; "": none. The caller owns the text
};
// Of the besteffort group, and of its containers if they have fewer CPUs than the group.
BesteffortInForce besteffort_in_force(const policy::protect::SuppressObservation& seen,
                                      const policy::protect::SuppressPlan& plan,
                                      std::optional<std::int64_t> container_cpus);

class EvictionObserver {
 public:
  struct Inputs {
    const NodeFacts* facts = nullptr;  // null: the Node is not known yet
    const Measured& measured;
    const TaskSnapshot& tasks;
    const policy::protect::ThresholdRules& rules;
    BesteffortInForce besteffort{};
    const DiskSights* disks = nullptr;                 // null: disks are not watched
    bool off = false;                                  // co-location is off: an order limits offline work to its least
    bool withdrawn = false;                            // an order sets the offer to 0, whatever was sold
    std::optional<model::MemoryBytes> left_to_pods{};  // left of their common limit; nullopt: no limit
    std::string_view pods{};                           // the group of all pods; "": there is none
  };
  // Call once per pass. Results are valid until the next call, or until the tasks or the Node change.
  void observe(const Inputs& inputs, base::MonotonicTime now);

  const policy::evict::NodeSeen& node() const { return node_; }
  std::span<const policy::evict::TaskSeen> tasks() const { return tasks_; }

 private:
  struct Moment {
    base::MonotonicTime at;
    std::optional<model::CpuMilli> node;
    std::optional<policy::evict::OfflineCpu> offline;
  };
  void take_tasks(const Inputs& inputs, base::MonotonicTime now);
  void take_offline(const Inputs& inputs);
  void take_offered(const NodeFacts& facts, bool withdrawn);
  void look_back(const Inputs& inputs, base::MonotonicTime now);

  policy::evict::NodeSeen node_;
  std::vector<policy::evict::TaskSeen> tasks_;
  std::vector<Moment> moments_;  // a ring, allocated when a CPU feature first needs it
  std::size_t next_ = 0;
};

}  // namespace tidemark::agent
