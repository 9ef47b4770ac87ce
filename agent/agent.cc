#include "agent/agent.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "agent/evicting.h"
#include "agent/own_objects.h"
#include "agent/pages/work_pages.h"
#include "agent/prediction/prediction_controller.h"
#include "agent/protect/condition_controller.h"
#include "agent/protect/kept_objects.h"
#include "agent/protect/limit_permit.h"
#include "agent/protect/line_ends.h"
#include "agent/protect/machinery.h"
#include "agent/protect/node_facts.h"
#include "agent/protect/protect_controller.h"
#include "agent/reaction/reaction_thread.h"
#include "agent/reaction/reactor.h"
#include "agent/record/kernel_incidents.h"
#include "agent/record/recorder.h"
#include "agent/report/node_metric_controller.h"
#include "agent/report/node_size.h"
#include "agent/report/observed.h"
#include "agent/sampler/accounts.h"
#include "agent/sampler/facilities.h"
#include "agent/sampler/sampler.h"
#include "agent/tasks/node_tasks.h"
#include "agent/tasks/task_list.h"
#include "agent/tasks/task_metrics.h"
#include "agent/tasks/told_once.h"
#include "base/text.h"
#include "kube/objects.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "net/admin.h"
#include "policy/protect/node_rules.h"
#include "policy/settings/nodeslo/read_rules.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kBreathMin = std::chrono::milliseconds(20);
constexpr base::Duration kLossesPatience = std::chrono::seconds(2);

// Access to the machine; lives as long as the agent.
struct Machine {
  linux::Hierarchies hierarchies;
  linux::Folder proc;
  std::optional<linux::Folder> numa;
};

Result<std::unique_ptr<Machine>> see_machine(const AgentOptions& options) {
  TM_TRY(auto proc, linux::Folder::open(options.places.proc_root));
  TM_TRY(auto hierarchies, see_groups(options.places));
  std::optional<linux::Folder> numa;
  if (auto folder = linux::Folder::open(options.sys_root + "/devices/system/node")) numa = std::move(*folder);
  return std::make_unique<Machine>(std::move(hierarchies), std::move(proc), std::move(numa));
}

// What can fail, done before.
struct Prepared {
  std::unique_ptr<Machine> machine;
  std::unique_ptr<NodeTasks> tasks;
};

