#include "manager/specs/node_objects.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "manager/capacity/write_lanes.h"
#include "manager/leadership.h"

namespace tidemark::manager {
namespace {

// A spec that the API server's schema refuses is not tried again before something changes, or this passed.
constexpr base::Duration kRefusedPause = std::chrono::minutes(5);
// The cache is behind our own write, or another writer was faster: the watch brings the new version, or a later pass
// retries.
constexpr base::Duration kStalePause = std::chrono::seconds(1);
constexpr base::Duration kLookAgainMax = std::chrono::hours(24);
// A write may wait its turn for so long; then the queue tries it again.
constexpr base::Duration kTurnMax = std::chrono::minutes(30);

std::string_view verb_of(NodeObjectPlan::Action action) {
  switch (action) {
    case NodeObjectPlan::Action::kCreate:
      return "create";
    case NodeObjectPlan::Action::kPatch:
      return "update";
    case NodeObjectPlan::Action::kRemove:
      return "delete";
    case NodeObjectPlan::Action::kNone:
      break;
  }
  return "none";
}

}  // namespace

NodeObjects::NodeObjects(net::EventLoop& loop, NodeObjectWrites writes, NodeObjectKind kind, const base::Log& log,
                         base::Registry& metrics, base::Random random)
    : loop_(loop),
      writes_(std::move(writes)),
      kind_(std::move(kind)),
      log_(log),
      metrics_(metrics),
      queue_(loop, metrics, kind_.component, random),
      errors_(
          metrics.counter("tidemark_manager_reconcile_errors_total", "Reconciles that failed and are tried again.")) {}

net::Task<void> NodeObjects::work() {
  while (true) {
    const std::string node = co_await queue_.next();
    auto done = co_await settle(model::NodeName(node));
    queue_.done(node);
    if (!done) {
      errors_.add();
      log_.warn("cannot update node object; retrying",
                {{"kind", kind_.resource.kind}, {"node", node}, {"error", done.error()}});
      queue_.retry(node);
      continue;
    }
    queue_.forget(node);
    if (*done == Done::kRefused) queue_.add_after(node, kRefusedPause);
    if (*done == Done::kStale) queue_.add_after(node, kStalePause);
    if (*done == Done::kOrphan) queue_.add_after(node, kOrphanGrace);
  }
}

// Not in a tight loop, and not beyond what a timer takes.
void NodeObjects::look_again(const std::string& node, base::Duration after) {
  queue_.add_after(node, std::clamp<base::Duration>(after, kStalePause, kLookAgainMax));
}

net::Task<Result<NodeObjects::Done>> NodeObjects::settle(model::NodeName node) {
  using Action = NodeObjectPlan::Action;
  if (!writes_.leading()) co_return Done::kSettled;
  NodeObjectPlan plan = kind_.decide(node);
  if (plan.again_after) look_again(node.value, *plan.again_after);
  if (plan.action != Action::kRemove) orphans_.erase(node);
  if (left_to_others(plan, node) || plan.action == Action::kNone) co_return Done::kSettled;
  if (plan.action == Action::kRemove && !orphan_for_long(node)) co_return Done::kOrphan;

  const auto turn = writes_.budget.reserve(loop_.clock().monotonic(), kTurnMax);
  if (!turn)
    co_return fail(ErrorKind::kExhausted, "no turn in the write budget within ", kTurnMax.count() / 1'000'000'000,
                   " s");
  if (*turn > base::Duration(0)) co_await loop_.sleep(*turn);
  TM_CO_TRY(auto place, co_await writes_.writer.take_place(kPlaceLimit));
  if (*turn + place.waited() > base::Duration(0)) {
    // The world went on.
    if (!writes_.leading()) co_return Done::kSettled;
    const Action meant = plan.action;
    plan = kind_.decide(node);
    if (plan.action != meant) co_return Done::kStale;
    if (left_to_others(plan, node)) co_return Done::kSettled;
  }

  if (plan.action == Action::kRemove) {
    // A cache that lags, or took no more objects, is no proof.
    TM_CO_TRY(const bool gone, co_await node_is_gone(node));
    orphans_.erase(node);
    if (!gone || !writes_.leading()) co_return Done::kSettled;
  }
  const UnderWay under_way(writing_);
  co_return co_await carry_out(std::move(plan), node, std::move(place));
}

bool NodeObjects::left_to_others(const NodeObjectPlan& plan, const model::NodeName& node) {
  if (writes_.contests == nullptr || plan.action == NodeObjectPlan::Action::kRemove) return false;
  if (plan.content == 0) {
    writes_.contests->forget(kind_.kept, node.value);
    return false;
  }
  const bool differs = plan.action == NodeObjectPlan::Action::kPatch;
  const auto held = writes_.contests->look(kind_.kept, node, {plan.content, plan.revision, differs});
  if (held.again_after) look_again(node.value, *held.again_after);
  return held.reason.has_value();
}

bool NodeObjects::orphan_for_long(const model::NodeName& node) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  const auto [at, first] = orphans_.try_emplace(node, now);
  return now - at->second >= kOrphanGrace;
}

