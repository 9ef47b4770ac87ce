// Whom the kernel ends first when the machine itself is out of memory: the oom_score_adj of processes (proc(5)).
//
//   badness  =  memory of the process  +  oom_score_adj / 1000 of the machine's          the largest one is ended
//
//   offline work                                           1000: before everybody else, the largest first
//   offline, and others depend on it (a YARN master)       between the line and 999; the line where it is outside
//   infrastructure that is not offline (a NodeManager)     the line where it is at 1000, as its tasks are; else as it
//   is everybody else                                         never touched
//
//   line  =  the largest value that the kubelet gives to an online container here, within 900 … 999
//
// The kubelet gives 1000 to pods without requests, -997 to Guaranteed and node-critical ones, and to a Burstable
// container 1000 − 1000 × request / memory of the machine, within 3 … 999. What holds no more than its request is then
// less bad than whatever stands at 1000, so a NodeManager with a request is in order as it is. One without comes under
// its tasks, and not under online pods where that can be helped: their place behind it must not be worse because of us.
//
// What YARN starts inherits the value of its NodeManager, be it -997.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "model/resources.h"
#include "model/task.h"

namespace tidemark::policy {

inline constexpr std::int64_t kOomMin = -1000, kOomMax = 1000;       // what a kernel takes
inline constexpr std::int64_t kOomLineMin = 900, kOomLineMax = 999;  // of infrastructure

enum class OomRank : std::uint8_t { kOffline, kOfflineInfrastructure, kInfrastructure };

// For the processes in the group itself, not below it.
struct OomWish {
  std::string group;
  OomRank rank = OomRank::kOffline;
  bool operator==(const OomWish&) const = default;
};

struct OomPlan {
  std::vector<OomWish> wishes;  // by group, each once
  std::int64_t line = kOomLineMin;
  bool operator==(const OomPlan&) const = default;
};

struct OomInput {
  std::span<const model::Task* const> tasks;
  model::MemoryBytes machine;  // its memory; 0: not known, and then an online pod with a request counts as the largest
};

// Total.
OomPlan oom_order(const OomInput& input);

// What a process is to have that has `found` now.
std::int64_t oom_score_adj(OomRank rank, std::int64_t found, std::int64_t line);

}  // namespace tidemark::policy
