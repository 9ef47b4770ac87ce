#include "manager/state/state_controller.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/write_lanes.h"
#include "manager/state/mark_write.h"
#include "manager/state/oversold_taint.h"
#include "model/names.h"

namespace tidemark::manager {
namespace {

using model::NodeState;

constexpr base::Duration kTurnMax = std::chrono::minutes(30);  // a write may wait for its turn so long
constexpr base::Duration kStalePause = std::chrono::seconds(1);
// Behind a mark follows the condition: what agents obey goes before what people read.
constexpr base::Duration kConditionPause = std::chrono::milliseconds(10);
// A race is over after a few tries. What is refused more often is refused for what it is.
constexpr int kRefusalsMax = 20;

struct StateGauge {
  std::string_view name;
  std::string_view help;
};
constexpr std::array<StateGauge, 4> kGauges{
    StateGauge{"tidemark_nodes_on", "Nodes that sell as configured."},
    StateGauge{"tidemark_nodes_observed", "Nodes that are decided and shown, and not written."},
    StateGauge{"tidemark_nodes_draining", "Nodes that sell nothing new, at least on one side."},
    StateGauge{"tidemark_nodes_off", "Nodes that sell nothing, at least on one side."}};

// Missing marks and conditions of the node. A node without any order, now or earlier, has none.
std::optional<StateCondition> condition_due(const kube::Node& node, const NodePermit& permit) {
  auto condition = condition_of(permit);
  const bool shown = node.condition(model::kStateCondition) != nullptr;
  if (!condition && shown) condition = StateCondition{true, "On", node_permit_text(permit)};
  if (!condition || carries(node, *condition)) return std::nullopt;
  return condition;
}

// Whether the node is to carry the taint of one that is oversold; nullopt: nothing of ours is written to it. A node
// that is only observed loses one that it had: it would keep online pods away for ever.
std::optional<bool> taint_wanted(const kube::Node& node, const NodePermit& permit) {
  if (permit.left.reason) return std::nullopt;
  return permit.writes() && permit.taints && has_oversold_mark(node);
}
bool taint_due(const kube::Node& node, const NodePermit& permit) {
  const auto wanted = taint_wanted(node, permit);
  return wanted && *wanted != has_oversold_taint(node);
}

std::string changes_text(const NodePermit& permit) {
  std::string text;
  for (const auto reason : permit.advanced.reasons) {
    text += base::cat(text.empty() ? "" : ", ", model::reason_id(reason));
  }
  return text;
}

}  // namespace

StateController::StateController(net::EventLoop& loop, StateContext context, const base::Log& log,
                                 base::Registry& metrics, base::Random random)
    : loop_(loop),
      context_(std::move(context)),
      log_(log),
      metrics_(metrics),
      queue_(loop, metrics, "state", random),
      budget_(context_.queries_per_second,
              std::max<std::int64_t>(1, static_cast<std::int64_t>(context_.queries_per_second))),
      errors_(
          metrics.counter("tidemark_manager_reconcile_errors_total", "Reconciles that failed and are tried again.")) {}

void StateController::node_changed(const std::string& node) {
  const kube::Node* there = context_.nodes.find({"", node});
  const bool mark = there != nullptr && context_.leading() && !context_.permit(*there).advanced.reasons.empty();
  queue_.add(node, mark ? kube::WorkQueue::Urgency::kUrgent : kube::WorkQueue::Urgency::kRoutine);
}

net::Task<void> StateController::work() {
  while (true) {
    const std::string node = co_await queue_.next();
    auto again = co_await settle(model::NodeName(node));
    queue_.done(node);
    if (!again) {
      const bool stale = again.error().kind == ErrorKind::kInvalid || again.error().kind == ErrorKind::kConflict;
      if (stale && ++refusals_[node] <= kRefusalsMax) {
        queue_.add_after(node, kStalePause);
        continue;
      }
      errors_.add();
      log_.warn("state of a cannot update node; retrying", {{"node", node}, {"error", again.error()}});
      queue_.retry(node);
      continue;
    }
    queue_.forget(node);
    refusals_.erase(node);
    if (*again) queue_.add_after(node, **again);
  }
}

base::Gauge& StateController::gauge(const Counted& counted) {
  const StateGauge& which = kGauges.at(static_cast<std::size_t>(counted.what));
  return metrics_.gauge(which.name, which.help, {{"pool", counted.pool}});
}

void StateController::count(const std::string& node, const NodePermit* permit) {
  std::optional<Counted> now;
  if (permit != nullptr) {
    const NodeState state = permit->left.reason ? NodeState::kObserve : permit->state.strictest();
    now = Counted{permit->pool, static_cast<int>(state)};
  }
  const auto before = counted_.find(node);
  if (before != counted_.end()) {
    if (now && *now == before->second) return;
    gauge(before->second).add(-1);
    counted_.erase(before);
  }
  if (!now) return;
  gauge(*now).add(1);
  counted_.emplace(node, std::move(*now));
}

// Their own turn, then a place: what is decided after that goes out at once.
net::Task<Result<kube::Place>> StateController::turn() {
  const auto wait = budget_.reserve(loop_.clock().monotonic(), kTurnMax);
  if (!wait) co_return fail(ErrorKind::kExhausted, "no turn in the budget for marks and conditions within 30 minutes");
  if (*wait > base::Duration(0)) co_await loop_.sleep(*wait);
  co_return co_await context_.client.take_place(kPlaceLimit);
}

net::Task<Result<std::optional<base::Duration>>> StateController::settle(model::NodeName name) {
  const kube::Node* node = context_.nodes.find({"", name.value});  // only until we wait for something
  if (node == nullptr) {
    count(name.value, nullptr);
    co_return std::optional<base::Duration>();
  }
  NodePermit permit = context_.permit(*node);
  count(name.value, context_.shows() ? &permit : nullptr);
  const auto again = permit.state.again_after;
  if (!context_.leading()) co_return again;
  if (!permit.advanced.reasons.empty()) {
    TM_CO_TRY(auto place, co_await turn());
    if (!context_.leading()) co_return again;
    TM_CO_TRY_VOID(co_await write_marks(name, std::move(place)));
    // Its condition waits until the marks of others are written.
    co_return std::optional<base::Duration>(kConditionPause);
  }
  if (condition_due(*node, permit)) {
    TM_CO_TRY(auto place, co_await turn());
    if (!context_.leading()) co_return again;
    TM_CO_TRY_VOID(co_await write_condition(name, std::move(place)));
    node = context_.nodes.find({"", name.value});
    if (node == nullptr) co_return again;
  }
  // Last: it takes a right of its own, and who lacks that is to lack nothing else.
  if (!taint_due(*node, permit)) co_return again;
  TM_CO_TRY(auto place, co_await turn());
  if (!context_.leading()) co_return again;
  TM_CO_TRY_VOID(co_await write_taint(name, std::move(place)));
  co_return again;
}

// What the node carries is read again: whether it has labels and annotations at all is not in the cache.
net::Task<Result<void>> StateController::write_marks(model::NodeName name, kube::Place place) {
  auto bytes = co_await context_.client.get(kube::kNodes, "", name.value, kPlaceLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) co_return Result<void>();
    co_return std::unexpected(std::move(bytes).error());
  }
  auto exact = exact_mark(*bytes);
  auto node = kube::decode_node(*bytes, node_fields(), context_.interner);
  if (!exact || !node) {
    co_return std::unexpected(exact ? std::move(node).error() : std::move(exact).error());
  }
  NodePermit permit = context_.permit(*node);
  if (permit.advanced.reasons.empty() || !context_.leading()) {
    co_return Result<void>();
  }
  auto marked = mark_write(*exact, permit.advanced.marks, loop_.clock().wall(), nullptr);
  kube::WriteOptions options;
  options.subresource = "status";
  options.note = {model::reason_id(permit.advanced.reasons.front()), mark_json(*exact)};
  options.place = std::move(place);
  const UnderWay under_way(writing_);  // a stop waits for writes, not for those in line
  auto patched = co_await context_.client.patch(kube::kNodes, name.value, kube::PatchType::kJson,
                                                std::move(marked.body), options, context_.write_limit);
  if (!patched) {
    if (patched.error().kind == ErrorKind::kNotFound) co_return Result<void>();
    co_return std::unexpected(std::move(patched).error());
  }
  log_.info("state mark written",
            {{"node", name.value}, {"state", to_string(marked.label)}, {"why", changes_text(permit)}});
  co_return Result<void>();
}

