#include "policy/sell/ledger/books.h"

#include <algorithm>
#include <utility>

#include "model/generation.h"
#include "model/names.h"

namespace tidemark::policy::sell {

using base::Duration;
using model::Resources;

std::int64_t class_order(std::span<const model::WorkClass> classes, std::string_view name) {
  const auto found = std::ranges::find(classes, name, &model::WorkClass::name);
  if (found != classes.end()) return found->order;
  return classes.empty() ? 0 : std::ranges::min_element(classes, {}, &model::WorkClass::order)->order;
}

model::Resources held_by_others(std::span<const model::ThirdPartyAllocation> third_parties) {
  model::Resources sum;
  for (const model::ThirdPartyAllocation& each : third_parties) {
    if (each.priority != model::PriorityClass::kBatch || each.name == model::kYarnThirdParty) continue;
    sum += model::max(each.resources, model::Resources());
  }
  return sum;
}

void add_sold(std::vector<ClassSold>& sold, std::int64_t order, std::string_view work_class, Resources amount) {
  const auto before = [](const ClassSold& a, const std::pair<std::int64_t, std::string_view>& b) {
    return a.order != b.first ? a.order < b.first : a.work_class < b.second;
  };
  const auto at = std::lower_bound(sold.begin(), sold.end(), std::pair(order, work_class), before);
  if (at != sold.end() && at->order == order && at->work_class == work_class) {
    at->amount += amount;
  } else {
    sold.insert(at, {order, amount, std::string(work_class)});
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

void WaitingWork::add(std::int64_t its_order, std::string_view its_class, Resources its_amount) {
  const Resources wanted = model::max(its_amount, Resources{});
  const bool first = amount == Resources{} && less.empty();
  if (first || its_order > order) {
    if (!first) less.push_back({order, amount});
    order = its_order;
    work_class = its_class;
    amount = wanted;
  } else if (its_order == order) {
    if (its_class > work_class) work_class = its_class;
    amount += wanted;
  } else {
    const auto at = std::ranges::find(less, its_order, &Less::order);
    if (at != less.end()) {
      at->amount += wanted;
    } else {
      less.push_back({its_order, wanted});
    }
  }
}

Resources WaitingWork::from(std::int64_t least_order) const {
  Resources sum = order >= least_order ? amount : Resources{};
  for (const Less& each : less) {
    if (each.order >= least_order) sum += each.amount;
  }
  return sum;
}

namespace {

// Adds a level for the order of the waiting work. Work of this order or above may have waited before: under a higher
// level.
void add_level(std::vector<Waiting::Level>& levels, const WaitingWork& work, base::MonotonicTime now) {
  const auto at = std::ranges::lower_bound(levels, work.order, {}, &Waiting::Level::order);
  if (at != levels.end() && at->order == work.order) {
    at->work_class = work.work_class;
    return;
  }
  const auto since = at != levels.end() ? at->since : std::nullopt;
  levels.insert(at, {work.order, since.value_or(now), now, false, work.work_class});
}

}  // namespace

WaitingStep wait(const Waiting& before, const std::optional<WaitingWork>& work, base::MonotonicTime now) {
  WaitingStep step{before, std::nullopt};
  Waiting& state = step.state;
  if (work) add_level(state.levels, *work, now);
  const auto look_after = [&step](Duration left) {
    if (!step.again_after || left < *step.again_after) step.again_after = left;
  };
  for (Waiting::Level& level : state.levels) {
    if (work && level.order <= work->order) {
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
  state.best_class.clear();
  for (const Waiting::Level& level : state.levels) {
    if (!level.counts) continue;
    state.wants_more = true;
    state.best_order = level.order;
    state.best_class = level.work_class;
  }
  state.amount = work ? work->from(state.best_order) : Resources{};
  return step;
}

BookSeen see(const std::optional<BookSeen>& before, std::uint64_t mark, base::MonotonicTime now) {
  return before && before->mark == mark ? *before : BookSeen{mark, now};
}

BookSeen without_unheard(BookSeen seen, Duration unheard, base::MonotonicTime now) {
  const Duration age = std::max(now - seen.at, Duration(0));
  seen.at = seen.at + std::clamp<Duration>(unheard, Duration(0), age);
  return seen;
}

Resources taken_off(const TakenOff& before, Resources told, Resources now_off) {
  if (!before.looked) return now_off;
  if (told == before.told) return before.in_told;
  return told == before.decided ? before.in_decided : Resources{};
}

SideBook yarn_side(const model::YarnBook& book, const model::YarnOffer& offer,
                   std::span<const model::WorkClass> classes) {
  SideBook side;
  side.told = offer.offer;
  side.confirmed = book.generation == offer.generation && book.sold
                       ? book.confirmed
                       : model::max(book.confirmed, model::max(offer.up_to, offer.offer));
  if (book.sold) {
    side.sold.emplace();
    for (const auto& each : *book.sold) {
      add_sold(*side.sold, class_order(classes, each.work_class), each.work_class, each.amount);
    }
  }
  if (book.waiting) {
    side.wants_more = true;
    side.best_order = class_order(classes, *book.waiting);
    side.waits_class = *book.waiting;
    side.waits_for = book.waiting_for;
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
  return {model::next_generation(before, now), offer,
          model::max(model::max(offer, held), model::max(yarn.told, yarn.confirmed))};
}

namespace {

constexpr std::int64_t kReclaimBand = 100;  // a hundredth

bool moved(std::int64_t told, std::int64_t wanted) {
  const std::int64_t apart = told > wanted ? told - wanted : wanted - told;
  return apart > std::max(told, wanted) / kReclaimBand;
}

}  // namespace

bool worth_telling(const std::vector<model::Reclaim>& told, const std::vector<model::Reclaim>& wanted) {
  return !std::ranges::equal(told, wanted, [](const model::Reclaim& a, const model::Reclaim& b) {
    return a.work_class == b.work_class && a.reason == b.reason && !moved(a.keep.cpu.value, b.keep.cpu.value) &&
           !moved(a.keep.memory.value, b.keep.memory.value);
  });
}

std::vector<model::Reclaim> told(const std::vector<ClassReclaim>& reclaim) {
  std::vector<model::Reclaim> out;
  for (const auto& each : reclaim) {
    if (out.size() == model::kReclaimClassesMax) break;
    out.push_back({each.work_class, each.amount, each.keep, std::string(model::reason_id(each.reason))});
  }
  return out;
}

}  // namespace tidemark::policy::sell
