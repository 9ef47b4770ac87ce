// The least timely class of offline work is suppressed first (only if Tidemark's settings name classes). Of the CPU of
// all offline work, from the most timely class down:
//
//    wants(task)   = used × 5/4, everything if its quota throttled it; no more than its own limit, at least 100m
//    left(class)   = the total, less the shares of more timely classes
//    share(class)  = max(min(Σ wants, left), 100m a task)      the least timely one has all that is left
//    cut(class)    = left < Σ wants, until left ≥ Σ wants + 3 % of the node
//
// A task that was rejected because too much was sold takes no part: it neither wants nor is satisfied. Tasks of a class
// that is cut get quotas: its left, as evenly as their wants allow. The old value stays if left moved by less than 1 %
// of the node, or if a quota would move by up to 10 %. All others have no quota and get CPU by weight. Σ shares ≥ the
// total: usable CPU is not held back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/resources.h"
#include "policy/protect/intent.h"
#include "policy/protect/suppress/observation.h"
#include "policy/waterline/pools.h"

namespace tidemark::policy::protect {

inline constexpr model::CpuMilli kTaskShareMin{100};
inline constexpr std::int64_t kHeadroom_percent = 125;
inline constexpr std::int64_t kCutBand_percent = 3;     // of capacity: this much must be left before a cut ends
inline constexpr std::int64_t kLeftBand_percent = 1;    // of capacity
inline constexpr std::int64_t kQuotaBand_percent = 10;  // of a task's quota: it does not move by less

// ---- the parts, each a formula ----

struct ClassDemand {
  std::int64_t tasks = 0;
  model::CpuMilli wants;
};
struct ClassPart {
  model::CpuMilli left;
  model::CpuMilli share;
  bool operator==(const ClassPart&) const = default;
};
// The most timely class first. Amounts below nothing count as nothing.
std::vector<ClassPart> share_room(std::span<const ClassDemand> classes, model::CpuMilli room,
                                  std::vector<ClassPart> spare = {});

// No task gets more than it wants, and all that want more get the same. Σ = min(Σ wants, share), up to a thousandth
// each.
std::vector<model::CpuMilli> split_share(std::span<const model::CpuMilli> wants, model::CpuMilli share);

// The share of the requested CPU that a class gets, in thousandths. nullopt: it requested none, or wants no more than
// it uses: it was not throttled, and is below its limit (95 % of it count as at it).
struct ClassUse {
  model::CpuMilli used;
  model::CpuMilli asked;
  std::optional<model::CpuMilli> limit;
  bool throttled = false;
};
std::optional<std::int64_t> satisfaction_permille(const ClassUse& use);

// ---- all of it ----

struct CutClass {
  std::int64_t order = 0;
  model::CpuMilli left;  // that its quotas are made of
  bool operator==(const CutClass&) const = default;
};
struct TaskQuota {
  std::string group;  // the task's
  std::int64_t quota_us = 0;
  bool operator==(const TaskQuota&) const = default;
};
struct ShareState {
  std::vector<CutClass> cut;      // the most timely first
  std::vector<TaskQuota> quotas;  // by cgroup, each once; in 100 ms
  const TaskQuota* quota_of_group(std::string_view group) const;
  bool operator==(const ShareState&) const = default;
};

struct ClassShare {
  std::string name;  // work of no class, and of one that is not known, is in the least timely
  std::int64_t order = 0;
  std::int64_t tasks = 0;
  model::CpuMilli used;
  model::CpuMilli wants;
  model::CpuMilli share;
  bool cut = false;
  std::optional<std::int64_t> satisfaction_permille;
  bool operator==(const ClassShare&) const = default;
};

// Working memory of a pass.
struct ShareMemory {
  struct Sharer {
    const model::Task* task = nullptr;
    model::CpuMilli used;
    model::CpuMilli wants;
    bool throttled = false;
    std::int64_t order = 0;  // of its class
    std::size_t at = 0;      // its place among all tasks
  };
  std::vector<std::string_view> paths;
  std::vector<Sharer> sharers;  // the most timely first
  std::vector<ClassDemand> demands;
  std::vector<ClassPart> parts;
  std::vector<model::CpuMilli> wants, sorted, split;
};
struct SharesStep {
  ShareState state;
  std::vector<ClassShare> classes;  // those that have tasks here, the most timely first
  ShareMemory memory;               // for the next one
};

// `held`: the limit in force of all offline work. `spare`: an unused result, only to reuse its memory.
SharesStep class_shares(const ShareState& before, const SuppressObservation& seen,
                        std::span<const model::WorkClass> classes, model::CpuMilli held, SharesStep spare = {});

// The quotas as intents, of tasks that still exist. `above_us`: the quota of their common cgroup. A v1 kernel refuses a
// larger one than that, and one below a container's: those with a larger one get it too.
void share_intents(const ShareState& state, const SuppressObservation& seen, std::int64_t above_us, IntentsOver& out);

}  // namespace tidemark::policy::protect