// The list of taints is read again, whole: the cache has not all of it.
net::Task<Result<void>> StateController::write_taint(model::NodeName name, kube::Place place) {
  auto bytes = co_await context_.client.get(kube::kNodes, "", name.value, kPlaceLimit);
  if (!bytes) {
    if (bytes.error().kind == ErrorKind::kNotFound) co_return Result<void>();
    co_return std::unexpected(std::move(bytes).error());
  }
  TM_CO_TRY(const kube::Node node, kube::decode_node(*bytes, node_fields(), context_.interner));
  const auto wanted = taint_wanted(node, context_.permit(node));
  if (!wanted || !context_.leading()) co_return Result<void>();
  TM_CO_TRY(auto patch, taint_patch(*bytes, *wanted));
  if (!patch) co_return Result<void>();
  const model::Reason reason = *wanted ? model::Reason::kArbitrateReject : model::Reason::kArbitrateOver;
  kube::WriteOptions options;
  options.note.reason = model::reason_id(reason);
  options.place = std::move(place);
  const UnderWay under_way(writing_);
  auto patched = co_await context_.client.patch(kube::kNodes, name.value, kube::PatchType::kMerge, *std::move(patch),
                                                options, context_.write_limit);
  if (!patched) {
    if (patched.error().kind == ErrorKind::kNotFound) co_return Result<void>();
    co_return std::unexpected(std::move(patched).error().within("writing the node's taint"));
  }
  log_.info(*wanted ? "node tainted" : "taint taken off the node",
            {{"node", name.value}, {"reason", model::reason_id(reason)}});
  context_.recorder.record({"v1", "Node", "", name.value, std::string(node.meta.uid)},
                           *wanted ? kube::EventSeverity::kWarning : kube::EventSeverity::kNormal,
                           *wanted ? "Oversold" : "OversoldOver", model::reason_sentence(reason));
  co_return Result<void>();
}

