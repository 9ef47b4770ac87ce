// An order of a person: switch offline work on or off, or only observe it; author, reason, and duration.
//
// An order with an end is stacked on the one before it: after `off --for 2h` the earlier order applies again. One
// without an end replaces everything below it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "model/node_state.h"
#include "model/reason.h"

namespace tidemark::policy::state {

enum class Wish : std::uint8_t { kOn, kObserve, kOff };
std::string_view to_string(Wish);

// The part of the offline work that an order is about. Nothing named: all of it.
struct Parts {
  bool k8s = false;
  bool yarn = false;
  std::vector<std::string> classes;  // sorted; of tidemark.io/class

  bool all() const { return !k8s && !yarn && classes.empty(); }
  bool has_k8s() const { return k8s || all(); }
  bool has_yarn() const { return yarn || all(); }
  bool includes(const Parts& other) const;
  bool operator==(const Parts&) const = default;
};
inline constexpr std::size_t kClassesNamedMax = 16;
// "k8s", "yarn", "class=NAME". Both sides named are all of it.
Result<Parts> parse_parts(std::span<const std::string> words);
std::vector<std::string> part_words(const Parts& parts);
Parts united(const Parts& a, const Parts& b);

inline constexpr std::size_t kByBytesMax = 128;
inline constexpr std::size_t kWhyBytesMax = 512;

// A time in the infinite future: draining until nothing is sold, however long that takes.
inline constexpr base::WallTime kNever{std::chrono::hours(24) * 365 * 200};

inline constexpr base::Duration kEvictGraceDefault = std::chrono::seconds(30);
inline constexpr base::Duration kEvictGraceMax = std::chrono::hours(1);

struct StateOrder {
  Wish wish = Wish::kOn;
  Parts only;             // of kOff; all of it elsewhere
  Wish rest = Wish::kOn;  // of kOff, for the parts that it is not about: on or observed
  std::string by;
  std::string why;
  base::WallTime since;
  base::WallTime drain_until;                 // of kOff: draining before, off from then on
  bool evict = false;                         // of kOff, of all work: running offline work is evicted
  base::Duration grace = kEvictGraceDefault;  // of `evict`: longest time from the request to the kill
  bool drained = false;  // of kOff, on one node: draining is over, nothing was sold any more or time was up
  std::optional<base::WallTime> until;  // the order expires then
  bool operator==(const StateOrder&) const = default;
};

model::NodeState state_of(const StateOrder& order, base::WallTime now);  // of the parts it is about

inline constexpr std::size_t kOrdersMax = 4;

// The orders of one scope (a node, a pool, the cluster), the one in force first. All but the last have an end, and each
// ends before the one below it. A mark without orders means that the last one expired and there was none before.
struct StateMark {
  std::int64_t generation = 0;  // of its command; later commands have a larger one
  std::vector<StateOrder> orders;
  bool operator==(const StateMark&) const = default;
};

// The order in force at `now`; null if there is none.
const StateOrder* in_force(const StateMark& mark, base::WallTime now);

// Drops expired orders. Never restores one: a clock that is set back later does not find them.
bool drop_ended(StateMark& mark, base::WallTime now);

struct StateCommand {
  Wish wish = Wish::kOn;
  Parts only;
  std::string by;
  std::string why;
  base::Duration drain{0};  // of kOff: how long running work may continue
  bool evict = false;       // of kOff, of all work: running offline work is evicted
  base::Duration grace = kEvictGraceDefault;
  std::optional<base::Duration> lasts;
};

enum class CommandEffect : std::uint8_t {
  kSet,
  kAlready,     // the same person asked for the same for the same reason: nothing is changed
  kNotOff,      // `on` for a part of something that is not off
  kNoSuchPart,  // `on` for a class while everything is off: that cannot be expressed
  kSuperseded,  // a later order exists
};

struct Commanded {
  StateMark mark;
  CommandEffect effect = CommandEffect::kSet;
};

// Total. `off` for a part adds it to the parts that are off, now and in the orders below. `off` for something that is
// off keeps an earlier end of draining and drained parts. `on` for a part leaves the other part off. `generation` is
// above that of `before`.
Commanded command(const std::optional<StateMark>& before, const StateCommand& command, std::int64_t generation,
                  base::WallTime now);

}  // namespace tidemark::policy::state
