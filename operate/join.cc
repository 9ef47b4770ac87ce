#include "operate/join.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "kube/objects.h"
#include "manager/state/mark_write.h"
#include "model/isolation.h"
#include "operate/cluster_node.h"
#include "operate/get.h"
#include "operate/list_pages.h"
#include "operate/pool_label.h"
#include "operate/pools.h"
#include "policy/explain/state_text.h"

namespace tidemark::operate {
namespace {

using base::cat;
using policy::explain::ClusterTopic;
using policy::state::EffectiveState;

constexpr base::Duration kLookAgain = std::chrono::seconds(1);
constexpr std::int64_t kIntervalDefault_s = 60;  // of reports, without one in the NodeMetric
constexpr std::int64_t kIntervalsLate = 3;
// Beyond the drain time: for the manager or the clock to end it.
constexpr base::Duration kDrainEnds = std::chrono::minutes(1);

kube::NodeFields fields_of_nodes() {
  kube::NodeFields fields;
  fields.meta = manager::mark_fields();
  return fields;
}

struct Found {
  JoinFacts facts;
  JoinedNode shown;
  policy::explain::ClusterNode doctor;
  bool there = false;
};

EffectiveState state_in(const JoinFacts& facts, model::Mode mode, base::WallTime now) {
  return policy::state::effective(facts.marks, mode, now);
}

// Topics of the doctor that the Node object decides alone.
bool is_of_preflight(const policy::explain::ClusterFinding& finding) {
  constexpr std::array kTopics = {ClusterTopic::kKernel, ClusterTopic::kOs, ClusterTopic::kArchitecture,
                                  ClusterTopic::kConditions, ClusterTopic::kAgents};
  return finding.severity != policy::explain::Severity::kOk &&
         std::ranges::find(kTopics, finding.topic) != kTopics.end();
}

// Why the node cannot join as it is; "" if it can.
std::string refusal(const policy::explain::ClusterNode& node) {
  if (!node.linux) return "not a Linux node";
  if (!node.ready) return "not ready: its kubelet does not answer, or reports a fault";
  if (node.agent == model::kUnable) {
    return "its agent cannot write kernel files (condition TidemarkIsolation); run `tidemark doctor node` there";
  }
  return "";
}

std::string agent_problem(const JoinedNode& node, base::WallTime now) {
  if (node.agent == AgentReports::kNever) {
    return "no agent ever reported from it, so it stays observed; check that the DaemonSet of the agent runs there";
  }
  const auto age = std::chrono::floor<std::chrono::seconds>(now - *node.reported);
  return cat("its agent is silent: the last report is ", base::format_go_duration(age),
             " old, so it stays observed; check the pod of the agent there");
}

class Joining {
 public:
  Joining(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Random random, JoinOptions options,
          std::function<void(const JoinProgress&)> on_progress)
      : loop_(loop),
        client_(client),
        log_(log),
        random_(std::move(random)),
        options_(std::move(options)),
        on_progress_(std::move(on_progress)) {}

  net::Task<Result<JoinReport>> run() {
    TM_CO_TRY(config_, co_await read_pools(client_, options_.config_namespace, options_.zones, options_.limit));
    if (!options_.pool.empty()) TM_CO_TRY_VOID(pool_exists(config_, options_.pool));
    for (const std::string& name : options_.nodes) {
      if (std::ranges::any_of(found_, [&](const Found& each) { return each.shown.name == name; })) continue;
      TM_CO_TRY(Found found, co_await look(name));
      found_.push_back(std::move(found));
      show(JoinStep::kPreflight, options_.nodes.size(), found_.size());
    }
    JoinReport report;
    report.dry_run = options_.dry_run;
    report.preflight = preflight();
    for (Found& each : found_) {
      if (each.there) each.shown.steps = join_steps(each.facts, options_.observe_only, loop_.clock().wall());
    }
    TM_CO_TRY_VOID(co_await try_labels());
    if (!options_.dry_run) {
      TM_CO_TRY_VOID(co_await order(policy::state::Wish::kObserve, &JoinSteps::observe));
      TM_CO_TRY_VOID(co_await label());
      TM_CO_TRY_VOID(co_await wait_for_agents());
      if (!options_.observe_only) TM_CO_TRY_VOID(co_await switch_on());
    }
    for (Found& each : found_) report.nodes.push_back(std::move(each.shown));
    co_return report;
  }

