// What the books of the two sides are made of, from what is seen of them.
//
//   Kubernetes   sold is what the pods of the node request, by their class. Its scheduler reads offers from the node's
//                status, and may bind for a moment by the status before: what the node carried up to kBindLag ago is
//                what Kubernetes is known to act on (`confirmed`).
//   YARN         its operator says what it holds, and what its ResourceManager confirmed, in an annotation of the node
//                (model::YarnBook). Where there is none, nobody takes our offers there: YARN is told what the peer's
//                formula leaves, and what it holds is read from the node's third parties.
//   others       third parties beside YARN: what they hold is neither side's to be offered.
//
// Work waits (`wants_more`) when it has waited for kWaitsAfter, and no longer when none was seen for kContentAfter: one
// pod that is bound a second later moves no node's offer. How timely it is goes by the same times: the highest order
// such that work of that order or above has waited so long, and was seen so lately.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/annotations.h"
#include "policy/ledger/ledger.h"
#include "policy/pools/pools.h"

namespace tidemark::policy {

inline constexpr base::Duration kBindLag = std::chrono::seconds(10);
inline constexpr base::Duration kWaitsAfter = std::chrono::seconds(10);
inline constexpr base::Duration kContentAfter = std::chrono::minutes(2);

// The order of a class by its name. Work of no class, or of one that the settings do not name, is the least timely.
std::int64_t class_order(std::span<const WorkClass> classes, std::string_view name);

// What third parties other than YARN hold of batch.
model::Resources held_by_others(std::span<const model::ThirdPartyAllocation> third_parties);

// Adds to what is sold of a class, by the name that the work itself gives.
void add_sold(std::vector<ClassSold>& sold, std::int64_t order, std::string_view work_class, model::Resources amount);

// What Kubernetes may act on, remembered from look to look. The default value is a node never seen: nobody knows what
// it carried until a moment ago (a manager that led before may have cut it), so for kBindLag that counts as
// `could_carry`.
struct BindLag {
  model::Resources told;                       // at the last look
  model::Resources most;                       // what it may act on
  std::optional<base::MonotonicTime> fell_at;  // when `told` fell last, while `most` is above it
  bool seen = false;
  bool operator==(const BindLag&) const = default;
};
struct BindLagStep {
  BindLag state;
  std::optional<base::Duration> again_after;
};
BindLagStep confirm(const BindLag& state, model::Resources on_node, model::Resources could_carry,
                    base::MonotonicTime now);

// Whether work waits on a side, and how timely it is, remembered from look to look.
struct Waiting {
  struct Level {  // work of this order or above
    std::int64_t order = 0;
    std::optional<base::MonotonicTime> since;  // waits without a break
    base::MonotonicTime seen;                  // waited the last time
    bool counts = false;
    std::string work_class{};  // of this order, as it was seen last
    bool operator==(const Level&) const = default;
  };
  std::vector<Level> levels;  // the lowest order first; no more than there are classes
  bool wants_more = false;
  std::int64_t best_order = 0;  // of what waits, as long as it wants more
  std::string best_class{};
  // Of what waits now of that order or above: nothing is given back for what does not any more, nor for what is not
  // more timely.
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
  std::int64_t order = 0;  // of the most timely
  std::string work_class{};
  model::Resources amount{};  // of that order
  std::vector<Less> less{};   // less timely; no more than there are classes

  void add(std::int64_t its_order, std::string_view its_class, model::Resources its_amount);
  model::Resources from(std::int64_t least_order) const;  // of that order or above
};
WaitingStep wait(const Waiting& state, const std::optional<WaitingWork>& work, base::MonotonicTime now);

// Since when YARN's book says what it says, by the changes that this process saw: an operator that died goes on waiting
// in it. One that lives renews it while work waits (model::kYarnBookRenewedAnnotation). `mark` tells one text from
// another.
struct BookSeen {
  std::uint64_t mark = 0;
  base::MonotonicTime at;
  bool operator==(const BookSeen&) const = default;
};
BookSeen see(const std::optional<BookSeen>& before, std::uint64_t mark, base::MonotonicTime now);
// As if the time had not passed in which no change could come: nobody renews a book then.
BookSeen without_unheard(BookSeen seen, base::Duration unheard, base::MonotonicTime now);

// What was taken off a side's offer for classes of work that are off, remembered from look to look.
struct TakenOff {
  bool looked = false;
  model::Resources told;        // that the side carried at the last look
  model::Resources in_told;     // and what had been taken off before that was told
  model::Resources decided;     // what it was to carry from then on
  model::Resources in_decided;  // the same of that
  bool operator==(const TakenOff&) const = default;
};
// What was taken off `told`. Of a side that was never looked at nobody knows: `now_off`, what would be now, so that a
// restart takes nothing off twice.
model::Resources taken_off(const TakenOff& before, model::Resources told, model::Resources now_off);

// YARN's book; `offer` is what stands on the node. Where the operator confirmed that one, YARN acts on no other. Where
// the book does not say what YARN holds, a confirmed cut frees nothing: work runs on after it.
SideBook yarn_side(const model::YarnBook& book, const model::YarnOffer& offer, std::span<const WorkClass> classes);
// `upTo` is what YARN may act on and hold until it confirms the offer. Once it did, and says what it holds, it can have
// no more than the larger of the two again: the offer says so from then on, under the number that it has, so that a
// book which later says nothing of what is held does not bring back what was given away meanwhile. nullopt: it says so
// already, or not all of it is known.
std::optional<model::YarnOffer> settled_offer(const model::YarnBook& book, const model::YarnOffer& offer);
// What goes onto the node with another offer: up to what YARN acts on, and holds, until it confirms this one. `before`:
// the largest generation that the node carries, on either side.
model::YarnOffer next_offer(const SideBook& yarn, model::Resources offer, std::int64_t before, base::WallTime now);
// As it is told to those who obey.
std::vector<model::Reclaim> told(const std::vector<ClassReclaim>& reclaim);
// Whether they must hear of another one: other classes, or what one may keep moved by more than 1 %. What is given back
// changes as they obey, and is no news.
bool worth_telling(const std::vector<model::Reclaim>& told, const std::vector<model::Reclaim>& wanted);

}  // namespace tidemark::policy
