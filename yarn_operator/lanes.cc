// The loops of one YARN cluster: refresh it, execute the reclaims of nodes, send its totals. A second loop answers the
// reclaim requests of agents, so that no agent waits for the first.
#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/text.h"
#include "kube/annotation_patch.h"
#include "model/annotations.h"
#include "model/names.h"
#include "yarn_operator/running_operator.h"

namespace tidemark::yarn_operator {
namespace {

using model::Reason;

// Poll interval after an update (was it applied?), while containers are in their grace, and at a failover.
constexpr base::Duration kLookAgain = std::chrono::seconds(1);
constexpr base::Duration kManagersPoll = std::chrono::seconds(10);

}  // namespace

net::Task<void> RunningOperator::follow(Lane& lane) {
  base::MonotonicTime next_look = loop_.clock().monotonic();
  while (true) {
    if (loop_.clock().monotonic() >= next_look) {
      note(lane, co_await lane.link.refresh());
      // The next ResourceManager may become active at any time, and nodes then register one after another.
      const bool soon = lane.away || lane.link.begins();
      next_look = loop_.clock().monotonic() + (soon ? std::min(options_.poll, kLookAgain) : options_.poll);
      map_old_ = true;
      writes_.wake.set();
      lane.asked.set();
    }
    std::optional<base::Duration> next_drain;
    if (lane.link.synced() && !lane.away && cache_.listed() && may_write()) next_drain = co_await end_what_is_due(lane);
    if (!lane.in_grace.empty()) next_look = std::min(next_look, loop_.clock().monotonic() + kLookAgain);
    if (lane.link.synced() && !lane.away && cache_.listed()) {
      std::vector<Wanted> wanted = wanted_of(lane.link.id());
      note_silent(lane, leave_out_who_is_silent(wanted));
      note_room(lane, wanted);
      note_class(lane);
      note_calculator(lane);
      leave_out_reclaimed(lane, wanted);
      std::erase_if(wanted, [&](const Wanted& each) { return lane.in_grace.contains(each.node); });
      if (may_write()) {
        const UnderWay mine(under_way_);
        auto told = co_await lane.link.tell(std::move(wanted));
        if (!told) note_not_told(lane, told.error());
        if (told) tell_set_again(told->set_again);
        if (told) lane.contested.told_again(told->told_again, loop_.clock().monotonic());
        if (!told || told->told > 0) next_look = std::min(next_look, loop_.clock().monotonic() + kLookAgain);
      }
    }
    note_contested(lane);
    base::Duration wait = next_look - loop_.clock().monotonic();
    if (next_drain) wait = std::min(wait, *next_drain);
    if (wait > base::Duration(0) && co_await lane.wake.wait_for(wait)) co_await loop_.sleep(kGather);
    lane.wake.clear();
  }
}

net::Task<void> RunningOperator::follow_managers(Lane& lane) {
  while (true) {
    co_await lane.link.refresh_managers();
    co_await loop_.sleep(kManagersPoll);
  }
}

void RunningOperator::note_not_told(Lane& lane, const Error& why) {
  const bool denied = why.kind == ErrorKind::kDenied;
  lane.log.warn(
      "cannot set totals",
      {{"why", why.message},
       {"helps", denied ? "yarn.admin.acl of the ResourceManager must contain the caller: --yarn-user, or the user of "
                          "the Kerberos ticket"
                        : ""}});
}

RunningOperator::WhatIsDue RunningOperator::what_is_due(const Lane& lane) {
  std::vector<Wanted> wanted = wanted_of(lane.link.id());
  leave_out_reclaimed(lane, wanted);
  const NodeOf node_of = [this](const std::string& name) { return cache_.find(name); };
  const base::MonotonicTime now = loop_.clock().monotonic();
  WhatIsDue found;
  const base::Duration grace = options_.preemption_grace;
  found.drains = drains_due(wanted, node_of, loop_.clock().wall(), grace);
  found.all_drains = found.drains.due;
  found.drains = reclaims_.drains.to_try(std::move(found.drains), now);
  found.reclaims = reclaims_due(wanted, node_of, lane.link.work_class(), options_.totals, grace);
  found.all_reclaims = found.reclaims.due;
  found.asked_to_return = found.reclaims.due.size();
  std::set<std::string> bounded;
  for (const NodeReclaim& each : found.reclaims.due) {
    if (!reclaims_.returns.waits(each)) continue;
    bounded.insert(each.node);
    found.wait.push_back(each.node);
  }
  found.reclaims = reclaims_.returns.to_try(std::move(found.reclaims), now);
  for (const NodeReclaim& each : found.reclaims.due) {
    if (each.bounded) bounded.insert(each.node);
  }
  found.room = hour_room(bounded);
  std::erase_if(found.reclaims.due, [&](const NodeReclaim& each) {
    const bool waits = each.bounded && !reclaims_.returns.is_under_way(each) && found.room.left(each.node) == 0;
    if (waits) found.wait.push_back(each.node);
    return waits;
  });
  return found;
}

HourRoom RunningOperator::hour_room(const std::set<std::string>& bounded) {
  HourRoom room;
  if (bounded.empty() || !cache_.budgets().synced()) return room;  // the manager's grants are not known yet
  const base::WallTime now = loop_.clock().wall();
  std::set<std::string> pools;
  cache_.for_each_node([&](const std::string& name, const kube::Node& node) {
    const std::int64_t preempted = reclaims_.preempted.containers(node, now);
    if (preempted == 0 && !bounded.contains(name)) return;
    const std::string pool = cache_.pool_modes().pool_of(node);
    if (pools.insert(pool).second) room.add_pool(pool, cache_.budgets().of(pool, now));
    room.add_node(name, pool, preempted);
  });
  return room;
}

net::Task<std::optional<base::Duration>> RunningOperator::end_what_is_due(Lane& lane) {
  const UnderWay mine(under_way_);
  WhatIsDue found = what_is_due(lane);
  note_waits(lane, found);
  note_grace(lane, found);
  if (found.none() || !co_await lane.link.refresh_nodes() || !may_write()) co_return found.drains.next;
  found = what_is_due(lane);  // an order may have been withdrawn meanwhile
  const base::MonotonicTime now = loop_.clock().monotonic();
  auto drains = reclaims_.drains.begin(found.drains.due, lane.link, now, found.room);
  metrics_.drained_nodes.add(co_await end(lane, reclaims_.drains, std::move(drains)));
  auto reclaims = reclaims_.returns.begin(found.reclaims.due, lane.link, now, found.room,
                                          lane.reclaims.room(found.asked_to_return, now));
  count_preempted(lane, reclaims);
  const std::size_t reclaimed = co_await end(lane, reclaims_.returns, std::move(reclaims));
  lane.reclaims.began(reclaimed);
  metrics_.reclaimed_nodes.add(reclaimed);
  note_grace(lane, found);
  co_return found.drains.next;
}

void RunningOperator::note_grace(Lane& lane, const WhatIsDue& found) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  lane.in_grace.clear();
  for (const NodeReclaim& each : found.all_drains) {
    if (reclaims_.drains.is_in_grace(each, lane.link, now)) lane.in_grace.insert(each.node);
  }
  for (const NodeReclaim& each : found.all_reclaims) {
    if (reclaims_.returns.is_in_grace(each, lane.link, now)) lane.in_grace.insert(each.node);
  }
}