 private:
  void show(JoinStep step, std::size_t nodes, std::size_t done) {
    if (on_progress_) on_progress_({step, nodes, done});
  }

  net::Task<Result<Found>> look(std::string name) {
    Found out;
    out.shown.name = name;
    TM_CO_TRY(const auto bytes, co_await get_if_there(client_, kube::kNodes, "", name, options_.limit));
    if (!bytes) {
      out.shown.problem = "node not found";
      co_return out;
    }
    kube::Interner interner;
    TM_CO_TRY(const kube::Node node, kube::decode_node(*bytes, fields_of_nodes(), interner));
    out.there = true;
    out.doctor = cluster_node(node);
    const model::Pool& pool = policy::waterline::pool_of(config_, node.meta.labels);
    out.shown.pool_before = out.shown.pool_after = pool.name;
    out.facts.marks = manager::read_marks(manager::mark_of(node)).marks;
    out.facts.mode = out.facts.mode_then = pool.modes.capacity;
    if (!options_.pool.empty()) {
      out.facts.in_pool = options_.pool == std::string_view(pool.name);
      out.facts.mode_then = mode_of(options_.pool);
    }
    TM_CO_TRY_VOID(co_await look_at_agent(out));
    const base::WallTime now = loop_.clock().wall();
    out.shown.state = state_in(out.facts, out.facts.mode, now);
    out.shown.problem = refusal(out.doctor);
    co_return out;
  }

  net::Task<Result<void>> look_at_agent(Found& into) {
    TM_CO_TRY(const auto bytes,
              co_await get_if_there(client_, kube::kNodeMetrics, "", into.shown.name, options_.limit));
    into.shown.reported.reset();
    std::int64_t interval_s = kIntervalDefault_s;
    if (bytes) {
      kube::Interner interner;
      kube::NodeMetricFields fields;
      fields.pods = false;
      TM_CO_TRY(const auto metric, kube::decode_node_metric(*bytes, fields, interner));
      if (metric.has_node_metric) into.shown.reported = metric.updated;
      if (metric.policy) interval_s = metric.policy->report_interval_s.value_or(interval_s);
    }
    AgentReports& agent = into.shown.agent;
    agent = AgentReports::kNever;
    if (into.shown.reported) {
      const base::Duration age = loop_.clock().wall() - *into.shown.reported;
      agent = age <= std::chrono::seconds(interval_s) * kIntervalsLate ? AgentReports::kFresh : AgentReports::kLate;
    }
    into.facts.agent = agent;
    co_return Result<void>();
  }

  model::Mode mode_of(std::string_view pool) const {
    for (const model::Pool& each : config_.pools) {
      if (each.name == pool) return each.modes.capacity;
    }
    return config_.rest.modes.capacity;
  }

  std::vector<policy::explain::ClusterFinding> preflight() const {
    policy::explain::ClusterFound found;
    for (const Found& each : found_) {
      if (each.there) found.nodes.push_back(each.doctor);
    }
    found.kubelets_wanted = false;
    auto findings = policy::explain::cluster_findings(found);
    std::erase_if(findings, [](const auto& each) { return !is_of_preflight(each); });
    return findings;
  }

  // Those that go on and need the step.
  std::vector<std::string> names_for(bool JoinSteps::* step) const {
    std::vector<std::string> out;
    for (const Found& each : found_) {
      if (each.shown.problem.empty() && each.shown.steps.*step) out.push_back(each.shown.name);
    }
    return out;
  }
  Found& of(std::string_view name) {
    return *std::ranges::find_if(found_, [&](const Found& each) { return each.shown.name == name; });
  }

  PoolLabelOptions label_options(std::vector<std::string> nodes, bool dry_run) const {
    PoolLabelOptions out;
    out.nodes = std::move(nodes);
    out.pool = options_.pool;
    out.dry_run = dry_run;
    out.config_namespace = options_.config_namespace;
    out.zones = options_.zones;
    out.limit = options_.limit;
    return out;
  }

  // The API server says which pool each node would be in.
  net::Task<Result<void>> try_labels() {
    std::vector<std::string> names = names_for(&JoinSteps::label);
    if (names.empty()) co_return Result<void>();
    TM_CO_TRY(const auto tried, co_await label_pool(client_, label_options(std::move(names), true)));
    for (const PoolOfNode& each : tried) {
      JoinedNode& shown = of(each.name).shown;
      shown.problem = each.problem;
      if (options_.dry_run && each.problem.empty()) shown.pool_after = each.after;
    }
    co_return Result<void>();
  }

