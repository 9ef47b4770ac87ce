#include "yarn_operator/shrink_book.h"

#include <algorithm>
#include <utility>

#include "policy/yarn_total/yarn_total.h"

namespace tidemark::yarn_operator {

std::size_t Pace::room(std::size_t asked, base::MonotonicTime now) {
  if (!since_ || now - *since_ >= kPaceEvery) {
    since_ = now;
    begun_ = 0;
  }
  const std::size_t most = (asked + kPaceParts - 1) / kPaceParts;
  return most - std::min(most, begun_);
}

const ShrinkBook::Last* ShrinkBook::last_of(const Due& due) const {
  const auto last = last_.find(due.node);
  return last == last_.end() || last->second.order != due.order ? nullptr : &last->second;
}

Dues ShrinkBook::to_try(Dues found, base::MonotonicTime now) const {
  std::erase_if(found.due, [&](const Due& each) {
    const Last* last = last_of(each);
    return last != nullptr && (last->done || now < last->again);
  });
  return found;
}

ShrinkBook::Begun ShrinkBook::begin(const std::vector<Due>& due, const ClusterLink& link, base::MonotonicTime now,
                                    std::size_t first_max) {
  Begun begun;
  for (const Due& each : due) {
    const hadoop::NodeReport* report = link.find(each.nm);
    if (report == nullptr || !hadoop::is_active(report->state)) continue;
    if (link.may_hold_more(report->id)) continue;  // what it holds is not known yet: the next look decides
    const Last* last = last_of(each);
    const bool again = last != nullptr;
    policy::YarnAmount keep = each.keep;
    if (again) {
      keep = {std::max(keep.memory_mib, last->keep.memory_mib), std::max(keep.vcores, last->keep.vcores)};
    }
    const policy::YarnAmount used{report->used.memory_mib, report->used.vcores};
    const std::int64_t too_much = policy::yarn_too_much(used, keep);
    if (too_much > 0 && !again && begun.first == first_max) continue;
    last_[each.node] = {each.order, keep, too_much == 0, now + kShrinkAgain};
    if (too_much == 0) continue;
    const auto take = policy::yarn_take(used, {report->capability.memory_mib, report->capability.vcores},
                                        each.offered_vcores, too_much);
    Shrink shrink{each.nm, report->capability, each.reason};
    shrink.total.memory_mib = take.memory_mib;
    shrink.total.vcores = take.vcores;
    begun.shrinks.push_back(std::move(shrink));
    begun.first += again ? 0 : 1;
  }
  return begun;
}

void ShrinkBook::forget(const std::function<bool(const std::string&)>& is_gone) {
  std::erase_if(last_, [&](const auto& each) { return is_gone(each.first); });
}

}  // namespace tidemark::yarn_operator
