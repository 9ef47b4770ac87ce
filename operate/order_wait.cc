#include "operate/order_wait.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "base/metrics.h"
#include "base/text.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "manager/state/mark_write.h"
#include "manager/state/oversold_taint.h"
#include "model/isolation.h"
#include "model/names.h"
#include "policy/explain/state_text.h"

namespace tidemark::operate {
namespace {

constexpr base::Duration kLook = std::chrono::seconds(1);

constexpr std::string_view kPeerPresent = "PeerPresent";
// Reasons of the agent's condition with which no group has more than its least.
constexpr std::string_view kObeying[] = {"Off", model::kOffLocally};

enum class Phase { kReached, kDraining, kOffering, kLimiting, kInForce, kUnheard };

kube::NodeFields fields_of_nodes() {
  kube::NodeFields fields;
  fields.meta = manager::mark_fields();
  fields.info = false;
  fields.condition_messages = {model::kIsolationCondition, model::kStateCondition};
  return fields;
}

bool nothing_in_force(const kube::Node& node) {
  const kube::NodeCondition* says = node.condition(model::kIsolationCondition);
  return says == nullptr || model::says_nothing_in_force(says->reason.view(), says->message.view());
}

// Whether the report of the agent is about the mark that the node has now.
bool reports_mark(const kube::Node& node, const kube::NodeCondition& says) {
  return model::mark_read_by_agent(says.message.view()) == manager::read_marks(manager::mark_of(node)).marks.generation;
}

template <class Amount>
bool some(const std::optional<Amount>& amount) {
  return amount && amount->value > 0;
}

// The mark of whom the order is for.
const policy::state::StateMark* mark_in(const policy::state::NodeMarks& marks, OrderScope scope) {
  switch (scope) {
    case OrderScope::kNode:
      return marks.node ? &*marks.node : nullptr;
    case OrderScope::kPool:
      return marks.pool ? &marks.pool->mark : nullptr;
    case OrderScope::kCluster:
      break;
  }
  return marks.cluster ? &*marks.cluster : nullptr;
}

// YARN's side or a class alone changes nothing for an agent.
bool is_for_agents(const policy::state::StateCommand& command) {
  return command.wish == policy::state::Wish::kOff && command.only.classes.empty() && command.only.has_k8s();
}

// What the node's agent says of it.
Phase phase_of_agent(const kube::Node& node, const OrderOptions& options) {
  if (!is_for_agents(options.command)) return Phase::kReached;
  switch (agent_answer(node)) {
    case AgentAnswer::kUnconfirmed:
      return Phase::kLimiting;
    case AgentAnswer::kInForce:
      return options.nothing_in_force ? Phase::kInForce : Phase::kReached;
    case AgentAnswer::kNoAgent:
    case AgentAnswer::kNothing:
      break;
  }
  return Phase::kReached;
}

bool offers_something(const policy::state::OnNode& carried, const policy::state::Parts& parts) {
  const auto& amounts = carried.published;
  const bool k8s =
      some(amounts.batch_cpu) || some(amounts.batch_memory) || some(amounts.mid_cpu) || some(amounts.mid_memory);
  const bool yarn = carried.origin && *carried.origin != model::Resources();
  return (parts.has_k8s() && k8s) || (parts.has_yarn() && yarn);
}

// Of `on` and `observe`.
Phase phase_of_manager(const kube::Node& node, const policy::state::StateCommand& command, base::WallTime now) {
  const auto state =
      policy::state::effective(manager::read_marks(manager::mark_of(node)).marks, model::Mode::kEnforce, now);
  if (state.strictest() > static_cast<model::NodeState>(command.wish)) return Phase::kReached;
  const kube::NodeCondition* says = node.condition(model::kStateCondition);
  const bool heard = says != nullptr
                         ? says->message.view().contains(policy::explain::render_text(state))
                         : command.wish == policy::state::Wish::kOn && offers_something(manager::carried_by(node), {});
  return heard ? Phase::kReached : Phase::kUnheard;
}

Phase phase_of(const kube::Node& node, const OrderOptions& options, base::WallTime now) {
  const policy::state::StateCommand& command = options.command;
  if (command.wish != policy::state::Wish::kOff) return phase_of_manager(node, command, now);
  const auto marks = manager::read_marks(manager::mark_of(node)).marks;
  // A class is on neither side by itself: the order alone tells how far it is.
  if (!command.only.classes.empty()) {
    const policy::state::StateMark* mark = mark_in(marks, options.scope);
    const policy::state::StateOrder* order = mark == nullptr ? nullptr : policy::state::in_force(*mark, now);
    if (order != nullptr && policy::state::state_of(*order, now) < model::NodeState::kOff &&
        order->wish == policy::state::Wish::kOff) {
      return Phase::kDraining;
    }
  }
  const auto state = policy::state::effective(marks, model::Mode::kEnforce, now);
  const bool k8s = command.only.has_k8s();
  const bool yarn = command.only.has_yarn();
  if ((k8s && state.k8s < model::NodeState::kOff) || (yarn && state.yarn < model::NodeState::kOff)) {
    return Phase::kDraining;
  }
  // Its mark alone keeps pods away, whatever is offered.
  if (command.only.classes.empty() && (manager::has_oversold_mark(node) || manager::has_oversold_taint(node)))
    return Phase::kOffering;
  const bool offers = offers_something(manager::carried_by(node), command.only);
  return offers ? Phase::kOffering : phase_of_agent(node, options);
}

// It uses an unknown reason, or obeys without a report of the mark.
bool is_of_other_version(const kube::NodeCondition& says) {
  const std::string_view reason = says.reason.view();
  if (!model::is_isolation_reason(reason)) return true;
  return std::ranges::find(kObeying, reason) != std::end(kObeying) &&
         model::mark_read_by_agent(says.message.view()) == 0;
}

// Whose answer waiting does not bring.
void note_agent(const std::string& name, const kube::Node& node, Phase phase, WaitReport& out) {
  const kube::NodeCondition* says = node.condition(model::kIsolationCondition);
  if (says == nullptr) {
    if (phase == Phase::kReached) out.without_agent.push_back(name);
  } else if (phase == Phase::kLimiting && is_of_other_version(*says)) {
    out.other_words.push_back(base::cat(name, " (", says->reason.view(), ")"));
  } else if (phase == Phase::kLimiting && node.ready() == kube::Truth::kUnknown) {
    out.silent.push_back(name);
  }
}

}  // namespace

bool still_offers(const kube::Node& node, const OrderOptions& options, base::WallTime now) {
  const Phase phase = phase_of(node, options, now);
  return phase == Phase::kDraining || phase == Phase::kOffering;
}

AgentAnswer agent_answer(const kube::Node& node) {
  const kube::NodeCondition* says = node.condition(model::kIsolationCondition);
  if (says == nullptr) return AgentAnswer::kNoAgent;
  if (says->reason.view() == model::kNoGroups) return AgentAnswer::kNothing;  // no agent runs
  if (std::ranges::find(kObeying, says->reason.view()) == std::end(kObeying)) return AgentAnswer::kUnconfirmed;
  // The agent may have written files after it reported an earlier mark, and died.
  if (!reports_mark(node, *says)) return AgentAnswer::kUnconfirmed;
  return nothing_in_force(node) ? AgentAnswer::kNothing : AgentAnswer::kInForce;
}

net::Task<Result<NodesInForce>> nodes_in_force(kube::Client& client, base::Duration limit) {
  NodesInForce out;
  kube::Interner interner;
  TM_CO_TRY_VOID(co_await client.list(
      kube::kNodes, {},
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto node, kube::decode_node(item, fields_of_nodes(), interner));
          if (!nothing_in_force(node)) out.nodes.emplace_back(node.meta.name.view());
          const kube::NodeCondition* says = node.condition(model::kIsolationCondition);
          if (says != nullptr && says->reason.view() == kPeerPresent) {
            out.beside_peer.emplace_back(node.meta.name.view());
          }
          return {};
        }));
        return {};
      },
      [&] { out = {}; }, limit));
  std::ranges::sort(out.nodes);
  std::ranges::sort(out.beside_peer);
  co_return out;
}

