// The loop that patches nodes: what YARN's containers hold of each, and YARN's ledger.
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/names.h"
#include "yarn_operator/at_once.h"
#include "yarn_operator/running_operator.h"

namespace tidemark::yarn_operator {
namespace {

// Limit of consecutive writes without an answer: each further write would wait as long, and the log would name every
// node.
constexpr int kInVainMax = 3;
// Concurrent writes, so that a slow API server does not leave the budget unused.
constexpr std::size_t kWritesAtOnce = 8;
// If something changed, the order of writes is computed again after this time, or after this multiple of the time that
// a pass takes, because a pass visits all nodes.
constexpr base::Duration kOrderHolds = std::chrono::seconds(1);
constexpr int kLookShare = 10;

// An unhealthy node is out of the scheduler: its report shows zero usage while processes still end.
bool says_what_is_used(hadoop::NodeState state) {
  return hadoop::is_active(state) && state != hadoop::NodeState::kUnhealthy;
}

}  // namespace

std::optional<model::Resources> RunningOperator::held_by_yarn(const kube::Node& object) {
  const std::string node(object.meta.name);
  const base::MonotonicTime now = loop_.clock().monotonic();
  const auto mapped = map().nm_of.find(node);
  if (mapped != map_.nm_of.end()) {
    const ClusterLink* link = link_of(mapped->second.cluster);
    if (link == nullptr || !link->synced()) return std::nullopt;
    const hadoop::NodeReport* report = link->find(mapped->second.id);
    if (report != nullptr && says_what_is_used(report->state)) {
      auto batch = policy::sell::batch_of_yarn(report->used.memory_mib, report->used.vcores, options_.totals);
      if (link->may_hold_more(report->id)) {
        const auto before = writes_.held.find(node);
        batch = model::max(batch, before == writes_.held.end() ? held_as_written(object) : before->second.batch);
      }
      writes_.held[node] = {batch, now, now};
      return batch;
    }
  } else if (std::ranges::any_of(lanes_, [](const auto& lane) { return !lane->link.synced(); })) {
    return std::nullopt;
  }
  Held& last = writes_.held.try_emplace(node, Held{held_as_written(object), now, now}).first->second;
  if (map_.wrong.contains(node)) {  // YARN still uses its last total
    last.may_begin = now;
    return std::nullopt;
  }
  if (now - last.may_begin < options_.lost_hold) return std::nullopt;
  return model::Resources();
}

bool RunningOperator::long_unseen(const std::string& node) const {
  const auto held = writes_.held.find(node);
  return held != writes_.held.end() && map_.wrong.contains(node) &&
         loop_.clock().monotonic() - held->second.seen >= kSoldHold;
}

net::Task<void> RunningOperator::annotate() {
  while (true) {
    co_await writes_.wake.wait_for(options_.poll);
    writes_.wake.clear();
    co_await loop_.sleep(kGather);
    if (!cache_.listed() || !may_write()) continue;
    const base::MonotonicTime begin = loop_.clock().monotonic();
    std::vector<std::string> names = nodes_to_annotate();
    const base::Duration look = loop_.clock().monotonic() - begin;
    co_await write_in_turn(std::move(names), std::max(kOrderHolds, look * kLookShare));
  }
}

net::Task<void> RunningOperator::write_in_turn(std::vector<std::string> names, base::Duration order_holds) {
  WritePass pass{.order_old_at = loop_.clock().monotonic() + order_holds};
  co_await at_once(loop_, names.size(), kWritesAtOnce, [&](std::size_t at) { return annotate_one(names[at], pass); });
}

bool RunningOperator::is_over(const WritePass& pass) const {
  return !may_write() || pass.in_vain >= kInVainMax ||
         (writes_.wake.is_set() && loop_.clock().monotonic() >= pass.order_old_at);
}

std::vector<std::string> RunningOperator::nodes_to_annotate() {
  // Within one turn, the node with the oldest write goes first, so a node that changes constantly does not starve
  // others.
  std::vector<std::tuple<Turn, base::MonotonicTime, std::string>> found;
  const NodeMap& mapped = map();
  note_renewals(mapped.nm_of.size());
  cache_.for_each_node([&](const std::string& name, const kube::Node& node) {
    const std::string_view written = node.meta.annotations.get(model::kThirdPartyAllocationsAnnotation);
    if (!mapped.nm_of.contains(name) && !node.meta.annotations.has(model::kYarnBookAnnotation) &&
        !node.meta.annotations.has(kYarnBookOfAnnotation) &&
        !node.meta.annotations.has(model::kYarnReclaimAnswerAnnotation) &&
        !node.meta.annotations.has(model::kYarnPreemptedAnnotation) &&
        written.find(model::kYarnThirdParty) == std::string_view::npos) {
      return;
    }
    const auto write = node_write(node, sight_of(node), loop_.clock().wall());
    if (!write) return;
    const auto last = writes_.last.find(name);
    found.emplace_back(write->turn, last == writes_.last.end() ? base::MonotonicTime() : last->second, name);
  });
  const auto is_gone = [&](const auto& each) { return cache_.find(each.first) == nullptr; };
  std::erase_if(writes_.held, is_gone);
  std::erase_if(writes_.last, is_gone);
  reclaims_.requests.forget(is_gone);
  reclaims_.preempted.forget(is_gone);
  for (ReclaimProgress* book : {&reclaims_.drains, &reclaims_.returns}) {
    book->forget([&](const std::string& name) { return cache_.find(name) == nullptr; });
  }
  std::ranges::sort(found);
  std::vector<std::string> names;
  names.reserve(found.size());
  for (auto& [turn, last, name] : found) names.push_back(std::move(name));
  return names;
}

void RunningOperator::note_renewals(std::size_t nodes) {
  const base::Duration after = renew_after(nodes, options_.queries_per_second);
  metrics_.renewal_s.set(std::chrono::duration<double>(after).count());
  const bool too_seldom = after > kBelievedFor;
  if (too_seldom && !writes_.renews_too_seldom) {
    log_.warn("ledgers of waiting work expire before they are renewed; raise --kube-api-qps",
              {{"nodes", std::to_string(nodes)},
               {"renewed_after_s", std::to_string(std::chrono::duration_cast<std::chrono::seconds>(after).count())}});
  }
  writes_.renews_too_seldom = too_seldom;
}

NodeSight RunningOperator::sight_of(const kube::Node& node) {
  const std::string name(node.meta.name);
  NodeSight sight;
  sight.held = held_by_yarn(node);
  const auto mapped = map().nm_of.find(name);
  const ClusterLink* link = mapped == map_.nm_of.end() ? nullptr : link_of(mapped->second.cluster);
  if (link == nullptr ? sight.held.has_value() : link->synced()) {
    const auto total = link == nullptr ? std::nullopt : total_of(node);
    sight.hears = total && total->send;
  }
  sight.lost_answer = reclaims_.requests.lost_answer(node);
  sight.preempted = reclaims_.preempted.to_write(node, loop_.clock().wall());
  if (options_.totals.rounding == policy::sell::YarnRounding::kPeer) {
    sight.book = NodeSight::Book::kRemove;  // its amounts belong to no offer
    return sight;
  }
  if (link == nullptr) {
    if (sight.held) sight.book = NodeSight::Book::kRemove;
    sight.of_book.long_unknown = long_unseen(name);
    if (sight.of_book.long_unknown) sight.book = NodeSight::Book::kWrite;
    return sight;
  }
  if (!link->synced()) return sight;
  sight.book = NodeSight::Book::kWrite;
  if (const auto last = map_.last.find(name); last != map_.last.end()) sight.nm = last->second.written();
  if (const ActsOn* acts = link->acts_on(mapped->second.id)) {
    sight.of_book.in_force = {acts->generation, worth(acts->total.memory_mib, acts->total.vcores)};
  }
  sight.of_book.work_class = link->work_class();
  sight.of_book.long_unknown = loop_.clock().monotonic() - *link->seen() >= kSoldHold;
  if (const auto waiting = link->waiting_for(mapped->second.id)) {
    sight.of_book.waiting = worth(waiting->memory_mib, waiting->vcores);
  }
  if (const auto share = share_of(node, {}, model::Mode::kEnforce, {}, loop_.clock().wall()); share && share->origin) {
    sight.of_book.origin = *share->origin;
  }
  const auto last = writes_.last.find(name);
  sight.renew_due = last == writes_.last.end() || loop_.clock().monotonic() - last->second >=
                                                      renew_after(name, map_.nm_of.size(), options_.queries_per_second);
  return sight;
}

model::Resources RunningOperator::worth(std::int64_t memory_mib, std::int64_t vcores) const {
  return policy::sell::batch_of_yarn(memory_mib, vcores, options_.totals);
}

net::Task<void> RunningOperator::annotate_one(std::string name, WritePass& pass) {
  if (is_over(pass)) co_return;
  // Waits for the budget first, so that the content is fresh when it is sent.
  auto place = co_await client_.take_place(kPatchLimit);
  if (!place) {
    note_unwritten(name, place.error(), pass);
    co_return;
  }
  const kube::Node* node = is_over(pass) ? nullptr : cache_.find(name);
  auto write = node == nullptr ? std::nullopt : node_write(*node, sight_of(*node), loop_.clock().wall());
  if (!write) co_return;
  kube::WriteOptions options;
  options.note = {model::reason_id(write->reason), std::move(write->before)};
  options.place = *std::move(place);
  const UnderWay mine(under_way_);
  const auto patched = co_await client_.patch(kube::kNodes, name, kube::PatchType::kMerge, std::move(write->body),
                                              std::move(options), kPatchLimit);
  if (patched) {
    writes_.last[name] = loop_.clock().monotonic();
    pass.in_vain = 0;
  } else {
    note_unwritten(name, patched.error(), pass);
  }
}

void RunningOperator::note_unwritten(const std::string& node, const Error& error, WritePass& pass) {
  // Conflict: another program wrote the node. The watch delivers its write, and the next pass starts from it.
  const bool answered = error.kind != ErrorKind::kUnavailable && error.kind != ErrorKind::kDeadline;
  const bool lost = error.kind != ErrorKind::kConflict && error.kind != ErrorKind::kNotFound;
  if (lost && pass.in_vain < kInVainMax) {
    log_.warn("cannot write node; retrying", {{"node", node}, {"why", error.message}});
  }
  pass.in_vain = answered ? 0 : pass.in_vain + 1;
}

}  // namespace tidemark::yarn_operator