void RunningOperator::count_preempted(Lane& lane, const ReclaimProgress::Begun& begun) {
  for (const auto& [name, containers] : begun.off_the_hour) {
    const kube::Node* node = cache_.find(name);
    if (node == nullptr) continue;
    reclaims_.preempted.add(*node, lane.link.work_class(), containers, loop_.clock().wall());
    metrics_.reclaim_preempted.add(static_cast<std::uint64_t>(containers));
  }
  if (!begun.off_the_hour.empty()) writes_.wake.set();
}

void RunningOperator::note_waits(Lane& lane, const WhatIsDue& found) {
  if (!found.wait.empty() && lane.waits == 0 && cache_.budgets().synced()) {
    const Reason why = found.room.why_none(found.wait.front());
    lane.log.warn("reclaim waits: the hour of its pool is used up", {{"nodes", std::to_string(found.wait.size())},
                                                                     {"first", found.wait.front()},
                                                                     {"reason", model::reason_id(why)},
                                                                     {"means", model::reason_sentence(why)}});
  }
  lane.waits = found.wait.size();
  std::size_t all = 0;
  for (const auto& each : lanes_) all += each->waits;
  metrics_.reclaims_waiting.set(static_cast<double>(all));
}

net::Task<std::size_t> RunningOperator::end(Lane& lane, ReclaimProgress& progress, ReclaimProgress::Begun begun) {
  if (begun.preemptions.empty()) co_return 0;
  const auto sent = co_await lane.link.preempt(begun.preemptions);
  if (!sent) lane.log.warn("cannot reclaim from nodes; retrying", {{"why", sent.error().message}});
  progress.only_sent(begun, sent ? *sent : std::set<hadoop::NodeId>());
  co_return begun.first;
}