class RunningAgent final : public Agent {
 public:
  RunningAgent(net::EventLoop& loop, const AgentConnections& connections, const base::Log& log, base::Registry& metrics,
               base::Random random, AgentOptions options, Prepared prepared)
      : loop_(loop),
        log_(log),
        metrics_(metrics),
        options_(std::move(options)),
        machine_(std::move(prepared.machine)),
        interner_(metrics, "agent"),
        facilities_(probe_facilities(
            {machine_->hierarchies, machine_->proc, machine_->numa ? &*machine_->numa : nullptr, options_.kernel_log})),
        rules_(log_, metrics,
               own_moment(options_.node_name, options_.alone ? base::Duration(0) : options_.line_ends_within)),
        own_(loop, connections.client, interner_, log_, metrics, random.fork(),
             {options_.node_name, options_.places.run_dir,
              [this](const kube::Node& node, bool saved) { use_node(node, saved); },
              [this](const kube::NodeSlo* slo) { use_node_slo(slo); }}),
        tasks_(std::move(prepared.tasks)),
        task_metrics_(metrics, tasks_->providers()),
        sampler_({machine_->hierarchies, machine_->proc, machine_->numa ? &*machine_->numa : nullptr,
                  is_there(facilities_, Facility::kRunQueue)},
                 sampler_options(options_.feature_gates), loop.clock()),
        reports_(loop, connections.client, interner_, log_, metrics, random.fork(),
                 {options_.node_name, options_.report, is_there(facilities_, Facility::kHotPageCache), options_.alone}),
        predictions_(loop, connections.files, log_, metrics,
                     {models_folder(), {options_.safety_margin_percent, policy::sell::kColdStart}}),
        condition_(loop, connections.client, log_, options_.node_name),
        audit_(connections.audit),
        incidents_(loop.clock(), log_, metrics),
        reactor_(loop.clock()),
        trial_(linux::probe_knobs(machine_->hierarchies, machine_->proc, "", connections.kernel)),
        protect_(loop,
                 {machine_->hierarchies, connections.kernel.writer(), condition_,
                  [this](model::AuditLine line) { did(std::move(line)); }, options_.reaction ? &reactor_ : nullptr},
                 log_, metrics, find_out_machinery(see(), trial_, log_),
                 {options_.places, options_.mode == "observe" ? model::Mode::kObserve : model::Mode::kEnforce,
                  options_.audit_actor, options_.tasks.kubelet.dir, trials_of(trial_), options_.feature_gates,
                  measures_of(facilities_, options_.feature_gates), options_.peers_namespace, options_.only_shows,
                  gates_without_effect(options_)}),
        unreadable_(metrics.counter("tidemark_agent_readings_unreadable_total",
                                    "Kernel values that exist but could not be read.")),
        evicting_(loop, connections, options_, log_, metrics,
                  {machine_->hierarchies, *tasks_, protect_, unreadable_,
                   [this](model::AuditLine line) { did(std::move(line)); }}),
        recorder_(loop, log_, metrics,
                  {options_.node_name, options_.state_dir, options_.record_megabytes * (std::int64_t{1} << 20),
                   [this](const model::NodeRecord& line) { incidents_.tell_kills(line); },
                   [this](const model::Task& task) { return protect_.limits_of(task); }}),
        pass_seconds_(metrics.histogram("tidemark_agent_pass_seconds", "One pass over all groups of the node.",
                                        {500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3})),
        late_passes_(
            metrics.counter("tidemark_agent_passes_skipped_total", "Passes that were skipped because they were late.")),
        scope_(loop) {
    reports_.predicted_by([this] {
      const auto node = size();
      const auto prediction =
          predictions_.predict(observed_, reports_.history(), node ? std::optional(node->allocatable) : std::nullopt);
      return Predicted{prediction.reclaimable, prediction.peak};
    });
    for (const FacilityReport& each : facilities_) {
      metrics
          .gauge("tidemark_agent_facility", "1 if this machine can measure it, else 0.",
                 {{"component", to_string(each.facility)}})
          .set(each.there ? 1 : 0);
    }
  }

