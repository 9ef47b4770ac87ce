#include "yarn_operator/reclaim_progress.h"

#include <algorithm>
#include <utility>

#include "policy/sell/yarn_total.h"

namespace tidemark::yarn_operator {
namespace {

// Assumes one vcore for each container if the ResourceManager does not report the count.
std::int64_t containers_of(const hadoop::NodeReport& report) {
  return report.containers > 0 ? report.containers : std::max(report.used.vcores, report.used.memory_mib > 0 ? 1 : 0);
}

}  // namespace

std::size_t Pace::room(std::size_t asked, base::MonotonicTime now) {
  if (!since_ || now - *since_ >= kPaceEvery) {
    since_ = now;
    begun_ = 0;
  }
  const std::size_t most = (asked + kPaceParts - 1) / kPaceParts;
  return most - std::min(most, begun_);
}

const ReclaimProgress::Last* ReclaimProgress::last_of(const NodeReclaim& due) const {
  const auto last = last_.find(due.node);
  return last == last_.end() || last->second.order != due.order ? nullptr : &last->second;
}

NodeReclaims ReclaimProgress::to_try(NodeReclaims found, base::MonotonicTime now) const {
  std::erase_if(found.due, [&](const NodeReclaim& each) {
    const Last* last = last_of(each);
    return last != nullptr && (last->done || now < last->again);
  });
  return found;
}

void ReclaimProgress::count_what_ended(const NodeReclaim& due, const hadoop::NodeReport& report,
                                       base::MonotonicTime now, HourRoom& room, Begun& begun) {
  const auto found = last_.find(due.node);
  if (found == last_.end() || found->second.counted == 0) return;
  // Long after the last try of another order, containers have ended for other reasons.
  if (found->second.order != due.order && now >= found->second.again + kPreemptAgain) return;
  Last& last = found->second;
  const std::int64_t beyond = last.containers - containers_of(report) - last.counted;
  if (report.used.memory_mib >= last.used_mib || beyond <= 0) return;
  room.take(due.node, beyond);
  begun.off_the_hour.emplace_back(due.node, beyond);
  last.counted += beyond;
}

std::int64_t ReclaimProgress::within_the_hour(const NodeReclaim& due, const hadoop::NodeReport& report,
                                              std::int64_t too_much_mib, HourRoom& room, Begun& begun,
                                              Last& next) const {
  const Last* last = last_of(due);
  const std::int64_t used = report.used.memory_mib;
  // A try without effect has already been counted in the hour.
  const std::int64_t before = last != nullptr && used >= last->used_mib ? last->counted : 0;
  const std::int64_t most = before + room.left(due.node);
  next.used_mib = used;
  next.containers = containers_of(report);
  const std::int64_t wanted = policy::sell::yarn_containers_with(too_much_mib, used, next.containers);
  next.counted = std::min(wanted, most);
  if (next.counted > before) {
    room.take(due.node, next.counted - before);
    begun.off_the_hour.emplace_back(due.node, next.counted - before);
  }
  next.waits = wanted > most;
  return next.waits ? policy::sell::yarn_memory_of(most, used, next.containers) : too_much_mib;
}

ReclaimProgress::Begun ReclaimProgress::begin(const std::vector<NodeReclaim>& due, const ClusterLink& link,
                                              base::MonotonicTime now, HourRoom& room, std::size_t first_max) {
  Begun begun;
  for (const NodeReclaim& each : due) {
    const hadoop::NodeReport* report = link.find(each.nm);
    if (report == nullptr || !hadoop::is_active(report->state)) continue;
    if (link.may_hold_more(report->id)) continue;  // what it holds is not known yet; wait for the next report
    if (each.bounded) count_what_ended(each, *report, now, room, begun);
    const Last* last = last_of(each);
    const bool again = last != nullptr && last->tries > 0;
    policy::sell::YarnAmount keep = each.keep;
    if (again) {
      keep = {std::max(keep.memory_mib, last->keep.memory_mib), std::max(keep.vcores, last->keep.vcores)};
    }
    const policy::sell::YarnAmount used{report->used.memory_mib, report->used.vcores};
    std::int64_t too_much = policy::sell::yarn_too_much(used, keep);
    if (too_much > 0 && !again && begun.first == first_max) continue;
    // Until the total of 0 is in force a container may start there, and then it must end too.
    if (too_much == 0 && each.evicts && report->capability.memory_mib > 0) continue;
    Last next{each.order, keep, too_much == 0, now + each.grace + kPreemptAgain, again ? last->tries + 1 : 1};
    if (too_much > 0 && each.bounded) {
      too_much = within_the_hour(each, *report, too_much, room, begun, next);
    }
    // An order that has not started stays unchanged: it is due at once when there is room.
    if (next.waits && too_much == 0 && !again) continue;
    last_[each.node] = next;
    if (too_much == 0) continue;
    const auto take = policy::sell::yarn_take(used, {report->capability.memory_mib, report->capability.vcores},
                                              each.offered_vcores, too_much);
    Preemption preemption{each.nm, report->capability, each.reason, each.grace};
    preemption.total.memory_mib = take.memory_mib;
    preemption.total.vcores = take.vcores;
    begun.preemptions.push_back(std::move(preemption));
    begun.nodes.push_back(each.node);
    begun.first += again ? 0 : 1;
  }
  return begun;
}

// The try stays known: its containers are charged to the hour already.
void ReclaimProgress::only_sent(Begun& begun, const std::set<hadoop::NodeId>& sent) {
  for (std::size_t i = 0; i < begun.nodes.size(); ++i) {
    const auto last = last_.find(begun.nodes[i]);
    if (last == last_.end() || sent.contains(begun.preemptions[i].nm)) continue;
    last->second.again = base::MonotonicTime();
    if (--last->second.tries == 0) --begun.first;
  }
}

bool ReclaimProgress::waits(const NodeReclaim& due) const {
  const Last* last = last_of(due);
  return last != nullptr && last->waits;
}

bool ReclaimProgress::is_in_grace(const NodeReclaim& due, const ClusterLink& link, base::MonotonicTime now) const {
  const Last* last = last_of(due);
  if (due.grace == base::Duration(0) || last == nullptr || last->done || now >= last->again) return false;
  const hadoop::NodeReport* report = link.find(due.nm);
  if (report == nullptr) return false;
  return policy::sell::yarn_too_much({report->used.memory_mib, report->used.vcores}, last->keep) > 0;
}

void ReclaimProgress::forget(const std::function<bool(const std::string&)>& is_gone) {
  std::erase_if(last_, [&](const auto& each) { return is_gone(each.first); });
}

}  // namespace tidemark::yarn_operator
