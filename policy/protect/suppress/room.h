// How much CPU offline work may use (contract 7.3):
//
//    line     = capacity × cpuSuppressThresholdPercent / 100
//    system   = max(node − Σ pods − Σ host applications − Σ a copilot's tasks, 0, kubelet's reservation, annotation's)
//    room     = max(line − online pods − online host applications − system, least, 0)
//    least    = capacity × cpuSuppressMinPercent / 100, if that is set
//
//    online   a pod that is neither labelled BE nor counted as BestEffort by the kubelet; one with an unknown owner
//             a host application, unless it is BE and below the kubelet's BestEffort cgroup
//             a copilot's task outside that cgroup, because no limit here applies to it
//
// Integers, rounded down. Unmeasured use of a task is in the node's use, and so counts for the system.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/resources.h"
#include "model/task.h"
#include "policy/protect/node_rules.h"
#include "policy/protect/suppress/observation.h"

namespace tidemark::policy::protect {

struct SuppressRoom {
  model::CpuMilli capacity;
  std::int64_t line_percent = 0;
  model::CpuMilli line;
  model::CpuMilli online_pods;
  model::CpuMilli online_applications;  // including a copilot's tasks outside of the besteffort cgroup
  model::CpuMilli offline;              // the use of offline work
  model::CpuMilli measured_system;      // node − all of them, at least 0
  model::CpuMilli reserved;             // the larger reservation
  std::optional<model::CpuMilli> least;
  model::CpuMilli room;

  model::CpuMilli system_part() const { return std::max(measured_system, reserved); }
  bool operator==(const SuppressRoom&) const = default;
};

// nullopt: capacity, the node's use or the kubelet's reservation is not known.
std::optional<SuppressRoom> suppress_room(const SuppressObservation& seen, const ThresholdRules& rules);

// `task` may be null: unknown owner.
bool counts_as_online(const model::Task* task, std::string_view besteffort);

// Strictly below it: "a/b" of "a".
bool lies_below(std::string_view path, std::string_view group);

}  // namespace tidemark::policy::protect