  Result<void> serve() {
    TM_TRY(admin_,
           net::serve_admin(loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); },
                            {.online = [this] { return online_page(sampler_.measured(), *tasks_->snapshot()); },
                             .offline = [this] { return offline_page(sampler_.measured(), *tasks_->snapshot()); }}));
    return {};
  }

  void start() override {
    start_to_react();
    for (const FacilityReport& each : facilities_) {
      if (!each.there) log_.info("not measured here", {{"what", to_string(each.facility)}, {"why", each.why}});
    }
    for (const std::string& each : options_.feature_gates.without_effect()) log_.warn(each);
    if (const std::string gates = gates_without_effect(options_); !gates.empty())
      log_.info("feature gates of Koordinator's agent are on, without effect here", {{"gates", gates}});
    incidents_.open(options_.kernel_log, machine_->hierarchies);
    evicting_.start();
    own_.start();
    tasks_->start();
    reports_.start();
    predictions_.start();
    scope_.spawn(measure());
  }

  std::string not_ready() const override {
    if (draining_) return "stopping";
    if (!own_.synced()) return "its Node is not listed yet";
    if (!size()) return base::cat("no Node is named ", options_.node_name);
    if (const auto awaited = tasks_->awaited(); !awaited.empty()) return base::cat(awaited, " did not answer yet");
    if (!own_.missing_right().empty()) return own_.missing_right();
    return reports_.not_ready();
  }

  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }

  net::Task<void> drain() override {
    draining_ = true;
    protect_.drain();
    co_await evicting_.drain(kLossesPatience);
    co_await recorder_.drain(kLossesPatience);
  }

 private:
  // Of a cluster that Koordinator's agent may have served before.
  static std::string gates_without_effect(const AgentOptions& options) {
    return options.alone ? "" : options.feature_gates.on_without_effect();
  }

  static SamplerOptions sampler_options(const FeatureGates& gates) {
    SamplerOptions options;
    options.cpi.on = is_read(Facility::kCpi, gates);
    return options;
  }

  std::string models_folder() const { return options_.state_dir.empty() ? "" : options_.state_dir + "/models"; }

  std::optional<NodeSize> size() const {
    const kube::Node* node = own_.node();
    return node == nullptr ? std::nullopt : std::optional(node_size(*node));
  }

  MachineSights see() const {
    return {machine_->hierarchies, machine_->proc, options_.sys_root, machine_->numa ? &*machine_->numa : nullptr,
            options_.alone};
  }

  void use_node(const kube::Node& node, bool saved) {
    NodeFacts facts = node_facts(node);
    capacity_ = facts.size.capacity;
    protect_.use_node(std::move(facts));
    if (!saved) evicting_.use_node(node);
  }

  void use_rules(std::optional<std::string_view> spec) {
    auto step = policy::settings::next_node_rules(rules_.said(), spec);
    for (const policy::settings::RulesProblem& each : step.problems) {
      log_.warn("cannot use a part of the NodeSLO", {{"part", each.part}, {"error", each.why}});
    }
    if (auto text = policy::protect::without_effect_text(step.rules); text != without_effect_) {
      without_effect_ = std::move(text);
      if (!without_effect_.empty()) {
        log_.warn("the NodeSLO has settings without effect", {{"settings", without_effect_}});
      }
    }
    rules_.use(std::move(step.rules), loop_.clock().wall());
    protect_.use_rules(rules_.rules());
  }

  void use_node_slo(const kube::NodeSlo* slo) {
    use_rules(slo == nullptr ? std::nullopt : std::optional<std::string_view>(slo->spec));
    const auto taken = tasks_->use_node_slo(slo == nullptr ? std::string_view() : std::string_view(slo->spec));
    if (!taken)
      log_.warn("cannot read the host applications; keeping the previous ones", {{"error", taken.error().message}});
  }

  net::Task<void> measure() {
    while (true) {
      // Yield even when a pass overruns its interval.
      const base::Duration breath = std::max<base::Duration>(kBreathMin, sampler_.measured().pass.took / 4);
      const base::Duration left = sampler_.until_next();
      co_await loop_.sleep(left > base::Duration(0) ? left : breath);
      const auto& tasks = tasks_->snapshot();
      if (tasks->change != measured_change_) {
        measured_change_ = tasks->change;
        sampler_.set_accounts(accounts_of(*tasks));
        tell_refused(*tasks);
      }
      task_metrics_.show(tasks->refused.size(), loop_.clock().monotonic());
      const Measured& measured = sampler_.pass();
      pass_seconds_.observe(std::chrono::duration<double>(measured.pass.took).count());
      late_passes_.add(measured.pass.skipped);
      unreadable_.add(measured.pass.unreadable);
      if (measured.pass.unreadable > 0) {
        log_.warn("cannot read a kernel value", {{"error", measured.pass.an_error}});
      }
      incidents_.follow(*tasks, recorder_);
      // Until every provider has answered, the use of missing tasks would count as the system's.
      const bool known = tasks_->awaited().empty();
      if (rules_.look(loop_.clock().wall())) protect_.use_rules(rules_.rules());
      protect_.tell_line_ends(rules_.says());
      protect_.observe(measured, tasks, tasks_->groups(), known);
      tasks_->set_limit_permit(limit_permit(protect_.permits()));
      protect_.tell_copilots(tasks_->limits_say());
      if (!known) continue;
      evicting_.observe(measured, tasks, rules_.rules(), capacity_.memory, rules_.said().word.has_value());
      recorder_.observe({measured, tasks, protect_.permits(), protect_.suppress_seen(), protect_.classes()});
      observed_.take(measured, tasks);
      reports_.observe(observed_, capacity_);
      predictions_.observe(observed_, reports_.history());
    }
  }

  void did(model::AuditLine line) {
    incidents_.acted(line);
    if (audit_) audit_(std::move(line));
  }

  void tell_refused(const TaskSnapshot& tasks) {
    std::vector<std::string> refused;
    refused.reserve(tasks.refused.size());
    for (const RefusedTask& each : tasks.refused) {
      refused.push_back(base::cat(each.task->name, " claims ", base::in_quotes(each.task->path), ": ",
                                  to_string(each.why), each.owner ? base::cat(" (", each.owner->name, ")") : ""));
    }
    for (const std::string& each : refused_.take(std::move(refused))) {
      log_.warn("a group already has another owner", {{"task", each}});
    }
  }

  void start_to_react() {
    if (!options_.reaction) return;
    auto started = ReactionThread::start(loop_, reactor_, [this] { protect_.decide(); });
    if (!started) {
      protect_.no_thread();
      return log_.warn("cannot start the reaction; surges wait for the next decision",
                       {{"error", started.error().message}});
    }
    reaction_ = std::move(*started);
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  AgentOptions options_;
  std::unique_ptr<Machine> machine_;
  kube::Interner interner_;
  std::vector<FacilityReport> facilities_;
  LineEnds rules_;              // of the NodeSLO
  std::string without_effect_;  // settings of it, as last logged
  OwnObjects own_;
  std::unique_ptr<NodeTasks> tasks_;
  TaskMetrics task_metrics_;
  Sampler sampler_;
  std::optional<std::uint64_t> measured_change_;
  ToldOnce refused_;
  Observed observed_;
  model::Resources capacity_;  // 0 until the node is known
  NodeMetricController reports_;
  PredictionController predictions_;
  ConditionController condition_;
  std::function<void(model::AuditLine)> audit_;
  KernelIncidents incidents_;
  Reactor reactor_;
  Result<linux::KnobReport> trial_;
  ProtectController protect_;
  std::unique_ptr<ReactionThread> reaction_;  // destroyed first
  base::Counter& unreadable_;
  Evicting evicting_;
  Recorder recorder_;
  base::Histogram& pass_seconds_;
  base::Counter& late_passes_;
  std::unique_ptr<net::HttpServer> admin_;
  bool draining_ = false;
  net::Scope scope_;  // last: its tasks use everything above
};

