// The offer of a node, from the formulas to the numbers on the node:
//
//    line       The water line of the pool, if it has one, sets the reclaim thresholds (policy/waterline/calendar).
//    formulas   They give the origin: what batch may use on this node (policy/sell/overcommit).
//    motion     With profile tidemark only: how far the origin may move by now.
//    ledger     If the pool configures one: the part of Kubernetes and the part of YARN (policy/sell/ledger).
//               If YARN has a book: the part of what third parties other than YARN leave of it.
//    arbitrate  Two schedulers sold more than the node has: only what is held.
//    stop       While the evictions of the pool spike: only what is sold (policy/evict/budget).
//    back off   The same for a while after an eviction from the node. Else the job would be placed straight back.
//    zones      They follow the offer of their node (policy/sell/offer/zones_follow).
//
// With `profile: koordinator`, no calendar and no ledger of its own, a pool's nodes get the formulas' numbers
// unchanged.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "model/line_plan.h"
#include "model/node.h"
#include "model/settings/pool.h"
#include "model/time_zone.h"
#include "policy/sell/arbitrate.h"
#include "policy/sell/ledger/books.h"
#include "policy/sell/ledger/ledger.h"
#include "policy/sell/motion.h"
#include "policy/sell/offer/pool_guard.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/strategy.h"

namespace tidemark::policy::sell {

// When offline work of a node was last evicted, by side; nullopt: never, or longer ago than any back-off.
struct LastEvicted {
  std::optional<base::MonotonicTime> kubernetes, yarn;
  std::optional<base::MonotonicTime> last() const { return std::max(kubernetes, yarn); }
  // The side of the last eviction; meaningless if there was none.
  LedgerSide last_side() const { return yarn > kubernetes ? LedgerSide::kYarn : LedgerSide::kKubernetes; }
  bool operator==(const LastEvicted&) const = default;
};

// The pool of the node at this moment.
struct PoolNow {
  const model::Pool& settings;
  std::optional<model::LinePlan> line;    // what may be sold now; nullopt: the pool has no calendar and no override
  const model::TimeZone* zone = nullptr;  // of the hours in the settings; null: UTC
  PoolGuard guard = {};                   // the limits from the pool's evictions
};

// The origin of the node up to now.
struct OriginBefore {
  std::optional<model::Resources> on_node;  // in the node's annotation
  std::optional<model::Resources> least;    // the lowest possible one of the node at this hour in recent days
  bool operator==(const OriginBefore&) const = default;
};

struct YarnSide {
  SideBook book;  // without `sold`, it is read from the node's third parties
  // True if an operator on YARN's side accepts our offers on this node. If not, YARN gets what Koordinator's formula
  // leaves to it: nothing over-reported, and no strict ledger, which needs both sides.
  bool obeys = false;
  std::uint64_t mark = 0;  // of the text of the book, with its operator's renewals
  bool operator==(const YarnSide&) const = default;
};

struct OfferInput {
  const model::NodeSnapshot& node;
  NodeStrategy strategy;
  PoolNow pool;
  OriginBefore origin;
  SideBook kubernetes;  // the amount of batch pods, and the offer to Kubernetes
  YarnSide yarn;
  LastEvicted evicted = {};  // offline work of the node
  base::WallTime now;
  base::MonotonicTime mono;
};

// The pool sells nothing new:
//
//    kubernetes' = min(kubernetes, what its pods hold)    origin' = min(origin, what its pods, YARN and others hold)
//
// If YARN's amount is unknown, its part does not grow. Mid does not grow. The same applies to a node that backs off; in
// a class-aware ledger only to the side that lost work, because the other side may get what is evicted there.
struct StopTerms {
  model::Resources sold;    // by Kubernetes' pods
  model::Resources yarn;    // held by YARN
  model::Resources wanted;  // the origin without the stop
  bool operator==(const StopTerms&) const = default;
};

// The memory of a node between two passes. The default value is a new node.
struct OfferState {
  MotionState motion;
  BindLag kubernetes;                   // in a strict ledger
  std::optional<Waiting> yarn{};        // from its operator's book; nullopt: not read yet
  std::optional<BookSeen> yarn_book{};  // in a class-aware ledger
  TakenOff kubernetes_off{};            // for callers that subtract classes that are off
  TakenOff yarn_off{};
  ArbitrateState arbitrate{};
  bool operator==(const OfferState&) const = default;
};

// The same node without the time in which no report could arrive (policy/sell/motion.h).
OfferState without_unheard(OfferState state, base::Duration unheard, const model::MotionConfig& config,
                           base::MonotonicTime now);

struct Offer {
  Offer() = default;
  explicit Offer(NodeStrategy node_strategy) : strategy(std::move(node_strategy)) {}

  OvercommitPlan plan;                  // `publish` and `origin` are the node's values after all steps below
  NodeStrategy strategy;                // with the thresholds that the water line sets
  std::optional<model::LinePlan> line;  // as in the input
  std::optional<MotionPlan> motion;
  std::optional<LedgerPlan> ledger;
  model::Resources others;                     // held by third parties other than YARN: subtracted before the ledger
  bool shared_for_want_of_yarn = false;        // the pool's ledger is strict, but YARN's side accepts no offers
  std::optional<model::Resources> yarn_offer;  // YARN's offer, if it accepts offers
  // The formulas' value with fresh reports, before motion slows it; with motion only.
  std::optional<model::Resources> could;
  bool truthful = false;  // the pool is configured to over-report, but its evictions prevent it
  std::optional<StopTerms> stopped;
  std::optional<ArbitratePlan> arbitrate;  // nullopt: disabled in the pool, or nothing is offered
  std::optional<StopTerms> rejected;       // the effect of that
  std::optional<StopTerms> backs_off;      // after an eviction; nullopt if the stop does the same
  // Time alone changes the result: run again after this.
  std::optional<base::Duration> again_after;
};

struct OfferStep {
  OfferState state;
  Offer offer;
};

// Total, and bounded like its parts: nothing is negative, and with profile tidemark the offer is at most the formulas'
// value with fresh reports.
OfferStep offer(const OfferState& state, OfferInput input);

// The rest of a node's back-off after evictions of each side's work; nullopt: none.
struct BackOffLeft {
  std::optional<base::Duration> kubernetes, yarn;
  bool any() const { return kubernetes || yarn; }
};
BackOffLeft back_off_left(const model::Pool& pool, const LastEvicted& evicted, base::MonotonicTime now);

// The real part of an offer to Kubernetes, given the current over-report of its side.
model::Resources kubernetes_real(const PoolNow& pool, const SideBook& book, model::Resources told, base::WallTime now);

}  // namespace tidemark::policy::sell