  net::Task<Result<void>> label() {
    std::vector<std::string> names = names_for(&JoinSteps::label);
    if (names.empty()) co_return Result<void>();
    TM_CO_TRY(const auto done, co_await label_pool(client_, label_options(names, false)));
    for (const PoolOfNode& each : done) of(each.name).shown.pool_after = each.after;
    show(JoinStep::kLabel, names.size(), done.size());
    co_return Result<void>();
  }

  OrderOptions order_options(policy::state::Wish wish, std::vector<std::string> nodes) const {
    OrderOptions out;
    out.scope = OrderScope::kNode;
    out.nodes = std::move(nodes);
    out.command.wish = wish;
    out.command.by = options_.by;
    out.command.why = options_.why;
    out.config_namespace = options_.config_namespace;
    out.zones = options_.zones;
    out.in_flight = options_.in_flight;
    out.limit = options_.limit;
    return out;
  }

  // Gives the order to those that need it; `given_` and `ordered_` have it for a wait.
  net::Task<Result<void>> order(policy::state::Wish wish, bool JoinSteps::* step) {
    given_ = order_options(wish, names_for(step));
    ordered_ = OrderReport();
    if (given_.nodes.empty()) co_return Result<void>();
    const JoinStep shown_as = wish == policy::state::Wish::kOn ? JoinStep::kOn : JoinStep::kObserve;
    TM_CO_TRY(ordered_, co_await give_order(loop_, client_, given_,
                                            [&](const OrderProgress& seen) { show(shown_as, seen.nodes, seen.done); }));
    for (const OrderedNode& each : ordered_.nodes) {
      JoinedNode& shown = of(each.name).shown;
      if (each.outcome == OrderOutcome::kFailed || each.outcome == OrderOutcome::kGone) {
        shown.problem = each.problem.empty() ? "the node was deleted meanwhile" : each.problem;
        continue;
      }
      shown.state = each.state;
      if (each.outcome == OrderOutcome::kSuperseded) {
        shown.problem = cat("a later order is on it: ", policy::explain::decided_words(each.state));
      } else if (each.state.strictest() > static_cast<model::NodeState>(wish)) {
        shown.problem = cat("still ", policy::explain::state_words(each.state), ": ",
                            policy::explain::decided_words(each.state), "; that order must be lifted first");
      }
    }
    co_return Result<void>();
  }

  net::Task<Result<void>> wait_for_agents() {
    const base::MonotonicTime deadline = loop_.clock().monotonic() + options_.wait;
    while (true) {
      std::size_t nodes = 0, fresh = 0;
      for (Found& each : found_) {
        if (!each.shown.problem.empty()) continue;
        ++nodes;
        if (each.shown.agent != AgentReports::kFresh) TM_CO_TRY_VOID(co_await look_at_agent(each));
        fresh += each.shown.agent == AgentReports::kFresh ? 1 : 0;
      }
      show(JoinStep::kAgents, nodes, fresh);
      const base::Duration left = deadline - loop_.clock().monotonic();
      if (fresh == nodes || left <= base::Duration(0)) break;
      co_await loop_.sleep(std::min(kLookAgain, left));
    }
    for (Found& each : found_) {
      if (!each.shown.problem.empty() || each.shown.agent == AgentReports::kFresh) continue;
      each.shown.problem = agent_problem(each.shown, loop_.clock().wall());
    }
    co_return Result<void>();
  }

