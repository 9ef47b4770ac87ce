#include "policy/state/class_off.h"

#include <algorithm>
#include <utility>

#include "policy/sell/offer/zones_follow.h"

namespace tidemark::policy::state {

using model::Reason;
using model::Resources;

Resources ClassesOff::taken() const {
  Resources sum;
  for (const ClassOff& each : classes) sum += each.held;
  return sum;
}

std::vector<sell::ClassReclaim> ClassesOff::reclaim() const {
  std::vector<sell::ClassReclaim> out;
  for (const ClassOff& each : classes) {
    if (each.reason == Reason::kStateClassOff) out.push_back({each.work_class, each.held, Resources{}, each.reason});
  }
  return out;
}

ClassesOff classes_off(const SideStates& state, const sell::SideBook& book) {
  ClassesOff off;
  for (const auto& name : state.classes_off) {
    Resources held;
    if (book.sold) {
      for (const auto& each : *book.sold) {
        if (each.work_class == name) held += model::max(each.amount, Resources{});
      }
    }
    const bool drained = std::ranges::binary_search(state.classes_drained, name);
    off.classes.push_back({name, held, drained ? Reason::kStateClassOff : Reason::kStateClassDraining});
  }
  return off;
}

void withdraw(sell::OvercommitPlan& plan, Resources taken) {
  if (plan.action != sell::PlanAction::kPublish || taken == Resources{}) return;
  const auto offered = [&plan] {
    return Resources{plan.publish.batch_cpu.value_or(model::CpuMilli{}),
                     plan.publish.batch_memory.value_or(model::MemoryBytes{})};
  };
  const Resources before = offered();
  const auto less = [](auto& amount, auto by) {
    if (amount) *amount = std::max(*amount - by, decltype(by){});
  };
  less(plan.publish.batch_cpu, taken.cpu);
  less(plan.publish.batch_memory, taken.memory);
  plan.zones = sell::follow_node(std::move(plan.zones), before, offered());
}

std::vector<sell::ClassReclaim> united(std::vector<sell::ClassReclaim> off,
                                       const std::vector<sell::ClassReclaim>& ledger) {
  const std::size_t named = off.size();
  for (const auto& each : ledger) {
    const auto all = off.begin() + static_cast<std::ptrdiff_t>(named);
    if (std::ranges::find(off.begin(), all, each.work_class, &sell::ClassReclaim::work_class) == all)
      off.push_back(each);
  }
  return off;
}

}  // namespace tidemark::policy::state
