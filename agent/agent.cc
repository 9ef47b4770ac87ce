#include "agent/agent.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "agent/prediction/prediction_controller.h"
#include "agent/report/node_metric_controller.h"
#include "agent/report/node_size.h"
#include "agent/report/observed.h"
#include "agent/sampler/accounts.h"
#include "agent/sampler/facilities.h"
#include "agent/sampler/kernel_events.h"
#include "agent/sampler/sampler.h"
#include "agent/tasks/node_tasks.h"
#include "agent/tasks/task_list.h"
#include "base/text.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "net/admin.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kBreathMin = std::chrono::milliseconds(20);
constexpr base::Duration kListPatience = std::chrono::minutes(1);

// What the machine is seen by; lives as long as the agent.
struct Machine {
  linux::Hierarchies hierarchies;
  linux::Folder proc;
  std::optional<linux::Folder> numa;
};

Result<std::unique_ptr<Machine>> see_machine(const AgentOptions& options) {
  TM_TRY(auto proc, linux::Folder::open(options.proc_root));
  linux::Buffer buffer;
  TM_TRY(const auto mounts, proc.read("self/mountinfo", buffer));
  TM_TRY(auto hierarchies, linux::Hierarchies::discover(options.cgroup_root, mounts.value_or("")));
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
        node_(loop, connections.client, connections.client, log_, metrics, random.fork(), own_node(),
              [this](std::string_view bytes) { return kube::decode_node(bytes, node_size_fields(), interner_); }),
        node_slo_(loop, connections.client, connections.client, log_, metrics, random.fork(), own_node_slo(),
                  [this](std::string_view bytes) { return kube::decode_node_slo(bytes, {}, interner_); }),
        tasks_(std::move(tasks)),
        sampler_({machine_->hierarchies, machine_->proc, machine_->numa ? &*machine_->numa : nullptr,
                  is_there(facilities_, Facility::kRunQueue)},
                 sampler_options(), loop.clock()),
        reports_(loop, connections.client, interner_, log_, metrics, random.fork(),
                 {options_.node_name, options_.report, is_there(facilities_, Facility::kHotPageCache)}),
        predictions_(loop, connections.workers, log_, metrics,
                     {models_folder(), {options_.safety_margin_percent, policy::kColdStart}}),
        pass_seconds_(metrics.histogram("tidemark_agent_pass_seconds", "One pass over all groups of the node.",
                                        {500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3})),
        late_passes_(metrics.counter("tidemark_agent_passes_skipped_total",
                                     "Passes that another one had to stand for, since they were late.")),
        unreadable_(metrics.counter("tidemark_agent_readings_unreadable_total",
                                    "Values of the kernel that were there and could not be read.")),
        scope_(loop) {
    reports_.predicted_by([this] {
      const auto node = size();
      const auto prediction =
          predictions_.predict(observed_, reports_.history(), node ? std::optional(node->allocatable) : std::nullopt);
      return Predicted{prediction.reclaimable, prediction.peak};
    });
    node_.subscribe([this](const kube::ObjectKey&, const kube::Node*, const kube::Node* after) {
      if (after == nullptr) return;  // a node that is made anew is the same machine
      const NodeSize size = node_size(*after);
      capacity_ = size.capacity;
      if (size.unreadable) log_.warn("an annotation of the node", {{"error", size.unreadable->message}});
    });
    node_slo_.subscribe(
        [this](const kube::ObjectKey&, const kube::NodeSlo*, const kube::NodeSlo* after) { use_node_slo(after); });
    for (const FacilityReport& each : facilities_) {
      metrics
          .gauge("tidemark_agent_facility", "1 where the machine lets this be measured, else 0.",
                 {{"component", to_string(each.facility)}})
          .set(each.there ? 1 : 0);
    }
  }

  Result<void> serve() {
    TM_TRY(admin_, net::serve_admin(loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); }));
    return {};
  }

  void start() override {
    for (const FacilityReport& each : facilities_) {
      if (!each.there) log_.info("not measured here", {{"what", to_string(each.facility)}, {"why", each.why}});
    }
    open_kernel_log();
    scope_.spawn(node_.run());
    scope_.spawn(node_slo_.run());
    scope_.spawn(hear_that_there_is_no_node_slo());
    tasks_->start();
    reports_.start();
    predictions_.start();
    scope_.spawn(measure());
  }

  std::string not_ready() const override {
    if (draining_) return "on its way out";
    if (!node_.synced()) return "its Node is not listed yet";
    if (!size()) return base::cat("no Node is named ", options_.node_name);
    if (const auto awaited = tasks_->awaited(); !awaited.empty()) return base::cat(awaited, " did not answer yet");
    return reports_.not_ready();
  }

  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }

  net::Task<void> drain() override {
    draining_ = true;
    co_return;
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

  // Nobody reads cycles an instruction yet, and counting them takes descriptors and two counters from whoever profiles.
  static SamplerOptions sampler_options() {
    SamplerOptions options;
    options.cpi.on = false;
    return options;
  }

  std::string models_folder() const { return options_.state_dir.empty() ? "" : options_.state_dir + "/models"; }

  std::optional<NodeSize> size() const {
    const kube::Node* node = node_.find({"", options_.node_name});
    return node == nullptr ? std::nullopt : std::optional(node_size(*node));
  }

  void use_node_slo(const kube::NodeSlo* slo) {
    const auto taken = tasks_->use_node_slo(slo == nullptr ? std::string_view() : std::string_view(slo->spec));
    if (!taken) log_.warn("the host applications of before stay", {{"error", taken.error().message}});
  }

  net::Task<void> hear_that_there_is_no_node_slo() {
    while (!co_await node_slo_.wait_synced(kListPatience)) {
    }
    if (node_slo_.find({"", options_.node_name}) == nullptr) use_node_slo(nullptr);
  }

  net::Task<void> measure() {
    while (true) {
      // Everybody else has his turn also where a pass takes longer than what is between two.
      const base::Duration breath = std::max<base::Duration>(kBreathMin, sampler_.measured().pass.took / 4);
      const base::Duration left = sampler_.until_next();
      co_await loop_.sleep(left > base::Duration(0) ? left : breath);
      const auto& tasks = tasks_->snapshot();
      if (tasks->change != measured_change_) {
        measured_change_ = tasks->change;
        sampler_.set_accounts(accounts_of(*tasks, [](const model::Task&) { return false; }));
        tell_refused(*tasks);
      }
      const Measured& measured = sampler_.pass();
      pass_seconds_.observe(std::chrono::duration<double>(measured.pass.took).count());
      late_passes_.add(measured.pass.skipped);
      unreadable_.add(measured.pass.unreadable);
      if (measured.pass.unreadable > 0) {
        log_.warn("a value of the kernel cannot be read", {{"error", measured.pass.an_error}});
      }
      follow_kernel_log(*tasks);
      // As long as somebody has not said what runs here, its use would pass for the system's.
      if (!tasks_->awaited().empty()) continue;
      observed_.take(measured, tasks);
      reports_.observe(observed_, capacity_);
      predictions_.observe(observed_, reports_.history());
    }
  }

  void tell_refused(const TaskSnapshot& tasks) {
    for (const RefusedTask& each : tasks.refused) {
      log_.warn("a group is another one's already", {{"group", each.task->path},
                                                     {"task", each.task->name},
                                                     {"owner", each.owner ? each.owner->name : ""},
                                                     {"why", to_string(each.why)}});
    }
  }

  void open_kernel_log() {
    auto opened = KernelEvents::open(options_.kernel_log, linux::KernelLog::From::kNow, machine_->hierarchies);
    if (!opened) return log_.info("the kernel's log is not followed", {{"why", opened.error().message}});
    kernel_.emplace(std::move(*opened));
  }

  void follow_kernel_log(const TaskSnapshot& tasks) {
    if (!kernel_) return;
    if (const auto read = kernel_->read(tasks); !read) {
      log_.warn("the kernel's log cannot be read", {{"error", read.error().message}});
      return;
    }
    for (const KernelEvent& event : kernel_->take()) {
      const ListedTask* owner = event.owner ? tasks.find(*event.owner) : nullptr;
      log_.warn("the kernel says",
                {{"what", linux::to_string(event.kind)},
                 {"process", event.task},
                 {"group", event.group},
                 {"task", owner == nullptr ? "" : base::cat(owner->task->ns, "/", owner->task->name)}});
      metrics_
          .counter("tidemark_agent_kernel_incidents_total", "What the kernel's log told of, by kind.",
                   {{"reason", linux::to_string(event.kind)}})
          .add();
    }
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  AgentOptions options_;
  std::unique_ptr<Machine> machine_;
  kube::Interner interner_;
  std::vector<FacilityReport> facilities_;
  kube::Informer<kube::Node> node_;
  kube::Informer<kube::NodeSlo> node_slo_;
  std::unique_ptr<NodeTasks> tasks_;
  Sampler sampler_;
  std::optional<std::uint64_t> measured_change_;
  Observed observed_;
  model::Resources capacity_;  // 0 until the node is known
  NodeMetricController reports_;
  PredictionController predictions_;
  std::optional<KernelEvents> kernel_;
  base::Histogram& pass_seconds_;
  base::Counter& late_passes_;
  base::Counter& unreadable_;
  std::unique_ptr<net::HttpServer> admin_;
  bool draining_ = false;
  net::Scope scope_;  // last: its tasks use everything above
};

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
                                      .metrics = &metrics,
                                      .workers = &connections.workers},
                                     log, random.fork(), std::move(config)));
  auto agent = std::make_unique<RunningAgent>(loop, connections, log, metrics, std::move(random), std::move(options),
                                              std::move(machine), std::move(tasks));
  TM_TRY_VOID(agent->serve());
  return Result<std::unique_ptr<Agent>>(std::move(agent));
}

}  // namespace tidemark::agent