net::Task<void> RunningOperator::hear_agents(Lane& lane) {
  while (true) {
    co_await lane.asked.wait();
    lane.asked.clear();
    if (lane.link.synced() && cache_.listed() && may_write()) {
      for (AgentReclaim& each : agent_reclaims_of(lane)) lane.agent_reclaims.add(std::move(each));
      scope_.spawn(reclaim_for_agents(lane));
    }
    co_await loop_.sleep(kGather);
  }
}

net::Task<void> RunningOperator::reclaim_for_agents(Lane& lane) {
  const UnderWay mine(under_way_);
  co_await lane.agent_reclaims.run();
}

std::vector<AgentReclaim> RunningOperator::agent_reclaims_of(const Lane& lane) {
  std::vector<AgentReclaim> reclaims;
  for (const auto& [name, nm] : map().nm_of) {
    if (nm.cluster != lane.link.id()) continue;
    const kube::Node* node = cache_.find(name);
    if (node == nullptr) continue;
    auto open = reclaims_.requests.open_request(*node, loop_.clock());
    if (!open || lane.agent_reclaims.has(name, open->request.generation)) continue;
    const auto total = total_of(*node);
    if (total && total->send) {
      reclaims.push_back({name, nm.id, std::move(open->request), total->vcores, open->age});
    }
  }
  return reclaims;
}

void RunningOperator::leave_out_reclaimed(const Lane& lane, std::vector<Wanted>& wanted) {
  std::erase_if(wanted, [&](const Wanted& each) { return lane.agent_reclaims.has(each.node); });
}

// Returns the number of such nodes.
std::size_t RunningOperator::leave_out_who_is_silent(std::vector<Wanted>& wanted) {
  const auto silent = [](const Wanted& each) { return each.reason == Reason::kYarnNotReady; };
  const auto many = std::ranges::count_if(wanted, silent);
  if (!policy::sell::most_nodes_are_silent(std::ssize(wanted), many)) return 0;
  return std::erase_if(wanted, silent);
}

void RunningOperator::note_silent(Lane& lane, std::size_t nodes) {
  if (nodes > 0 && lane.silent == 0) {
    lane.log.warn("most of its nodes are not ready: their status may not arrive, so they keep their totals",
                  {{"nodes", std::to_string(nodes)}});
  }
  if (nodes == 0 && lane.silent > 0) lane.log.info("most of its nodes are ready again");
  lane.silent = nodes;
  std::size_t all = 0;
  for (const auto& each : lanes_) all += each->silent;
  metrics_.silent_nodes.set(static_cast<double>(all));
}

