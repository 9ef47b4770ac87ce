#include "yarn_operator/drain_book.h"

#include <algorithm>
#include <utility>

#include "policy/drain/drain.h"
#include "policy/yarn_total/yarn_total.h"
#include "yarn_operator/objects.h"

namespace tidemark::yarn_operator {

DrainBook::Dues DrainBook::due(const std::vector<Wanted>& wanted,
                               const std::function<const kube::Node*(const std::string&)>& node_of, base::WallTime now,
                               base::MonotonicTime mono) const {
  Dues found;
  for (const Wanted& each : wanted) {
    const kube::Node* node = node_of(each.node);
    const auto drain = node == nullptr ? std::nullopt : drain_on(*node);
    if (!drain) continue;
    const auto offer = offer_on(*node);
    if (!offer || offer->generation != drain->generation) continue;
    if (drain->by > now) found.next = std::min(found.next.value_or(drain->by - now), drain->by - now);
    if (!policy::drain_is_due(*drain, offer->generation, now)) continue;
    const auto last = last_.find(each.node);
    const bool again = last != last_.end() && last->second.by == drain->by;
    if (again && (last->second.done || mono < last->second.again)) continue;
    const std::int64_t offered_mib = std::max<std::int64_t>(offer->offer.memory.value >> 20, 0);
    found.due.push_back({each.node, each.nm, drain->by, offered_mib, each.total.vcores});
  }
  return found;
}

DrainBook::Begun DrainBook::begin(const std::vector<Due>& due, const ClusterLink& link, base::MonotonicTime mono) {
  Begun begun;
  for (const Due& each : due) {
    const hadoop::NodeReport* report = link.find(each.nm);
    if (report == nullptr || !hadoop::is_active(report->state)) continue;
    if (link.may_hold_more(report->id)) continue;  // what it holds is not known yet: the next look decides
    const auto last = last_.find(each.node);
    const bool again = last != last_.end() && last->second.by == each.by;
    const std::int64_t down_to = again ? std::max(last->second.down_to_mib, each.offered_mib) : each.offered_mib;
    const std::int64_t too_much = report->used.memory_mib - down_to;
    last_[each.node] = {each.by, down_to, too_much <= 0, mono + kDrainAgain};
    if (too_much <= 0) continue;
    const auto take =
        policy::yarn_take({report->used.memory_mib, report->used.vcores},
                          {report->capability.memory_mib, report->capability.vcores}, each.offered_vcores, too_much);
    Shrink shrink{each.nm, report->capability, model::Reason::kYarnDrained};
    shrink.total.memory_mib = take.memory_mib;
    shrink.total.vcores = take.vcores;
    begun.shrinks.push_back(std::move(shrink));
    begun.first += again ? 0 : 1;
  }
  return begun;
}

void DrainBook::forget(const std::function<bool(const std::string&)>& is_gone) {
  std::erase_if(last_, [&](const auto& each) { return is_gone(each.first); });
}

}  // namespace tidemark::yarn_operator