net::Task<WaitReport> wait_for_order(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                     base::Random random, const OrderReport& report, const OrderOptions& options,
                                     WaitOptions wait) {
  std::unordered_set<std::string> waited;
  for (const auto& node : report.nodes) {
    if (node.outcome == OrderOutcome::kWritten || node.outcome == OrderOutcome::kAlready) waited.insert(node.name);
  }
  base::Registry metrics;
  kube::Interner interner;
  kube::InformerConfig config;
  config.resource = kube::kNodes;
  const kube::NodeFields fields = fields_of_nodes();
  kube::Informer<kube::Node> nodes({loop, client, client, log, metrics, random}, std::move(config),
                                   [&](std::string_view bytes) { return kube::decode_node(bytes, fields, interner); });
  net::Scope scope(loop);
  scope.spawn(nodes.run());
  const base::MonotonicTime deadline = loop.clock().monotonic() + wait.limit;
  WaitReport out;
  for (const auto& node : report.nodes) {
    if (node.outcome == OrderOutcome::kFailed) out.not_marked.push_back(node.name);
  }
  bool told = false;
  while (true) {
    if (nodes.synced()) {
      WaitProgress progress;
      out.not_reached.clear();
      for (auto* names : {&out.in_force, &out.silent, &out.other_words, &out.without_agent}) names->clear();
      nodes.for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
        if (!waited.contains(key.name)) return;
        ++progress.nodes;
        const Phase phase = phase_of(node, options, loop.clock().wall());
        progress.draining += phase == Phase::kDraining ? 1 : 0;
        progress.offering += phase == Phase::kOffering ? 1 : 0;
        progress.limiting += phase == Phase::kLimiting ? 1 : 0;
        progress.in_force += phase == Phase::kInForce ? 1 : 0;
        progress.unheard += phase == Phase::kUnheard ? 1 : 0;
        progress.reached += phase == Phase::kReached ? 1 : 0;
        if (phase != Phase::kReached) out.not_reached.push_back(key.name);
        if (is_for_agents(options.command)) note_agent(key.name, node, phase, out);
        if (phase == Phase::kInForce) {
          out.in_force.push_back(
              base::cat(key.name, " (", node.condition(model::kIsolationCondition)->message.view(), ")"));
        }
      });
      progress.silent = out.silent.size();
      progress.other_words = out.other_words.size();
      if (wait.on_progress && (!told || progress != out.last)) wait.on_progress(progress);
      told = true;
      out.last = progress;
      out.listed = true;
      if (out.not_reached.empty() || (wait.until_drained && progress.draining == 0)) break;
    }
    const base::Duration left = deadline - loop.clock().monotonic();
    if (left <= base::Duration(0)) break;
    co_await loop.sleep(std::min(kLook, left));
  }
  for (auto* names : {&out.not_reached, &out.in_force, &out.silent, &out.other_words, &out.without_agent}) {
    std::ranges::sort(*names);
  }
  out.reached = out.listed && out.not_reached.empty() && out.not_marked.empty() && report.incomplete.empty();
  co_return out;
}

}  // namespace tidemark::operate
