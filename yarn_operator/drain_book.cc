#include "yarn_operator/drain_book.h"

#include "policy/drain/drain.h"
#include "policy/yarn_total/yarn_total.h"
#include "yarn_operator/objects.h"

namespace tidemark::yarn_operator {

std::vector<Due> DrainBook::due(const std::vector<Wanted>& wanted,
                                const std::function<const kube::Node*(const std::string&)>& node_of, base::WallTime now,
                                base::MonotonicTime mono) const {
  std::vector<Due> found;
  for (const Wanted& each : wanted) {
    const kube::Node* node = node_of(each.node);
    const auto drain = node == nullptr ? std::nullopt : drain_on(*node);
    if (!drain || !policy::drain_is_due(*drain, offer_generation(*node), now)) continue;
    const auto last = last_.find(each.node);
    const bool again = last != last_.end() && last->second.by == drain->by;
    if (again && (last->second.done || mono < last->second.again)) continue;
    found.push_back({each.node, *drain, &each});
  }
  return found;
}

std::vector<Shrink> DrainBook::begin(const std::vector<Due>& due, const ClusterLink& link, base::MonotonicTime mono) {
  std::vector<Shrink> shrinks;
  for (const Due& each : due) {
    const hadoop::NodeReport* report = link.find(each.wanted->nm);
    if (report == nullptr || !hadoop::is_active(report->state)) continue;
    if (link.may_hold_more(report->id)) continue;  // what it holds is not known yet: the next look decides
    const std::int64_t too_much = report->used.memory_mib - each.wanted->total.memory_mib;
    last_[each.node] = {each.drain.by, too_much <= 0, mono + kDrainAgain};
    if (too_much <= 0) continue;
    const auto take = policy::yarn_take({report->used.memory_mib, report->used.vcores},
                                        {report->capability.memory_mib, report->capability.vcores},
                                        each.wanted->total.vcores, too_much);
    Shrink shrink{each.wanted->nm, report->capability, model::Reason::kYarnDrained};
    shrink.total.memory_mib = take.memory_mib;
    shrink.total.vcores = take.vcores;
    shrinks.push_back(std::move(shrink));
  }
  return shrinks;
}

void DrainBook::forget(const std::function<bool(const std::string&)>& is_gone) {
  std::erase_if(last_, [&](const auto& each) { return is_gone(each.first); });
}

}  // namespace tidemark::yarn_operator
