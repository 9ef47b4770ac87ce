// Splits the capacity of a node between Kubernetes and YARN.
//
//   offered   what was published to a side
//   sold      what its work has requested (bound and not ended; YARN: what its containers hold, without scheduler
//             reservations, because nothing runs there)
//   held      sold + in flight; if unknown, what was offered counts as held
//
// A side's numbers are in its own currency: with over-report 120 % it is offered 120 for every 100 that are real
// (over_report.h: by class and hour too).
//
//   real(side, x)  = x × 100 / over-report(side), rounded up          told(side, x) = x × over-report(side) / 100, down
//   guaranteed(side) = its smallest share of the origin while it wants more than it holds, else 0: an idle side's
//                      share is lent, and comes back when work waits for it                           (borrow-back)
//
// shared (as in Koordinator; idle capacity is offered to both, so the sum of what they sell may exceed the origin until
// each has seen what the other sold):
//   due = min(largest share × origin, origin − max(held of the other, guaranteed to the other))
//   offer = told(due)
//
// A withdrawn side (draining, off) is due nothing, wants nothing and is guaranteed nothing; what it holds and may still
// hand out counts, and idle capacity goes to the other side alone.
//
// strict (one process decides both; idle capacity is divided: to the side that wants it, else by the smallest shares):
//   due = held + its part of the idle capacity, within its shares
//   offer = told(min(due, origin − what the other may still hand out))
// where the other may still hand out the largest of what it held, its last offer, its new offer, and the offer it is
// known to act on. So a cut is immediate, what it frees is offered only when it is confirmed, and the sum of both
// offers never exceeds the origin, except after the origin itself has dropped.
//
// class-aware (in both modes): less timely work does not block work that waits on the other side (reclaim.h: what each
// side gets for its waiting work, and what it returns for that).
//   reclaim(side) = returns(side): returned by its least timely class first, published to the side as `keep` by class
//   shared   the side is offered no more than what stays, and what is not kept for the other:
//            offer ≤ max(held − returns, origin − (held − returns) of the other − gets of the other)
//   strict   due = held − returns + gets + its part of what is idle then
// In both the other side grows by the returned amount, which is kept for it while its work waits.
// What a withdrawn side holds stays until it is gone, and returns nothing.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/reason.h"
#include "model/resources.h"
#include "model/settings/ledger_config.h"
#include "policy/sell/ledger/over_report.h"

namespace tidemark::policy::sell {

enum class LedgerSide : std::uint8_t { kKubernetes, kYarn };

// Work of one timeliness class. A higher order is more timely.
struct ClassSold {
  std::int64_t order = 0;
  model::Resources amount;
  std::string work_class{};  // the name that the work carries; empty if none
  bool operator==(const ClassSold&) const = default;
};

struct SideBook {
  // nullopt: unknown now (its master is down). Then its offer counts as held.
  std::optional<std::vector<ClassSold>> sold;
  model::Resources in_flight;   // decided, not bound yet
  model::Resources told;        // its last written offer
  model::Resources confirmed;   // the offer that it may act on; differs from `told` for a moment after a change
  bool wants_more = false;      // it has work that waits for capacity
  bool withdrawn = false;       // it is draining or off: it is offered nothing, what it holds still counts
  std::int64_t best_order = 0;  // of the most timely class that waits on this side
  std::string waits_class{};    // its name; empty if it has none
  std::optional<model::Resources> waits_for{};  // the waiting amount; nullopt: unknown
  // What was subtracted before publishing, for classes of work that are off. The next offer starts from both, or it
  // would be subtracted again and again.
  model::Resources taken_off{};
  bool operator==(const SideBook&) const = default;
};

// One class in the currency of its side, if entries of over-report are in force.
template <class Amount>
struct ClassTerms {
  std::string work_class;
  bool waits = false;  // free capacity, in the currency of the waiting class; otherwise held
  Amount told;
  Amount real;
  std::int64_t percent = 100;
  std::int64_t entry = 0;  // its number in the settings; 0: the side's own percent
  bool operator==(const ClassTerms&) const = default;
};

template <class Amount>
struct SideTerms {
  Amount held;   // by this side, in real units
  Amount taken;  // what is subtracted for the other side, in real units
  model::Reason taken_by = model::Reason::kLedgerAll;
  Amount real;   // the offer, in real units
  Amount offer;  // the offer as published
  model::Reason reason = model::Reason::kLedgerAll;
  Amount reclaim;  // class-aware: real amount of less timely work on the other side that blocks
  std::vector<ClassTerms<Amount>> classes{};
  bool operator==(const SideTerms&) const = default;
};

// Work of a class that its side must return, in the currency of that side.
struct ClassReclaim {
  std::string work_class;  // the name that the work carries; empty: work without a class
  model::Resources amount;
  model::Resources keep;  // what the class may still hold: it is a target, so obeying twice gives the same as once
  model::Reason reason = model::Reason::kLedgerReclaim;
  bool operator==(const ClassReclaim&) const = default;
};

struct SidePlan {
  SideTerms<model::CpuMilli> cpu;
  SideTerms<model::MemoryBytes> memory;
  std::vector<ClassReclaim> reclaim{};  // of this side's own work, for the other: the least timely first
  model::Resources offer() const { return {cpu.offer, memory.offer}; }
  bool operator==(const SidePlan&) const = default;
};

struct LedgerPlan {
  SidePlan kubernetes;
  SidePlan yarn;
  bool operator==(const LedgerPlan&) const = default;
};

// Total. `origin` is what batch may really use on the node. No offer is negative. Entries of over-report count at any
// hour: the caller selects those in force (entries_at).
LedgerPlan split(model::Resources origin, const SideBook& kubernetes, const SideBook& yarn,
                 const model::LedgerConfig& config);

// Over-report stops while tasks of the pool are evicted too often, and resumes when they are not.
struct OverReportState {
  bool fallen_back = false;
  std::optional<std::int64_t> calm_s;  // how long the rate was below the lower bound
  bool operator==(const OverReportState&) const = default;
};
struct EvictionRate {
  std::int64_t evicted = 0;   // tasks of the pool in the window
  std::int64_t finished = 0;  // finished normally
};
struct OverReportStep {
  OverReportState state;
  model::OverReport effective;
};

inline constexpr std::int64_t kEvictionRateMaxPermille = 10;  // 1 %: above, over-report stops
inline constexpr std::int64_t kEvictionRateCalmPermille = 5;  // below this for that long, it resumes
inline constexpr std::int64_t kEvictionCalmNeeded_s = 3600;

// The published amount of a side in real units, and the other way round.
model::Resources real_of(const SideBook& book, const model::SideConfig& config, model::Resources told);
model::Resources told_of(const SideBook& book, const model::SideConfig& config, model::Resources real);

// The side without over-report.
model::SideConfig truthful(model::SideConfig side);

OverReportStep guard_over_report(const OverReportState& state, const model::OverReport& wanted,
                                 const EvictionRate& rate, std::int64_t elapsed_s);

}  // namespace tidemark::policy::sell