net::Task<Result<bool>> NodeObjects::node_is_gone(const model::NodeName& node) {
  auto found = co_await writes_.reader.get(kube::kNodes, "", node.value, writes_.limit);
  if (found) co_return false;
  if (found.error().kind == ErrorKind::kNotFound) co_return true;
  co_return std::unexpected(std::move(found).error().within("looking for the node"));
}

net::Task<Result<NodeObjects::Done>> NodeObjects::carry_out(NodeObjectPlan plan, model::NodeName node,
                                                            kube::Place place) {
  using Action = NodeObjectPlan::Action;
  const std::string what = base::cat(verb_of(plan.action), kind_.resource.kind);
  Result<void> written;
  kube::WriteOptions options;
  options.note = {model::reason_id(plan.reason), plan.before, plan.config_hash};
  options.place = std::move(place);
  if (plan.action == Action::kRemove) {
    written = co_await writes_.writer.remove(kind_.resource, node.value, plan.uid, options, writes_.limit);
    if (!written && written.error().kind == ErrorKind::kNotFound) written = {};
  } else {
    if (writes_.contests != nullptr) writes_.contests->writes(kind_.kept, node);
    auto answer =
        plan.action == Action::kCreate
            ? co_await writes_.writer.create(kind_.resource, plan.body, options, "", writes_.limit)
            : co_await writes_.writer.patch(kind_.resource, node.value, plan.patch, plan.body, options, writes_.limit);
    if (answer && writes_.contests != nullptr) {
      const auto meta = Json::parse(*answer);
      const std::string_view revision = meta ? meta->text_at("metadata", "resourceVersion") : "";
      writes_.contests->wrote(kind_.kept, node, kind_.content_of(*answer), revision_number(revision));
    }
    if (!answer) written = std::unexpected(std::move(answer).error());
  }
  const bool stale =
      !written && (written.error().kind == ErrorKind::kConflict || written.error().kind == ErrorKind::kAlreadyExists);
  if (stale) co_return Done::kStale;
  count(what, written.has_value());
  if (!written) {
    if (written.error().kind != ErrorKind::kInvalid) co_return std::unexpected(std::move(written).error().within(what));
    metrics_
        .counter("tidemark_manager_node_objects_refused_total",
                 "Objects of a node that the API server's schema refused; the old one stays.",
                 {{"component", kind_.component}})
        .add();
    log_.error("the API server refuses the settings of the object; it stays unchanged",
               {{"kind", kind_.resource.kind}, {"node", node.value}, {"error", written.error()}});
    co_return Done::kRefused;
  }
  metrics_
      .counter("tidemark_manager_node_object_writes_total", "Objects of a node written, by why.",
               {{"component", kind_.component}, {"reason", model::reason_id(plan.reason)}})
      .add();
  log_.info("node object written", {{"kind", kind_.resource.kind},
                                    {"node", node.value},
                                    {"action", verb_of(plan.action)},
                                    {"why", model::reason_id(plan.reason)}});
  co_return Done::kSettled;
}

// The peer's count, by its names.
void NodeObjects::count(std::string_view what, bool succeeded) {
  metrics_
      .counter(kind_.peer_metric, kind_.peer_help, {{"status", succeeded ? "succeeded" : "failed"}, {"reason", what}})
      .add();
}

}  // namespace tidemark::manager
