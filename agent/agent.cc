#include "agent/agent.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "agent/evict/disk_watch.h"
#include "agent/evict/ending.h"
#include "agent/evict/evict_lines.h"
#include "agent/evict/eviction_controller.h"
#include "agent/evict/last_words.h"
#include "agent/evict/loss_ledger.h"
#include "agent/evict/pods_room.h"
#include "agent/evict/take_back.h"
#include "agent/evict/task_ends.h"
#include "agent/prediction/prediction_controller.h"
#include "agent/protect/condition_controller.h"
#include "agent/protect/kept_objects.h"
#include "agent/protect/limit_stance.h"
#include "agent/protect/line_ends.h"
#include "agent/protect/machinery.h"
#include "agent/protect/node_facts.h"
#include "agent/protect/protect_controller.h"
#include "agent/reaction/reaction_thread.h"
#include "agent/reaction/reactor.h"
#include "agent/record/last_action.h"
#include "agent/record/recorder.h"
#include "agent/report/node_metric_controller.h"
#include "agent/report/node_size.h"
#include "agent/report/observed.h"
#include "agent/report/read_rights.h"
#include "agent/sampler/accounts.h"
#include "agent/sampler/facilities.h"
#include "agent/sampler/kernel_events.h"
#include "agent/sampler/sampler.h"
#include "agent/tasks/node_tasks.h"
#include "agent/tasks/task_list.h"
#include "agent/tasks/task_metrics.h"
#include "agent/tasks/told_once.h"
#include "base/text.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "net/admin.h"
#include "policy/protect/node_rules.h"
#include "policy/settings/nodeslo/read_rules.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kBreathMin = std::chrono::milliseconds(20);
constexpr base::Duration kLossesPatience = std::chrono::seconds(2);
constexpr base::Duration kListPatience = std::chrono::minutes(1);

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

class RunningAgent final : public Agent {
 public:
  RunningAgent(net::EventLoop& loop, const AgentConnections& connections, const base::Log& log, base::Registry& metrics,
               base::Random random, AgentOptions options, std::unique_ptr<Machine> machine,
               std::unique_ptr<NodeTasks> tasks)
      : loop_(loop),
        log_(log),
        metrics_(metrics),
        options_(std::move(options)),
        machine_(std::move(machine)),
        interner_(metrics, "agent"),
        facilities_(probe_facilities(
            {machine_->hierarchies, machine_->proc, machine_->numa ? &*machine_->numa : nullptr, options_.kernel_log})),
        kept_(options_.places.run_dir),
        rules_(log_, metrics,
               own_moment(options_.node_name, options_.alone ? base::Duration(0) : options_.line_ends_within)),
        node_(loop, connections.client, connections.client, log_, metrics, random.fork(), own_node(),
              [this](std::string_view bytes) {
                keep(KeptObject::kNode, bytes);
                return kube::decode_node(bytes, node_facts_fields(), interner_);
              }),
        node_slo_rights_(connections.client, connections.client, log_),
        node_slo_(loop, node_slo_rights_, node_slo_rights_, log_, metrics, random.fork(), own_node_slo(),
                  [this](std::string_view bytes) {
                    keep(KeptObject::kNodeSlo, bytes);
                    return kube::decode_node_slo(bytes, {}, interner_);
                  }),
        tasks_(std::move(tasks)),
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
        reactor_(loop.clock()),
        trial_(linux::probe_knobs(machine_->hierarchies, machine_->proc, "", connections.kernel)),
        protect_(loop,
                 {machine_->hierarchies, connections.kernel.writer(), condition_,
                  [this](model::AuditLine line) { did(std::move(line)); }, options_.reaction ? &reactor_ : nullptr},
                 log_, metrics, find_out_machinery(see(), trial_, log_),
                 {options_.places, options_.mode == "observe" ? model::Mode::kObserve : model::Mode::kEnforce,
                  options_.audit_actor, options_.tasks.kubelet.dir, trials_of(trial_), options_.feature_gates,
                  measures_of(facilities_, options_.feature_gates), options_.peers_namespace, options_.only_shows}),
        killer_(machine_->hierarchies, connections.killing),
        events_(loop, connections.client, log_, metrics, "tidemark-agent"),
        losses_(loop, log_, metrics, options_.state_dir),
        last_words_(loop, connections.files, log_, options_.pod_logs, options_.state_dir),
        take_back_(loop, connections.client.ahead(), log_, options_.node_name, options_.yarn_hold_back),
        ending_(loop,
                {connections.client, killer_, [this](const model::Task& task) { return tasks_->copilot_of(task); },
                 &take_back_, [this](model::AuditLine line) { did(std::move(line)); }},
                log_, options_.audit_actor),
        ends_(loop, connections.client, log_, options_.node_name),
        disks_(loop, connections.disks, log_, metrics,
               {options_.tasks.kubelet.dir, options_.tasks.kubelet.runtime_dir, options_.pod_logs},
               [this] { return tasks_->held_on_disks(); }),
        evict_memory_(log_, options_.places.run_dir, options_.places.proc_root),
        lines_(log_),
        pods_room_(machine_->hierarchies),
        eviction_(loop, {ending_, &events_, &losses_, &last_words_, &evict_memory_, &ends_}, log_, metrics,
                  eviction_defaults(options_.feature_gates.evictions(), options_.alone)),
        recorder_(loop, log_, metrics,
                  {options_.node_name, options_.state_dir, options_.record_megabytes * (std::int64_t{1} << 20),
                   [this](const model::NodeRecord& line) { tell_kills(line); }}),
        pass_seconds_(metrics.histogram("tidemark_agent_pass_seconds", "One pass over all groups of the node.",
                                        {500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3})),
        late_passes_(
            metrics.counter("tidemark_agent_passes_skipped_total", "Passes that were skipped because they were late.")),
        unreadable_(metrics.counter("tidemark_agent_readings_unreadable_total",
                                    "Kernel values that exist but could not be read.")),
        scope_(loop) {
    reports_.predicted_by([this] {
      const auto node = size();
      const auto prediction =
          predictions_.predict(observed_, reports_.history(), node ? std::optional(node->allocatable) : std::nullopt);
      return Predicted{prediction.reclaimable, prediction.peak};
    });
    node_.subscribe([this](const kube::ObjectKey&, const kube::Node*, const kube::Node* after) {
      if (after == nullptr) return;  // a recreated Node is the same machine
      use_node(*after);
      take_back_.use_node(*after);
      ends_.use_node(*after);
    });
    node_slo_.subscribe(
        [this](const kube::ObjectKey&, const kube::NodeSlo*, const kube::NodeSlo* after) { use_node_slo(after); });
    for (const FacilityReport& each : facilities_) {
      metrics
          .gauge("tidemark_agent_facility", "1 if this machine can measure it, else 0.",
                 {{"component", to_string(each.facility)}})
          .set(each.there ? 1 : 0);
    }
  }

