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

BindLagStep confirm(const BindLag& before, Resources on_node, base::MonotonicTime now) {
  const Resources told = model::max(on_node, Resources{});
  BindLagStep step{before, std::nullopt};
  BindLag& state = step.state;
  if (!state.seen) {
    state = {told, told, std::nullopt, true};
    return step;
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

WaitingStep wait(const Waiting& before, std::optional<std::int64_t> order, base::MonotonicTime now) {
  WaitingStep step{before, std::nullopt};
  Waiting& state = step.state;
  if (order) {
    if (!state.since) state.since = now;
    state.seen = now;
    if (now - *state.since >= kWaitsAfter) {
      state.wants_more = true;
      state.best_order = *order;
    } else {
      step.again_after = kWaitsAfter - (now - *state.since);
    }
    return step;
  }
  state.since.reset();
  if (!state.wants_more || now - *state.seen >= kContentAfter) {
    state = {};
  } else {
    step.again_after = kContentAfter - (now - *state.seen);
  }
  return step;
}

SideBook yarn_side(const model::YarnBook& book, const model::YarnOffer& offer, std::span<const WorkClass> classes) {
  SideBook side;
  side.told = offer.offer;
  side.confirmed = book.generation == offer.generation
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

model::YarnOffer next_offer(const SideBook& yarn, Resources offer, std::int64_t before, base::WallTime now) {
  return {next_generation(before, now), offer, model::max(offer, model::max(yarn.told, yarn.confirmed))};
}

}  // namespace tidemark::policy