void RunningOperator::note_answer(Lane& lane, const AgentReclaim& asked, const model::ReclaimAnswer& answer) {
  reclaims_.requests.answered(asked.node, answer);
  const bool in_grace = !answer.leaving.empty();
  if (!in_grace) {
    metrics_.agent_preempted.add(answer.gone.size());
    metrics_.agent_not_preempted.add(answer.stayed.size());
  }
  lane.log.info(in_grace ? "applications told to give up containers" : "reclaim for an agent ended",
                {{"node", asked.node},
                 {"generation", std::to_string(answer.generation)},
                 {"leaving", base::join(answer.leaving, " ")},
                 {"gone", base::join(answer.gone, " ")},
                 {"stayed", base::join(answer.stayed, " ")},
                 {"refused", answer.refused},
                 {"reason", asked.request.reason}});
  scope_.spawn(answer_agent(asked.node, answer));
  lane.wake.set();  // its next total ends no container
}

net::Task<void> RunningOperator::answer_agent(std::string node, model::ReclaimAnswer answer) {
  kube::WriteOptions options;
  options.note.reason = model::reason_id(Reason::kYarnAgentReclaimed);
  const UnderWay mine(under_way_);
  const auto patched = co_await client_.ahead().patch(
      kube::kNodes, node, kube::PatchType::kMerge,
      kube::annotation_patch(model::kYarnReclaimAnswerAnnotation, model::format_reclaim_answer(answer)),
      std::move(options), kPatchLimit);
  if (patched) co_return;
  log_.warn("cannot answer agent", {{"node", node}, {"why", patched.error().message}});
  reclaims_.requests.lost(node, answer.generation);
  writes_.wake.set();
}

void RunningOperator::note(Lane& lane, const Result<void>& seen) {
  if (seen && lane.away) lane.log.info("its ResourceManager answers again");
  if (!seen && !lane.away) lane.log.warn("its ResourceManager does not answer", {{"why", seen.error().message}});
  lane.away = !seen;
  metrics_.clusters_away.set(
      static_cast<double>(lanes_that([](const Lane& each) { return each.away; }) + invalid_clusters_));
}

void RunningOperator::note_room(Lane& lane, const std::vector<Wanted>& wanted) {
  const auto room = lane.link.room(wanted);
  const bool closed = room && !room->for_the_smallest;  // without a node we do not cause refusals
  if (closed && !lane.closed) {
    lane.log.warn("no node has room for a container", {{"reason", model::reason_id(Reason::kYarnClosed)},
                                                       {"means", model::reason_sentence(Reason::kYarnClosed)}});
  }
  if (!closed && lane.closed) lane.log.info("a node has room for a container again");
  lane.closed = closed;
  // The largest nodes may not have registered yet with a ResourceManager that has just started.
  if (!lane.link.begins()) note_largest(lane, room.value_or(ContainerRoom()));
  metrics_.clusters_closed.set(static_cast<double>(lanes_that([](const Lane& each) { return each.closed; })));
  metrics_.clusters_waiting_in_vain.set(
      static_cast<double>(lanes_that([](const Lane& each) { return each.waits_in_vain; })));
}

void RunningOperator::note_largest(Lane& lane, const ContainerRoom& room) {
  const std::initializer_list<base::LogField> sizes = {
      {"largest_node", room.largest_node.text()},
      {"has", base::cat(room.largest_total.memory_mib, " MiB, ", room.largest_total.vcores, " vcores")}};
  if (room.waits_in_vain && !lane.waits_in_vain) lane.log.warn("a container waits that fits on no node", sizes);
  if (!room.waits_in_vain && lane.waits_in_vain) lane.log.info("no container waits for more than a node has", sizes);
  lane.waits_in_vain = room.waits_in_vain;
}