  Result<void> serve() {
    TM_TRY(admin_, net::serve_admin(loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); }));
    return {};
  }

  void start() override {
    start_to_react();
    for (const FacilityReport& each : facilities_) {
      if (!each.there) log_.info("not measured here", {{"what", to_string(each.facility)}, {"why", each.why}});
    }
    for (const std::string& each : options_.feature_gates.without_effect()) log_.warn(each);
    log_.info("feature gates of Koordinator's agent are on, without effect here",
              {{"gates", options_.feature_gates.on_without_effect()}});
    open_kernel_log();
    scope_.spawn(events_.run());
    go_on_from_before();
    scope_.spawn(node_.run());
    scope_.spawn(node_slo_.run());
    scope_.spawn(hear_that_there_is_no_node_slo());
    tasks_->start();
    reports_.start();
    predictions_.start();
    scope_.spawn(measure());
  }

  std::string not_ready() const override {
    if (draining_) return "stopping";
    if (!node_.synced()) return "its Node is not listed yet";
    if (!size()) return base::cat("no Node is named ", options_.node_name);
    if (const auto awaited = tasks_->awaited(); !awaited.empty()) return base::cat(awaited, " did not answer yet");
    if (!node_slo_rights_.missing().empty()) return node_slo_rights_.missing();
    return reports_.not_ready();
  }

  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }

  net::Task<void> drain() override {
    draining_ = true;
    protect_.drain();
    co_await ends_.drain(kLossesPatience);
    co_await losses_.drain(kLossesPatience);
    co_await recorder_.drain(kLossesPatience);
  }

 private:
  kube::InformerConfig own_node() const {
    kube::InformerConfig config;
    config.resource = kube::kNodes;
    config.field_selector = "metadata.name=" + options_.node_name;
    return config;
  }

  kube::InformerConfig own_node_slo() const {
    kube::InformerConfig config;
    config.resource = kube::kNodeSlos;
    config.field_selector = "metadata.name=" + options_.node_name;
    config.may_be_absent = true;
    return config;
  }

  static SamplerOptions sampler_options(const FeatureGates& gates) {
    SamplerOptions options;
    options.cpi.on = is_read(Facility::kCpi, gates);
    return options;
  }

  std::string models_folder() const { return options_.state_dir.empty() ? "" : options_.state_dir + "/models"; }

  std::optional<NodeSize> size() const {
    const kube::Node* node = node_.find({"", options_.node_name});
    return node == nullptr ? std::nullopt : std::optional(node_size(*node));
  }

  MachineSights see() const {
    return {machine_->hierarchies, machine_->proc, options_.sys_root, machine_->numa ? &*machine_->numa : nullptr,
            options_.alone};
  }

  void keep(KeptObject what, std::string_view bytes) {
    if (const auto kept = kept_.keep(what, bytes); !kept) {
      log_.warn("cannot save Node and NodeSLO for restart", {{"error", kept.error().message}});
    }
  }

  // Uses the objects that an earlier agent saved until the API server answers.
  void go_on_from_before() {
    if (const auto bytes = kept_.read(KeptObject::kNode); bytes && *bytes) {
      if (const auto node = kube::decode_node(**bytes, node_facts_fields(), interner_)) use_node(*node);
    }
    if (const auto bytes = kept_.read(KeptObject::kNodeSlo); bytes && *bytes) {
      if (const auto slo = kube::decode_node_slo(**bytes, {}, interner_)) use_node_slo(&*slo);
    }
  }

  void use_node(const kube::Node& node) {
    NodeFacts facts = node_facts(node);
    capacity_ = facts.size.capacity;
    protect_.use_node(std::move(facts));
  }

  void use_rules(std::optional<std::string_view> spec) {
    auto step = policy::settings::next_node_rules(rules_.said(), spec);
    for (const policy::settings::RulesProblem& each : step.problems) {
      log_.warn("cannot use a part of the NodeSLO", {{"part", each.part}, {"error", each.why}});
    }
    if (auto text = policy::protect::without_effect_text(step.rules); text != without_effect_) {
      without_effect_ = std::move(text);
      log_.warn("the NodeSLO has settings without effect", {{"settings", without_effect_}});
    }
    rules_.use(std::move(step.rules), loop_.clock().wall());
    protect_.use_rules(rules_.rules());
  }

  void use_node_slo(const kube::NodeSlo* slo) {
    if (slo == nullptr) {
      if (const auto dropped = kept_.drop(KeptObject::kNodeSlo); !dropped) {
        log_.warn("cannot remove the saved NodeSLO", {{"error", dropped.error().message}});
      }
    }
    use_rules(slo == nullptr ? std::nullopt : std::optional<std::string_view>(slo->spec));
    const auto taken = tasks_->use_node_slo(slo == nullptr ? std::string_view() : std::string_view(slo->spec));
    if (!taken)
      log_.warn("cannot read the host applications; keeping the previous ones", {{"error", taken.error().message}});
  }

  net::Task<void> hear_that_there_is_no_node_slo() {
    while (!co_await node_slo_.wait_synced(kListPatience)) {
    }
    if (node_slo_.find({"", options_.node_name}) == nullptr) use_node_slo(nullptr);
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
        sampler_.set_accounts(accounts_of(*tasks, [](const model::Task&) { return false; }));
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
      follow_kernel_log(*tasks);
      // Until every provider has answered, the use of missing tasks would count as the system's.
      const bool known = tasks_->awaited().empty();
      if (rules_.look(loop_.clock().wall())) protect_.use_rules(rules_.rules());
      protect_.tell_line_ends(rules_.says());
      protect_.observe(measured, tasks, tasks_->groups(), known);
      tasks_->stand_to_limits(limit_stance(protect_.stands()));
      protect_.tell_copilots(tasks_->limits_say());
      if (!known) continue;
      evict(measured, tasks);
      ends_.observe(tasks, rules_.said().word.has_value() && options_.report);
      recorder_.observe({measured, tasks, protect_.stands(), protect_.suppress_seen(), protect_.classes()});
      observed_.take(measured, tasks);
      reports_.observe(observed_, capacity_);
      predictions_.observe(observed_, reports_.history());
    }
  }

  void evict(const Measured& measured, const std::shared_ptr<const TaskSnapshot>& tasks) {
    const policy::state::Stance& stands = protect_.stands();
    constexpr auto kIndex = static_cast<std::size_t>(model::Strategy::kEviction);
    const BesteffortInForce besteffort =
        besteffort_in_force(protect_.suppress_seen(), protect_.suppress_plan(), protect_.container_cpus());
    // Observe mode reads the same as enforce mode. If eviction cannot act at all, a full disk is not scanned.
    const bool may_act = !stands.off && (stands.permits[kIndex] == policy::state::Permit::kEnforce ||
                                         stands.permits[kIndex] == policy::state::Permit::kPutBack);
    const policy::protect::NodeRules& rules =
        lines_.hold(rules_.rules(), tasks_->kubelet(), capacity_.memory, disks_.sights());
    disks_.observe(rules.word && rules.threshold.enable ? rules.word->evict : model::EvictSettings(), *tasks, may_act);
    const std::string* group = group_of_pods();
    eviction_.observe({.seen = {protect_.facts(), measured, *tasks, rules.threshold, besteffort, &disks_.sights(),
                                stands.off, stands.withdrawn, left_to_pods(rules.threshold),
                                group != nullptr ? std::string_view(*group) : std::string_view()},
                       .tasks = tasks,
                       .rules = rules,
                       .permit = stands.permits[kIndex],
                       .yarn_preempts = take_back_.heard()});
    protect_.tell_eviction(eviction_.says(), lines_.says());
  }

  // The group of all pods; null: there is none.
  const std::string* group_of_pods() const {
    const linux::Kubepods* kubepods = tasks_->groups().kubepods();
    return kubepods == nullptr ? nullptr : &kubepods->qos_path(linux::KubeQos::kGuaranteed);
  }

  // Read only if a threshold needs it.
  std::optional<model::MemoryBytes> left_to_pods(const policy::protect::ThresholdRules& rules) {
    const std::string* group = group_of_pods();
    if (!rules.enable || !rules.pods_before_kubelet_percent || group == nullptr) return std::nullopt;
    const auto left = pods_room_.look(*group);
    if (left) return *left;
    unreadable_.add();
    log_.warn("cannot read a kernel value", {{"error", left.error().message}});
    return std::nullopt;
  }

  void did(model::AuditLine line) {
    last_action_.take(line, loop_.clock().monotonic());
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

  void open_kernel_log() {
    auto opened = KernelEvents::open(options_.kernel_log, linux::KernelLog::From::kNow, machine_->hierarchies);
    if (!opened) return log_.info("cannot follow the kernel's log", {{"why", opened.error().message}});
    kernel_.emplace(std::move(*opened));
  }

  void follow_kernel_log(const TaskSnapshot& tasks) {
    const base::MonotonicTime now = loop_.clock().monotonic();
    if (!kernel_ || now < kernel_read_at_) return;
    kernel_read_at_ = now + kernel_->interval();
    if (const auto read = kernel_->read(tasks); !read) {
      log_.warn("cannot read the kernel's log", {{"error", read.error().message}});
      return;
    }
    for (const KernelEvent& event : kernel_->take()) {
      recorder_.observe(event, tasks);
      const ListedTask* owner = event.owner ? tasks.find(*event.owner) : nullptr;
      log_.warn("the kernel says",
                {{"what", linux::to_string(event.kind)},
                 {"process", event.task},
                 {"group", event.group},
                 {"task", owner == nullptr ? "" : base::cat(owner->task->ns, "/", owner->task->name)},
                 {"our_last_action", last_action_.text(loop_.clock().monotonic())}});
      incidents(linux::to_string(event.kind)).add();
    }
  }

  base::Counter& incidents(std::string_view kind) {
    return metrics_.counter("tidemark_agent_kernel_incidents_total",
                            "Incidents in the kernel's log, by kind; without a log, kills counted by cgroups.",
                            {{"reason", kind}});
  }

  // Without the kernel's log, which reports each kill with its process, kills are taken from the counters of groups.
  void tell_kills(const model::NodeRecord& line) {
    if (kernel_) return;
    for (const model::TaskRecord& task : line.tasks) {
      if (task.oom_kills == 0) continue;
      log_.warn("the kernel ended processes for want of memory",
                {{"task", base::cat(task.ns, "/", task.name)},
                 {"kills", task.oom_kills},
                 {"our_last_action", last_action_.text(loop_.clock().monotonic())}});
      incidents(linux::to_string(linux::KernelIncidentKind::kOomKill)).add(static_cast<double>(task.oom_kills));
    }
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  AgentOptions options_;
  std::unique_ptr<Machine> machine_;
  kube::Interner interner_;
  std::vector<FacilityReport> facilities_;
  KeptObjects kept_;
  LineEnds rules_;              // of the NodeSLO
  std::string without_effect_;  // settings of it, as last logged
  kube::Informer<kube::Node> node_;
  ReadRights node_slo_rights_;
  kube::Informer<kube::NodeSlo> node_slo_;
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
  LastAction last_action_;
  Reactor reactor_;
  Result<linux::KnobReport> trial_;
  ProtectController protect_;
  std::unique_ptr<ReactionThread> reaction_;  // destroyed first
  linux::KernelGroupKiller killer_;
  kube::EventRecorder events_;
  LossLedger losses_;
  LastWords last_words_;
  TakeBack take_back_;
  Ending ending_;
  TaskEnds ends_;
  DiskWatch disks_;
  EvictMemory evict_memory_;
  EvictLines lines_;
  PodsRoom pods_room_;
  EvictionController eviction_;
  Recorder recorder_;
  std::optional<KernelEvents> kernel_;
  base::MonotonicTime kernel_read_at_;  // earliest time of the next read
  base::Histogram& pass_seconds_;
  base::Counter& late_passes_;
  base::Counter& unreadable_;
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
                                              std::move(machine), std::move(tasks));
  TM_TRY_VOID(agent->serve());
  return Result<std::unique_ptr<Agent>>(std::move(agent));
}

}  // namespace tidemark::agent