  net::Task<Result<void>> switch_on() {
    TM_CO_TRY_VOID(co_await order(policy::state::Wish::kOn, &JoinSteps::on));
    if (given_.nodes.empty() || options_.wait == base::Duration(0)) co_return Result<void>();
    const WaitReport waited = co_await wait_for_order(
        loop_, client_, log_, random_.fork(), ordered_, given_,
        {options_.wait, [&](const WaitProgress& seen) { show(JoinStep::kOn, seen.nodes, seen.reached); }});
    for (const std::string& name : waited.listed ? waited.not_reached : given_.nodes) {
      JoinedNode& shown = of(name).shown;
      if (!shown.problem.empty()) continue;
      shown.problem = cat("ordered on, but no manager confirmed it within ", base::format_go_duration(options_.wait),
                          "; check that a manager runs and leads");
    }
    co_return Result<void>();
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  const base::Log& log_;
  base::Random random_;
  JoinOptions options_;
  std::function<void(const JoinProgress&)> on_progress_;
  policy::waterline::TidemarkConfig config_ = policy::waterline::drop_in();
  std::vector<Found> found_;
  OrderOptions given_;   // the last order
  OrderReport ordered_;  // what became of it
};

}  // namespace

std::string_view to_string(AgentReports reports) {
  constexpr std::array<std::string_view, 3> kWords = {"never", "late", "fresh"};
  return kWords.at(static_cast<std::size_t>(reports));
}

JoinSteps join_steps(const JoinFacts& facts, bool observe_only, base::WallTime now) {
  const EffectiveState state = state_in(facts, facts.mode, now);
  const bool sells = state.strictest() == model::NodeState::kOn && facts.agent == AgentReports::kFresh;
  // An order of the node or the cluster outlasts the change of the pool.
  const bool stays = facts.in_pool || state.decided_by == model::Reason::kStateByNode ||
                     state.decided_by == model::Reason::kStateByCluster;
  const bool observed = state.strictest() == model::NodeState::kObserve && stays;
  JoinSteps out;
  out.observe = (observe_only || !sells) && !observed;
  out.label = !facts.in_pool;
  const bool sells_then = !out.observe && state_in(facts, facts.mode_then, now).strictest() == model::NodeState::kOn;
  out.on = !observe_only && !sells_then;
  return out;
}

bool JoinReport::failed() const {
  return std::ranges::any_of(nodes, [](const JoinedNode& each) { return !each.problem.empty(); });
}

net::Task<Result<JoinReport>> join_nodes(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                         base::Random random, JoinOptions options,
                                         std::function<void(const JoinProgress&)> on_progress) {
  Joining joining(loop, client, log, std::move(random), std::move(options), std::move(on_progress));
  co_return co_await joining.run();
}

net::Task<Result<LeaveReport>> leave_nodes(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                           base::Random random, LeaveOptions options, LeaveProgress on_progress) {
  LeaveReport out;
  OrderOptions drain = options.order;
  options.order.command.drain = base::Duration(0);
  options.order.command.evict = true;
  options.order.command.grace = options.evict.grace;
  if (options.order.dry_run) {
    TM_CO_TRY(out.order, co_await give_order(loop, client, options.order, nullptr));
    TM_CO_TRY(out.would, co_await preview_eviction(loop, client, out.order, options.order.limit));
    co_return out;
  }
  // Nodes that are off already are not drained again.
  drain.nodes.clear();
  for (const std::string& name : options.order.nodes) {
    TM_CO_TRY(const auto bytes, co_await get_if_there(client, kube::kNodes, "", name, drain.limit));
    if (!bytes) continue;
    kube::Interner interner;
    TM_CO_TRY(const kube::Node node, kube::decode_node(*bytes, fields_of_nodes(), interner));
    const auto marks = manager::read_marks(manager::mark_of(node)).marks;
    const auto state = policy::state::effective(marks, model::Mode::kEnforce, loop.clock().wall());
    if (state.k8s < model::NodeState::kOff || state.yarn < model::NodeState::kOff) drain.nodes.push_back(name);
  }
  if (drain.command.drain > base::Duration(0) && !drain.nodes.empty()) {
    TM_CO_TRY(const OrderReport draining, co_await give_order(loop, client, drain, nullptr));
    WaitOptions wait{drain.command.drain + kDrainEnds, std::move(on_progress.drains), true};
    co_await wait_for_order(loop, client, log, random.fork(), draining, drain, std::move(wait));
  }
  TM_CO_TRY(out.order, co_await give_order(loop, client, options.order, nullptr));
  out.proof = co_await evict_offline(loop, client, log, random.fork(), out.order,
                                     {options.order, options.evict, options.limit}, std::move(on_progress.evicts));
  co_return out;
}

net::Task<Result<std::vector<std::string>>> select_nodes(net::EventLoop& loop, kube::Client& client,
                                                         std::string selector, base::Duration limit) {
  std::vector<std::string> out;
  kube::Interner interner;
  kube::ListOptions list;
  list.label_selector = std::move(selector);
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kNodes, std::move(list), limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const kube::Node node, kube::decode_node(item, fields_of_nodes(), interner));
        out.emplace_back(node.meta.name.view());
        return {};
      },
      [&] { out.clear(); }));
  std::ranges::sort(out);
  co_return out;
}

}  // namespace tidemark::operate
