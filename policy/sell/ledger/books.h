// Builds the ledgers of the two sides from what is observed.
//
//   Kubernetes   sold is what the pods of the node request, by their class. Its scheduler reads offers from the node's
//                status, and may bind for a moment by the previous status: what the node carried up to kBindLag ago is
//                what Kubernetes may act on (`confirmed`).
//   YARN         its operator reports what it holds, and what its ResourceManager confirmed, in an annotation of the
//                node (model::YarnBook). Without it our offers are not used there: YARN is offered what Koordinator's
//                formula leaves, and what it holds is read from the node's third parties.
//   others       third parties beside YARN: what they hold is offered to neither side.
//
// Work waits (`wants_more`) when it has waited for kWaitsAfter, and no longer when none was seen for kContentAfter: one
// pod that is bound a second later changes no offer. Its timeliness follows the same times: the highest order such that
// work of that order or above has waited so long, and was seen so lately.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/annotations.h"
#include "model/settings/work_class.h"
#include "policy/sell/ledger/ledger.h"

namespace tidemark::policy::sell {

inline constexpr base::Duration kBindLag = std::chrono::seconds(10);
inline constexpr base::Duration kWaitsAfter = std::chrono::seconds(10);
inline constexpr base::Duration kContentAfter = std::chrono::minutes(2);

// The order of a class by its name. Work without a class, or of a class unknown to the settings, is the least timely.
std::int64_t class_order(std::span<const model::WorkClass> classes, std::string_view name);

// What third parties other than YARN hold of batch.
model::Resources held_by_others(std::span<const model::ThirdPartyAllocation> third_parties);

// Adds to what is sold of a class, by the name that the work carries.
void add_sold(std::vector<ClassSold>& sold, std::int64_t order, std::string_view work_class, model::Resources amount);

// What Kubernetes may act on, kept between passes. The default value is a new node: what it carried a moment ago is
// unknown (a previous manager may have cut it), so for kBindLag `could_carry` counts.
struct BindLag {
  model::Resources told;                       // at the last pass
  model::Resources most;                       // what it may act on
  std::optional<base::MonotonicTime> fell_at;  // when `told` last fell, while `most` is above it
  bool seen = false;
  bool operator==(const BindLag&) const = default;
};
struct BindLagStep {
  BindLag state;
  std::optional<base::Duration> again_after;
};
BindLagStep confirm(const BindLag& state, model::Resources on_node, model::Resources could_carry,
                    base::MonotonicTime now);

// Whether work waits on a side, and how timely it is, kept between passes.
struct Waiting {
  struct Level {  // work of this order or above
    std::int64_t order = 0;
    std::optional<base::MonotonicTime> since;  // waits without a break
    base::MonotonicTime seen;                  // waited the last time
    bool counts = false;
    std::string work_class{};  // of this order, as last seen
    bool operator==(const Level&) const = default;
  };
  std::vector<Level> levels;  // the lowest order first; at most one per class
  bool wants_more = false;
  std::int64_t best_order = 0;  // of the waiting work, while it wants more
  std::string best_class{};
  // The work of that order or above that waits now: nothing is reclaimed for work that no longer waits or is less
  // timely.
  model::Resources amount{};
  bool operator==(const Waiting&) const = default;
};
struct WaitingStep {
  Waiting state;
  std::optional<base::Duration> again_after;
};
// What waits now.
struct WaitingWork {
  struct Less {
    std::int64_t order = 0;
    model::Resources amount;
    bool operator==(const Less&) const = default;
  };
  std::int64_t order = 0;  // of the most timely work
  std::string work_class{};
  model::Resources amount{};  // of that order
  std::vector<Less> less{};   // less timely; at most one per class

  void add(std::int64_t its_order, std::string_view its_class, model::Resources its_amount);
  model::Resources from(std::int64_t least_order) const;  // of that order or above
};
WaitingStep wait(const Waiting& state, const std::optional<WaitingWork>& work, base::MonotonicTime now);

// How old YARN's ledger is, by the changes that this process saw: a dead operator would wait in it forever. A live one
// renews it while work waits (model::kYarnBookRenewedAnnotation). `mark` identifies a text.
struct BookSeen {
  std::uint64_t mark = 0;
  base::MonotonicTime at;
  bool operator==(const BookSeen&) const = default;
};
BookSeen see(const std::optional<BookSeen>& before, std::uint64_t mark, base::MonotonicTime now);
// Does not count the time in which no change could arrive, because then no ledger can be renewed.
BookSeen without_unheard(BookSeen seen, base::Duration unheard, base::MonotonicTime now);

// What was subtracted from a side's offer for classes of work that are off, kept between passes.
struct TakenOff {
  bool looked = false;
  model::Resources told;        // that the side carried at the last pass
  model::Resources in_told;     // and what was subtracted from that
  model::Resources decided;     // the next offer
  model::Resources in_decided;  // and what was subtracted from that
  bool operator==(const TakenOff&) const = default;
};
// What was subtracted from `told`. For a new side it is unknown: `now_off`, the present amount, so that a restart
// subtracts nothing twice.
model::Resources taken_off(const TakenOff& before, model::Resources told, model::Resources now_off);

// YARN's ledger; `offer` is the one on the node. Once the operator confirms it, YARN acts on no other. If the ledger
// does not say what YARN holds, a confirmed cut frees nothing, because work continues after it.
SideBook yarn_side(const model::YarnBook& book, const model::YarnOffer& offer,
                   std::span<const model::WorkClass> classes);
// `upTo` is what YARN may act on and hold until it confirms the offer. After that, and once it reports what it holds,
// it can have no more than the larger of the two: the offer then says so, under the same number, so that a later ledger
// without a held amount does not count what was given away meanwhile. nullopt: it says so already, or not all of it is
// known.
std::optional<model::YarnOffer> settled_offer(const model::YarnBook& book, const model::YarnOffer& offer);
// Goes onto the node with a new offer: up to what YARN acts on and holds, until it confirms this one. `before`: the
// largest generation on the node, of either side.
model::YarnOffer next_offer(const SideBook& yarn, model::Resources offer, std::int64_t before, base::WallTime now);
// As published for the tasks to obey.
std::vector<model::Reclaim> told(const std::vector<ClassReclaim>& reclaim);
// Whether a new list must be published: other classes, or a `keep` that changed by more than 1 %. The amount to give
// back changes as work obeys, and needs no publishing.
bool worth_telling(const std::vector<model::Reclaim>& told, const std::vector<model::Reclaim>& wanted);

}  // namespace tidemark::policy::sell
