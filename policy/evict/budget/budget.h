// Limits a pool and its jobs by their evictions.
//
// The breaker of a pool, by what ended in its window:
//
//             spike                       cool-down over, no half spike
//   closed ───────────▶ open ───────────────────────────────────────────▶ probation ──▶ closed
//                        ▲      or the user resumes it                          │    as long as the cool-down
//                        └──────────────── half a spike, cool-down doubled ───┘
//
//   spike       evicted ≥ atLeast      and  evicted > ratePercent % of ended
//   half spike  evicted ≥ ⌈atLeast/2⌉  and  evicted > half of that rate;  on probation, of what ended since it began
//
// While it is open the pool sells nothing new; what is sold stays (policy/sell/offer).
//
// A job gains protection: the more often it was evicted within a day, the fewer evictions it may have within an hour.
//
//   allowed = max(1, perJobHour − (evictions of its last day before this hour) / kJobAgeing)
//   left    = allowed − evictions of this hour
//
// Hours slide, so an unused allowance does not add up. An agent without a grant uses the limit of its settings
// (node_evictions_of() of policy/waterline), and on a machine without a cluster kEvictionsPerHourAlone.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "model/settings/budget_settings.h"
#include "policy/evict/budget/book.h"
#include "policy/sell/ledger/ledger.h"
#include "policy/sell/offer/pool_guard.h"

namespace tidemark::policy::evict {

// Tasks that a machine without a cluster may evict in an hour: there is no cluster to empty, and if the agent may not
// evict, the kernel's OOM killer chooses in its own order.
inline constexpr std::int64_t kEvictionsPerHourAlone = 60;
inline constexpr std::int64_t kJobAgeing = 8;                            // evictions of a day that cost one of an hour
inline constexpr std::int64_t kCoolDownGrowthMax = 8;                    // a cool-down grows at most by this factor
inline constexpr base::Duration kBudgetStep = std::chrono::seconds(5);   // between two passes
inline constexpr base::Duration kCalmStepMax = std::chrono::minutes(5);  // what one pass may count as calm
inline constexpr std::size_t kJobsTold = 100;  // exhausted jobs of a pool that are listed; the most evicted first

enum class BreakerPhase : std::uint8_t { kClosed, kOpen, kProbation };

struct Breaker {
  BreakerPhase phase = BreakerPhase::kClosed;
  base::WallTime since;         // of the phase
  base::Duration cool_down{0};  // of this opening
  Ended seen;                   // that opened it
  bool operator==(const Breaker&) const = default;
};

struct PoolBudget {
  std::string pool;
  Breaker breaker;
  sell::OverReportState over_report;
  bool exhausted = false;  // no task of the pool is to be evicted for now
  std::optional<std::int64_t>
      node_per_hour;              // without a grant, for YARN's operator; nullopt: an older manager wrote it
  std::vector<std::string> jobs;  // that are not to be evicted for now, by name
  bool operator==(const PoolBudget&) const = default;
};

struct BudgetState {
  std::vector<PoolBudget> pools;  // by name
  base::WallTime looked;
  std::string request;             // the last one that was handled
  std::vector<std::string> taken;  // handled requests that still exist; by name

  const PoolBudget* pool(std::string_view name) const;
  bool operator==(const BudgetState&) const = default;
};

struct BudgetPool {
  std::string name;
  model::BudgetSettings settings;
  bool over_reports = false;  // more than 100 % on some side
};

// The request of a person that an open pool sells again.
struct ResumeRequest {
  std::string id;
  std::string pool;
  std::string why;
  base::WallTime at;
  bool operator==(const ResumeRequest&) const = default;
};

struct BudgetObservation {
  std::span<const BudgetPool> pools;
  const EvictionBook& book;
  std::vector<ResumeRequest> requests = {};  // all existing ones, each handled once
};

struct BudgetChange {
  model::Reason reason = model::Reason::kBudgetSpike;
  std::string pool;
  std::string job;  // of kBudgetJobExhausted
  Ended seen;       // in the window, the hour or the day that mattered
  bool operator==(const BudgetChange&) const = default;
};

struct BudgetStep {
  BudgetState state;
  std::vector<BudgetChange> changes;
};

// Total and deterministic; the order of pools does not matter. Forgets a pool that is no longer in the settings.
BudgetStep step(const BudgetState& state, const BudgetObservation& seen, base::WallTime now);

struct JobAllowance {
  std::int64_t allowed = 0;  // this hour
  std::int64_t left = 0;
};
JobAllowance allowance(const JobEvictions& job, std::int64_t per_hour);

sell::PoolGuard guard_of(const BudgetState& state, std::string_view pool);

std::string_view to_string(BreakerPhase phase);

}  // namespace tidemark::policy::evict
