// What a node looks like to eviction, from what was measured: now, and on average over the window of CPU features.
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
#include "policy/node_rules/node_rules.h"
#include "policy/suppress/suppress.h"

namespace tidemark::agent {

// So far back averages go: a longer window of the settings counts as this one.
inline constexpr base::Duration kMomentsKept = std::chrono::minutes(10);

// What offline work may use by the files in force; nullopt: not known.
struct BesteffortInForce {
  std::optional<std::int64_t> cpus;  // how many
  std::optional<std::int64_t> quota_us;
  std::optional<model::CpuMilli> left{};  // nothing holds it, and it runs last: what all others leave of the node
  std::string_view group{};               // whose they are; "": none is there. Whoever gives it keeps it
};
// Of the besteffort group, and of its containers where those are held to fewer processors than it has.
BesteffortInForce besteffort_in_force(const policy::SuppressObservation& seen, const policy::SuppressPlan& plan,
                                      std::optional<std::int64_t> container_cpus);

class EvictionObserver {
 public:
  struct Inputs {
    const NodeFacts* facts = nullptr;  // null: the Node is not known yet
    const Measured& measured;
    const TaskSnapshot& tasks;
    const policy::ThresholdRules& rules;
    BesteffortInForce besteffort{};
    const DiskSights* disks = nullptr;                 // null: nobody looks at them
    bool off = false;                                  // co-location: offline work has its least, by that order
    bool withdrawn = false;                            // by an order it offers nothing, whatever was sold
    std::optional<model::MemoryBytes> left_to_pods{};  // of their limit together; nullopt: they have none
    std::string_view pods{};                           // the group of all of them; "": there is none
  };
  // Once a pass. Both answers hold until the next one, or until the tasks or the Node are others.
  void observe(const Inputs& inputs, base::MonotonicTime now);

  const policy::NodeSeen& node() const { return node_; }
  std::span<const policy::TaskSeen> tasks() const { return tasks_; }

 private:
  struct Moment {
    base::MonotonicTime at;
    std::optional<model::CpuMilli> node;
    std::optional<policy::OfflineCpu> offline;
  };
  void take_tasks(const Inputs& inputs, base::MonotonicTime now);
  void take_offline(const Inputs& inputs);
  void take_offered(const NodeFacts& facts, bool withdrawn);
  void look_back(const Inputs& inputs, base::MonotonicTime now);

  policy::NodeSeen node_;
  std::vector<policy::TaskSeen> tasks_;
  std::vector<Moment> moments_;  // a ring, made when a CPU feature first wants it
  std::size_t next_ = 0;
};

}  // namespace tidemark::agent
