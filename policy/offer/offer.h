// What a node offers, from the formulas to the numbers on the node:
//
//   line      the calendar of its pool sets the reclaim thresholds: what may be sold now            (policy/calendar)
//   formulas  give the origin: what batch may use on this node                                      (policy/overcommit)
//   motion    how far the origin may move by now                           profile tidemark only    (policy/motion)
//   ledger    Kubernetes' part of it, and YARN's                    where the pool says anything    (policy/ledger)
//             where YARN has a book: of what third parties other than YARN leave of it
//   arbitrate two schedulers sold more than there is: what is held and no more                   (policy/arbitrate)
//   stop      while the pool's evictions spike, what is sold and no more                            (policy/budget)
//   back off  for a while after an eviction from the node, the same: else the job is placed straight back
//   zones     of the node follow what it offers                                             (policy/offer/zones_follow)
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
#include "model/node.h"
#include "policy/arbitrate/arbitrate.h"
#include "policy/budget/budget.h"
#include "policy/calendar/calendar.h"
#include "policy/ledger/books.h"
#include "policy/ledger/ledger.h"
#include "policy/motion/motion.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/strategy.h"
#include "policy/pools/pools.h"

namespace tidemark::policy {

// When offline work of a node was evicted, last, by side; nullopt: never, or longer ago than anybody backs off.
struct LastEvicted {
  std::optional<base::MonotonicTime> kubernetes, yarn;
  std::optional<base::MonotonicTime> last() const { return std::max(kubernetes, yarn); }
  // Whose work that was; of no meaning where there was none.
  LedgerSide last_side() const { return yarn > kubernetes ? LedgerSide::kYarn : LedgerSide::kKubernetes; }
  bool operator==(const LastEvicted&) const = default;
};

struct OfferInput {
  const model::NodeSnapshot& node;
  NodeStrategy strategy;
  const Pool& pool;
  const Calendar* calendar = nullptr;  // the pool's
  LineOverrides overrides;             // that concern the pool

  std::optional<model::Resources> origin_on_node;  // what the node's annotation says was offered
  std::optional<model::Resources> least_ever;      // the least that the node could offer at this hour lately
  SideBook kubernetes;                             // what batch pods hold, and what the node was told
  // The same of YARN. Where it says nothing of `sold`, that is read from the node's third parties.
  SideBook yarn;

  base::WallTime now;
  base::MonotonicTime mono;
  // Somebody on YARN's side takes our offers on this node. Where nobody does, YARN is told what the peer's formula
  // leaves to it: nothing over-reported, and no strict ledger, which needs both sides to obey.
  bool yarn_obeys = false;
  PoolGuard guard = {};              // what the pool's evictions let it do
  LastEvicted evicted = {};          // offline work of the node
  std::uint64_t yarn_book_mark = 0;  // of the text of YARN's book, with its operator's sign of life
  LineMemo* lines = nullptr;         // of whoever decides many nodes
  std::string_view settings = {};    // the hash of those that the calendar is of, for `lines`
};

// The pool sells nothing new:
//
//   kubernetes' = min(kubernetes, what its pods hold)    origin' = min(origin, what its pods, YARN and others hold)
//
// Where nobody says what YARN holds, its part does not grow. Mid does not grow. The same of a node that backs off; in a
// class-aware ledger only of the side that lost work: what is evicted there may be what the other one is given.
struct StopTerms {
  model::Resources sold;    // by Kubernetes' pods
  model::Resources yarn;    // held by YARN
  model::Resources wanted;  // the origin without the stop
  bool operator==(const StopTerms&) const = default;
};

// What is remembered of a node between two looks. The default value is a node never seen.
struct OfferState {
  MotionState motion;
  BindLag kubernetes;                   // in a strict ledger
  std::optional<Waiting> yarn{};        // what waits there, by its operator's word; nullopt: not looked at yet
  std::optional<BookSeen> yarn_book{};  // in a class-aware ledger
  TakenOff kubernetes_off{};            // for whoever takes classes that are off from an offer
  TakenOff yarn_off{};
  ArbitrateState arbitrate{};
  bool operator==(const OfferState&) const = default;
};

// The same node as if the time had not passed in which no report of anybody could come (policy/motion/motion.h).
OfferState without_unheard(OfferState state, base::Duration unheard, const MotionConfig& config,
                           base::MonotonicTime now);

struct Offer {
  Offer() = default;
  explicit Offer(NodeStrategy node_strategy) : strategy(std::move(node_strategy)) {}

  OvercommitPlan plan;    // `publish` and `origin` are what the node is to carry, after all steps below
  NodeStrategy strategy;  // with the thresholds that the calendar set
  std::optional<LinePlan> line;
  std::optional<MotionPlan> motion;
  std::optional<LedgerPlan> ledger;
  model::Resources others;                     // held by third parties beside YARN: off before the ledger
  bool shared_for_want_of_yarn = false;        // the pool's ledger is strict, and nobody on YARN's side obeys
  std::optional<model::Resources> yarn_offer;  // what YARN may hand out, where somebody obeys
  // What the formulas give while the node's reports are fresh, before motion slows it; with motion only.
  std::optional<model::Resources> could;
  bool truthful = false;  // the pool would over-report, and does not for its evictions
  std::optional<StopTerms> stopped;
  std::optional<ArbitratePlan> arbitrate;  // nullopt: the pool wants none, or nothing is offered
  std::optional<StopTerms> rejected;       // what that changed
  std::optional<StopTerms> backs_off;      // after an eviction; nullopt where the stop does the same
  // Time alone changes the answer: look again after this.
  std::optional<base::Duration> again_after;
};

struct OfferStep {
  OfferState state;
  Offer offer;
};

// Total, and bounded like its parts: nothing is negative, and with profile tidemark no more is offered than the
// formulas give while the node's reports are fresh.
OfferStep offer(const OfferState& state, OfferInput input);

// For how much longer a node backs off because of what was evicted of each side's work; nullopt: not because of that.
struct BackOffLeft {
  std::optional<base::Duration> kubernetes, yarn;
  bool any() const { return kubernetes || yarn; }
};
BackOffLeft back_off_left(const Pool& pool, const LastEvicted& evicted, base::MonotonicTime now);

// What there is of so much that Kubernetes is told, by what its side over-reports now.
model::Resources kubernetes_real(const Pool& pool, const Calendar* calendar, const PoolGuard& guard,
                                 const SideBook& book, model::Resources told, base::WallTime now);

}  // namespace tidemark::policy
