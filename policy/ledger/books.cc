#include "policy/ledger/books.h"

#include <algorithm>

#include "policy/state/order.h"

namespace tidemark::policy {

using base::Duration;
using model::Resources;

std::int64_t class_order(std::span<const WorkClass> classes, std::string_view name) {
  const auto found = std::ranges::find(classes, name, &WorkClass::name);
  if (found != classes.end()) return found->order;
  return classes.empty() ? 0 : std::ranges::min_element(classes, {}, &WorkClass::order)->order;
}

void add_sold(std::vector<ClassSold>& sold, std::int64_t order, Resources amount) {
  const auto at = std::ranges::lower_bound(sold, order, {}, &ClassSold::order);
  if (at != sold.end() && at->order == order) {
    at->amount += amount;
  } else {
    sold.insert(at, {order, amount});
  }
}

BindLagStep confirm(const BindLag& before, Resources on_node, Resources could_carry, base::MonotonicTime now) {
  const Resources told = model::max(on_node, Resources{});
  BindLagStep step{before, std::nullopt};
  BindLag& state = step.state;
  if (!state.seen) {
    const Resources most = model::max(told, could_carry);
    state = {most, most, std::nullopt, true};
  }
  const bool fell = told.cpu < state.told.cpu || told.memory < state.told.memory;
  if (fell) state.fell_at = now;
  state.told = told;
  state.most = model::max(state.most, told);
  if (state.fell_at && now - *state.fell_at >= kBindLag) state.fell_at.reset();
  if (!state.fell_at) {
    state.most = told;
  } else {
    step.again_after = kBindLag - (now - *state.fell_at);
  }
  return step;
}

namespace {

// There is a level for the order of what waits now. Work of it or above may have waited before: under a higher one.
void add_level(std::vector<Waiting::Level>& levels, std::int64_t order, base::MonotonicTime now) {
  const auto at = std::ranges::lower_bound(levels, order, {}, &Waiting::Level::order);
  if (at != levels.end() && at->order == order) return;
  const auto since = at != levels.end() ? at->since : std::nullopt;
  levels.insert(at, {order, since.value_or(now), now, false});
}

}  // namespace

WaitingStep wait(const Waiting& before, std::optional<std::int64_t> order, base::MonotonicTime now) {
  WaitingStep step{before, std::nullopt};
  Waiting& state = step.state;
  if (order) add_level(state.levels, *order, now);
  const auto look_after = [&step](Duration left) {
    if (!step.again_after || left < *step.again_after) step.again_after = left;
  };
  for (Waiting::Level& level : state.levels) {
    if (order && level.order <= *order) {
      if (!level.since) level.since = now;
      level.seen = now;
      level.counts = level.counts || now - *level.since >= kWaitsAfter;
      if (!level.counts) look_after(kWaitsAfter - (now - *level.since));
    } else {
      level.since.reset();
      level.counts = level.counts && now - level.seen < kContentAfter;
      if (level.counts) look_after(kContentAfter - (now - level.seen));
    }
  }
  std::erase_if(state.levels, [](const Waiting::Level& level) { return !level.counts && !level.since; });
  state.wants_more = false;
  state.best_order = 0;
  for (const Waiting::Level& level : state.levels) {
    if (!level.counts) continue;
    state.wants_more = true;
    state.best_order = level.order;
  }
  return step;
}

SideBook yarn_side(const model::YarnBook& book, const model::YarnOffer& offer, std::span<const WorkClass> classes) {
  SideBook side;
  side.told = offer.offer;
  side.confirmed = book.generation == offer.generation && book.sold
                       ? book.confirmed
                       : model::max(book.confirmed, model::max(offer.up_to, offer.offer));
  if (book.sold) {
    side.sold.emplace();
    for (const auto& each : *book.sold) {
      const std::int64_t order = class_order(classes, each.work_class);
      if (side.sold->empty() || order > side.best_order) side.best_order = order;
      add_sold(*side.sold, order, each.amount);
    }
  }
  if (book.waiting) {
    const std::int64_t order = class_order(classes, *book.waiting);
    side.best_order = side.sold && !side.sold->empty() ? std::max(side.best_order, order) : order;
    side.wants_more = true;
  }
  return side;
}

std::optional<model::YarnOffer> settled_offer(const model::YarnBook& book, const model::YarnOffer& offer) {
  if (!book.sold || book.generation != offer.generation) return std::nullopt;
  Resources held;
  for (const auto& each : *book.sold) held += model::max(each.amount, Resources{});
  model::YarnOffer settled = offer;
  settled.up_to = model::min(offer.up_to, model::max(held, model::max(offer.offer, book.confirmed)));
  return settled == offer ? std::nullopt : std::optional(settled);
}

model::YarnOffer next_offer(const SideBook& yarn, Resources offer, std::int64_t before, base::WallTime now) {
  Resources held;
  for (const auto& each : yarn.sold.value_or(std::vector<ClassSold>())) held += model::max(each.amount, Resources{});
  return {next_generation(before, now), offer,
          model::max(model::max(offer, held), model::max(yarn.told, yarn.confirmed))};
}

}  // namespace tidemark::policy