net::Task<Result<void>> StateController::write_condition(model::NodeName name, kube::Place place) {
  const kube::Node* node = context_.nodes.find({"", name.value});
  if (node == nullptr) co_return Result<void>();
  const NodePermit permit = context_.permit(*node);
  const auto condition = condition_due(*node, permit);
  if (!condition) co_return Result<void>();
  const kube::NodeCondition* before = node->condition(model::kStateCondition);
  const bool turned = before == nullptr || before->reason.view() != condition->reason;
  const std::string uid(node->meta.uid);
  const std::string body = condition_patch(*condition, before, loop_.clock().wall());
  kube::WriteOptions options;
  options.subresource = "status";
  options.place = std::move(place);
  options.note.reason =
      model::reason_id(permit.left.reason ? *permit.left.reason : policy::state::reason_of(permit.state));
  const UnderWay under_way(writing_);
  auto patched = co_await context_.client.patch(kube::kNodes, name.value, kube::PatchType::kStrategicMerge, body,
                                                options, context_.write_limit);
  if (!patched) {
    if (patched.error().kind == ErrorKind::kNotFound) co_return Result<void>();
    co_return std::unexpected(std::move(patched).error().within("writing the node's condition"));
  }
  log_.info("state of a node", {{"node", name.value}, {"state", condition->reason}, {"why", condition->message}});
  if (turned) {
    const bool worry = condition->reason == kSecondWriter || permit.trouble.has_value();
    context_.recorder.record({"v1", "Node", "", name.value, uid},
                             worry ? kube::EventSeverity::kWarning : kube::EventSeverity::kNormal,
                             base::cat("CoLocation", condition->reason), condition->message);
  }
  co_return Result<void>();
}

}  // namespace tidemark::manager
