#include "policy/state/order.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <utility>

#include "base/text.h"
#include "model/selector.h"

namespace tidemark::policy::state {
namespace {

constexpr std::array<std::string_view, 3> kWishes{"on", "observe", "off"};
constexpr std::string_view kClassWord = "class=";

base::WallTime later(base::WallTime at, base::Duration by) {
  return by >= kNever - at ? kNever : at + std::max(by, base::Duration(0));
}

Parts simplified(Parts parts) {
  if (parts.k8s && parts.yarn) return {};
  return parts;
}

// The shorter grace of those that evict.
base::Duration grace_of(const StateOrder& a, const StateOrder& b) {
  if (a.evict && b.evict) return std::min(a.grace, b.grace);
  return b.evict ? b.grace : a.grace;
}

// Two orders as one that is at least as strict as either, as long as the longer one.
StateOrder folded(const StateOrder& upper, const StateOrder& lower) {
  StateOrder strict = upper.wish >= lower.wish ? upper : lower;
  if (upper.wish != lower.wish && strict.wish == Wish::kOff && !strict.only.all()) {
    strict.rest = std::max(strict.rest, std::min(upper.wish, lower.wish));
  }
  if (upper.wish == Wish::kOff && lower.wish == Wish::kOff) {
    strict.only = united(upper.only, lower.only);
    strict.rest = strict.only.all() ? Wish::kOn : std::max(upper.rest, lower.rest);
    strict.drain_until = std::min(upper.drain_until, lower.drain_until);
    strict.drained = upper.drained && lower.drained;
    strict.evict = upper.evict || lower.evict;
    strict.grace = grace_of(upper, lower);
  }
  strict.until = lower.until;  // the lower one lasts longer
  return strict;
}

// Puts an order on top of the present ones. Orders that end no later than it are dropped.
StateMark on_top(StateOrder order, const StateMark& below, std::int64_t generation) {
  StateMark mark;
  mark.generation = generation;
  const auto until = order.until;
  mark.orders.push_back(std::move(order));
  if (!until) return mark;
  for (const auto& each : below.orders) {
    if (!each.until || *each.until > *until) mark.orders.push_back(each);
  }
  while (mark.orders.size() > kOrdersMax) {
    mark.orders[1] = folded(mark.orders[1], mark.orders[2]);
    mark.orders.erase(mark.orders.begin() + 2);
  }
  return mark;
}

StateOrder order_of(const StateCommand& command, base::WallTime now) {
  StateOrder order;
  order.wish = command.wish;
  order.by = command.by;
  order.why = command.why;
  order.since = now;
  if (command.wish == Wish::kOff) {
    order.only = command.only;
    order.drain_until = later(now, command.drain);
    order.evict = command.evict && command.only.all();
    if (order.evict) order.grace = std::clamp<base::Duration>(command.grace, std::chrono::seconds(1), kEvictGraceMax);
  }
  if (command.lasts) order.until = later(now, *command.lasts);
  return order;
}

bool same(const StateOrder& a, const StateOrder& b) {
  return a.wish == b.wish && a.only == b.only && a.rest == b.rest && a.by == b.by && a.why == b.why &&
         a.evict == b.evict && a.grace == b.grace && a.drain_until <= b.drain_until && !a.until && !b.until;
}

// `off`, on top of the present orders.
StateOrder added(const StateOrder* there, StateOrder off) {
  if (there == nullptr) return off;
  if (there->wish == Wish::kObserve) off.rest = Wish::kObserve;
  if (there->wish == Wish::kOff) {
    if (there->only.includes(off.only)) {
      off.drain_until = std::min(off.drain_until, there->drain_until);
      off.drained = there->drained;
      off.grace = grace_of(*there, off);
      off.evict = off.evict || there->evict;
    }
    off.only = united(there->only, off.only);
    off.rest = std::max(off.rest, there->rest);
  }
  if (off.only.all()) off.rest = Wish::kOn;
  return off;
}

StateOrder covering(const StateOrder& below, StateOrder off) {
  StateOrder both = added(&below, off);
  both.drain_until = off.drain_until;
  both.drained = off.drained && both.only == off.only;
  return both;
}

// Switches a part of the work off for good: every order that waits below has it off, too.
StateMark off_for_good(const StateOrder& off, const StateMark& held, std::int64_t generation) {
  StateMark mark;
  mark.generation = generation;
  for (const auto& order : held.orders) {
    mark.orders.push_back(added(&order, off));
    mark.orders.back().until = order.until;
  }
  if (mark.orders.empty() || mark.orders.back().until) mark.orders.push_back(off);
  if (mark.orders.size() > kOrdersMax) {
    mark.orders[1] = folded(mark.orders[1], mark.orders[2]);
    mark.orders.erase(mark.orders.begin() + 2);
  }
  return mark;
}

// The parts that stay off when a part is switched on, none means none; nullopt if that cannot be expressed.
std::optional<Parts> without(const Parts& off, const Parts& on) {
  if (off.all() && !on.classes.empty()) return std::nullopt;
  Parts left = off;
  if (off.all()) left.k8s = left.yarn = true;
  left.k8s = left.k8s && !on.k8s;
  left.yarn = left.yarn && !on.yarn;
  std::erase_if(left.classes, [&](const std::string& name) { return std::ranges::count(on.classes, name) > 0; });
  return left;
}

}  // namespace

std::string_view to_string(Wish wish) {
  return kWishes.at(static_cast<std::size_t>(wish));
}

bool Parts::includes(const Parts& other) const {
  if (all()) return true;
  if (other.all()) return false;
  return (k8s || !other.k8s) && (yarn || !other.yarn) && std::ranges::includes(classes, other.classes);
}

Result<Parts> parse_parts(std::span<const std::string> words) {
  Parts parts;
  for (const std::string& word : words) {
    if (word == "k8s") {
      parts.k8s = true;
    } else if (word == "yarn") {
      parts.yarn = true;
    } else if (word.starts_with(kClassWord) && word.size() > kClassWord.size()) {
      const std::string name = word.substr(kClassWord.size());
      if (auto good = model::check_label_value(name); !good) {
        return fail(ErrorKind::kInvalid, base::in_quotes(word), ": ", good.error().message);
      }
      parts.classes.push_back(name);
    } else {
      return fail(ErrorKind::kInvalid, base::in_quotes(word), " is not k8s, yarn or class=NAME");
    }
  }
  std::ranges::sort(parts.classes);
  parts.classes.erase(std::ranges::unique(parts.classes).begin(), parts.classes.end());
  if (parts.classes.size() > kClassesNamedMax) {
    return fail(ErrorKind::kInvalid, "more than ", kClassesNamedMax, " classes are named");
  }
  return simplified(std::move(parts));
}

std::vector<std::string> part_words(const Parts& parts) {
  std::vector<std::string> words;
  if (parts.k8s) words.emplace_back("k8s");
  if (parts.yarn) words.emplace_back("yarn");
  for (const auto& name : parts.classes) words.push_back(base::cat(kClassWord, name));
  return words;
}

Parts united(const Parts& a, const Parts& b) {
  if (a.all() || b.all()) return {};
  Parts both{a.k8s || b.k8s, a.yarn || b.yarn, {}};
  std::ranges::set_union(a.classes, b.classes, std::back_inserter(both.classes));
  // More than can be named are all: stricter, and bounded.
  if (both.classes.size() > kClassesNamedMax) return {};
  return simplified(std::move(both));
}

model::NodeState state_of(const StateOrder& order, base::WallTime now) {
  switch (order.wish) {
    case Wish::kOn:
      return model::NodeState::kOn;
    case Wish::kObserve:
      return model::NodeState::kObserve;
    case Wish::kOff:
      return order.drained || now >= order.drain_until ? model::NodeState::kOff : model::NodeState::kDraining;
  }
  return model::NodeState::kOff;
}

const StateOrder* in_force(const StateMark& mark, base::WallTime now) {
  for (const auto& order : mark.orders) {
    if (!order.until || now < *order.until) return &order;
  }
  return nullptr;
}

bool drop_ended(StateMark& mark, base::WallTime now) {
  const auto first =
      std::ranges::find_if(mark.orders, [&](const StateOrder& order) { return !order.until || now < *order.until; });
  const bool any = first != mark.orders.begin();
  mark.orders.erase(mark.orders.begin(), first);
  return any;
}

Commanded command(const std::optional<StateMark>& before, const StateCommand& command, std::int64_t generation,
                  base::WallTime now) {
  StateMark held = before.value_or(StateMark());
  drop_ended(held, now);
  const StateOrder* top = in_force(held, now);
  StateOrder order = order_of(command, now);
  const bool off_now = top != nullptr && top->wish == Wish::kOff;
  if (command.wish == Wish::kOff) {
    StateOrder off = added(top, order);
    // An order that would apply only after this one ended is invisible: it is dropped.
    for (std::size_t i = 1; off.until && i < held.orders.size() && *held.orders[i - 1].until < *off.until; ++i) {
      off = covering(held.orders[i], std::move(off));
    }
    if (top != nullptr && same(*top, off)) return {std::move(held), CommandEffect::kAlready};
    if (!command.lasts && !command.only.all()) return {off_for_good(order, held, generation), CommandEffect::kSet};
    return {on_top(off, held, generation), CommandEffect::kSet};
  }
  if (command.wish == Wish::kOn && !command.only.all()) {
    if (!off_now) return {before.value_or(StateMark()), CommandEffect::kNotOff};
    const auto left = without(top->only, command.only);
    if (!left) return {before.value_or(StateMark()), CommandEffect::kNoSuchPart};
    if (*left == top->only) return {before.value_or(StateMark()), CommandEffect::kNotOff};
    if (left->all()) {  // none is left
      order.wish = top->rest;
    } else {  // something stays off, and drains or is drained as it was
      order.wish = Wish::kOff;
      order.only = *left;
      order.rest = top->rest;
      order.drain_until = top->drain_until;
      order.drained = top->drained;
    }
  }
  if (top != nullptr && same(*top, order)) return {std::move(held), CommandEffect::kAlready};
  return {on_top(std::move(order), held, generation), CommandEffect::kSet};
}

}  // namespace tidemark::policy::state
