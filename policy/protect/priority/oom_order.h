// Which processes the kernel kills first when the machine itself is out of memory: the oom_score_adj of processes
// (proc(5)).
//
//    badness  =  memory of the process  +  oom_score_adj / 1000 of the machine's          the largest one is killed
//
//    offline work                                           1000: first, the largest process first
//    offline, and others depend on it (a YARN master)       between the line and 999; the line if it is outside
//    infrastructure that is not offline (a NodeManager)     the line if it is at 1000, as its tasks are; else unchanged
//    all other processes                                    never touched
//
//    line  =  the largest value that the kubelet gives to an online container here, within 900 … 999
//
// The kubelet gives 1000 to pods without requests, -997 to Guaranteed and node-critical ones, and to a Burstable
// container 1000 − 1000 × request / memory of the machine, within 3 … 999. A process within its request is then less
// bad than any process at 1000, so a NodeManager with a request is correct without a change. One without a request gets
// a lower value than its tasks, and not a lower one than online pods if possible: we must not worsen their place behind
// it.
//
// Processes that YARN starts inherit the value of the NodeManager, even -997.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/resources.h"
#include "model/task.h"

namespace tidemark::policy::protect {

inline constexpr std::int64_t kOomMin = -1000, kOomMax = 1000;       // the kernel's range
inline constexpr std::int64_t kOomLineMin = 900, kOomLineMax = 999;  // of infrastructure

enum class OomRank : std::uint8_t { kOffline, kOfflineInfrastructure, kInfrastructure };

// For the processes in the cgroup itself, not below it.
struct OomIntent {
  std::string group;
  OomRank rank = OomRank::kOffline;
  bool operator==(const OomIntent&) const = default;
};

struct OomPlan {
  std::vector<OomIntent> intents;  // by cgroup, each once
  std::int64_t line = kOomLineMin;
  bool operator==(const OomPlan&) const = default;
};

struct OomInput {
  std::span<const model::Task* const> tasks;
  model::MemoryBytes machine;  // its memory; 0: not known, and then an online pod with a request counts as the largest
};

// Total.
OomPlan oom_order(const OomInput& input);

// The desired value of a process that has `found` now.
std::int64_t oom_score_adj(OomRank rank, std::int64_t found, std::int64_t line);

}  // namespace tidemark::policy::protect