KeptList kept_list(const std::string& folder, const base::Log& log) {
  const auto kept = std::make_shared<KeptObjects>(folder);
  return {.keep =
              [kept, log](std::string_view list) {
                if (const auto done = kept->keep(KeptObject::kPods, list); !done) {
                  log.warn("cannot save the pods for restart", {{"error", done.error().message}});
                }
              },
          .recall = [kept]() -> std::optional<std::string> {
            auto list = kept->read(KeptObject::kPods);
            return list ? std::move(*list) : std::nullopt;
          }};
}

}  // namespace

Result<std::unique_ptr<Agent>> Agent::make(net::EventLoop& loop, AgentConnections connections, const base::Log& log,
                                           base::Registry& metrics, base::Random random, AgentOptions options) {
  TM_TRY(auto config, options.tasks.config(options.node_name));
  TM_TRY(auto machine, see_machine(options));
  TM_TRY(auto tasks, NodeTasks::make(loop,
                                     {.hierarchies = &machine->hierarchies,
                                      .reader = &connections.client,
                                      .watcher = &connections.client,
                                      .kubelet_bearer = connections.bearer,
                                      .kubelet_list = kept_list(options.places.run_dir, log),
                                      .metrics = &metrics,
                                      .workers = &connections.resolvers},
                                     log, random.fork(), std::move(config)));
  auto agent = std::make_unique<RunningAgent>(loop, connections, log, metrics, std::move(random), std::move(options),
                                              Prepared{std::move(machine), std::move(tasks)});
  TM_TRY_VOID(agent->serve());
  return Result<std::unique_ptr<Agent>>(std::move(agent));
}

}  // namespace tidemark::agent