void RunningOperator::note_calculator(Lane& lane) {
  using policy::sell::CpuCounting;
  const CpuCounting counting = lane.link.cpu_counting();
  if (counting == CpuCounting::kIgnored && !lane.ignores_cpu) {
    const bool as_memory = options_.totals.memory_per_vcore_mib > 0;
    lane.log.warn(
        "its CapacityScheduler ignores vcores: it allocates more of them than nodes have",
        {{"helps",
          "set yarn.scheduler.capacity.resource-calculator to "
          "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator in capacity-scheduler.xml, and restart the "
          "ResourceManager"},
         {"until_then", as_memory ? "--memory-per-vcore limits its memory by the offered CPU" : "--memory-per-vcore"}});
  }
  if (counting == CpuCounting::kCounted && lane.ignores_cpu) lane.log.info("its scheduler counts vcores now");
  lane.ignores_cpu = counting == CpuCounting::kIgnored;
  metrics_.clusters_ignoring_cpu.set(
      static_cast<double>(lanes_that([](const Lane& each) { return each.ignores_cpu; })));
}

std::size_t RunningOperator::lanes_that(const std::function<bool(const Lane&)>& are) const {
  return static_cast<std::size_t>(std::ranges::count_if(lanes_, [&](const auto& each) { return are(*each); }));
}

void RunningOperator::note_class(Lane& lane) {
  const std::string& name = lane.link.work_class();
  const bool unknown = !name.empty() && !cache_.pool_modes().names_class(name);
  if (unknown && !lane.classless) {
    lane.log.warn("class of its work is not in `classes` of tidemark-config; treated as the least timely",
                  {{"class", name}, {"file", lane.link.class_place()}, {"property", kClassProperty}});
  }
  lane.classless = unknown;
}

void RunningOperator::tell_set_again(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const kube::Node* node = cache_.find(name);
    if (node == nullptr) continue;
    recorder_.record(
        {"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning, "TidemarkYarnSetAgain",
        base::cat(model::reason_sentence(Reason::kYarnForeign), " [", model::reason_id(Reason::kYarnForeign), "]"));
  }
}

void RunningOperator::note_contested(Lane& lane) {
  const std::vector<std::string> nodes = lane.contested.nodes(loop_.clock().monotonic());
  if (!nodes.empty() && lane.contested_nodes == 0) {
    lane.log.warn("totals are changed again and again; check for a second operator",
                  {{"nodes", std::to_string(nodes.size())}, {"first", nodes.front()}});
  }
  if (nodes.empty() && lane.contested_nodes > 0) lane.log.info("totals are no longer changed");
  lane.contested_nodes = nodes.size();
  std::size_t all = 0;
  for (const auto& each : lanes_) all += each->contested_nodes;
  metrics_.contested_nodes.set(static_cast<double>(all));
}

std::vector<Wanted> RunningOperator::wanted_of(const std::string& cluster) {
  std::vector<Wanted> wanted;
  for (const auto& [name, nm] : map().nm_of) {
    if (nm.cluster != cluster) continue;
    const kube::Node* node = cache_.find(name);
    if (node == nullptr) continue;
    const auto total = total_of(*node);
    if (!total || !total->send) continue;
    const std::int64_t generation = total->reason == Reason::kYarnOffered ? offer_generation(*node) : 0;
    Wanted& each =
        wanted.emplace_back(Wanted{name, nm.id, {total->memory_mib, total->vcores, {}}, total->reason, generation});
    each.waits = [total = *total, this](const hadoop::Resource& now) {
      return policy::sell::yarn_growth_waits({now.memory_mib, now.vcores}, total, options_.totals);
    };
    const auto keep = reclaims_.requests.keep_mib(*node, loop_.clock().wall());
    const auto kept = keep ? total_of(*node, keep) : std::nullopt;
    if (!kept || kept->memory_mib == total->memory_mib) continue;
    each.counts_as = std::exchange(each.total, {kept->memory_mib, kept->vcores, {}});
    each.reason = kept->reason;
    each.waits = nullptr;
  }
  return wanted;
}

}  // namespace tidemark::yarn_operator
