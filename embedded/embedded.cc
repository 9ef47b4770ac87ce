#include "embedded/embedded.h"

#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <utility>

#include "base/metrics.h"
#include "base/random.h"
#include "base/text.h"
#include "embedded/agent_trouble.h"
#include "embedded/component_thread.h"
#include "embedded/crds.h"
#include "embedded/credentials.h"
#include "embedded/settings_file.h"
#include "journal/whole_file.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "linux/cgroup/kill.h"
#include "linux/knob_probe.h"
#include "net/http_server.h"
#include "net/listening.h"
#include "net/worker.h"

namespace tidemark::embedded {
namespace {

// Watches of one machine start soon after a list, so a short history is enough; a short Job leaves 60 KB of it.
constexpr std::size_t kHistoryOfOneMachine = std::size_t{16} << 20;
constexpr int kWorkers = 1;  // SQLite has one writer
constexpr std::size_t kWorkerQueueMax = 4096;
constexpr std::size_t kFileQueueMax = 16;
constexpr base::Duration kDrainLimit = std::chrono::seconds(5);
constexpr base::Duration kInstallLimit = std::chrono::seconds(20);
constexpr std::string_view kIdentity = "embedded";  // of the manager

class ManagerComponent final : public Component {
 public:
  ManagerComponent(net::EventLoop& loop, std::unique_ptr<manager::Manager> manager,
                   std::unique_ptr<SettingsFile> settings)
      : manager_(std::move(manager)), settings_(std::move(settings)), scope_(loop) {}
  void start() override {
    manager_->start();
    if (settings_) scope_.spawn(settings_->run());
  }
  net::Task<void> drain() override { return manager_->drain(); }

 private:
  std::unique_ptr<manager::Manager> manager_;
  std::unique_ptr<SettingsFile> settings_;  // null: no file, only kubectl changes settings
  net::Scope scope_;
};

// With what lies outside of it, which in production is a process of its own.
class AgentComponent final : public Component {
 public:
  AgentComponent() : resolvers_(1, kFileQueueMax), files_(1, kFileQueueMax), disks_(1, kFileQueueMax) {}

  Result<void> make(const ComponentSurroundings& around, base::Registry& metrics, agent::AgentOptions options) {
    TM_TRY(agent_,
           agent::Agent::make(
               around.loop, {around.client, around.bearer, resolvers_, files_, disks_, kernel_, killing_, around.audit},
               around.log, metrics, around.random.fork(), std::move(options)));
    return {};
  }
  void start() override { agent_->start(); }
  net::Task<void> drain() override { return agent_->drain(); }

 private:
  net::WorkerPool resolvers_, files_, disks_;
  linux::KernelProbeRim kernel_;
  linux::KernelKillRim killing_;
  std::unique_ptr<agent::Agent> agent_;  // last: it uses everything above
};

class RuntimeComponent final : public Component {
 public:
  Result<void> make(const ComponentSurroundings& around, base::Registry& metrics, runtime::RuntimeOptions options) {
    TM_TRY(runtime_, runtime::Runtime::make(around.loop, around.client, around.log, metrics, around.random.fork(),
                                            killing_, std::move(options)));
    return {};
  }
  void start() override { runtime_->start(); }
  net::Task<void> drain() override { return runtime_->drain(); }

 private:
  linux::KernelKillRim killing_;
  std::unique_ptr<runtime::Runtime> runtime_;
};

// The classes of work, as the peer's chart makes them.
std::vector<kube::memory::ClassOfPriority> classes_of_work() {
  return {{"koord-prod", 9000}, {"koord-mid", 7000}, {"koord-batch", 5000}, {"koord-free", 3000}};
}

net::Task<Result<void>> make_once(kube::Client& client, const kube::Resource& resource, Json object) {
  const auto made = co_await client.create(resource, object.dump(), {}, "", kInstallLimit);
  if (!made && made.error().kind != ErrorKind::kAlreadyExists) {
    co_return std::unexpected(made.error().within(base::cat(resource.plural, " ", object.text_at("metadata", "name"))));
  }
  co_return Result<void>();
}

// What a chart would bring: without the namespace the manager could keep nothing of the settings in force.
net::Task<Result<void>> install(kube::Client& client, const base::Log& log, std::string config_namespace,
                                SettingsFile* settings) {
  TM_CO_TRY_VOID(co_await install_crds(client, log));
  TM_CO_TRY_VOID(co_await make_once(client, kube::kNamespaces,
                                    Json::object({{"metadata", Json::object({{"name", config_namespace}})}})));
  if (settings != nullptr) TM_CO_TRY_VOID(co_await settings->begin());
  co_return Result<void>();
}

// Why nothing that is decided for this machine's groups could be written; "": it can.
Result<std::string> why_only_shown(net::EventLoop& loop, const runtime::RuntimeOptions& options, const base::Log& log) {
  if (::geteuid() != 0) {
    log.warn("not run by root: pods have no cgroups and no limits; decisions for them are only shown");
    return "not run by root";
  }
  linux::KernelKillRim killing;
  TM_TRY(std::string why, runtime::why_no_groups(loop, options, killing));
  if (!why.empty()) {
    log.warn("cannot create cgroups: pods have no limits; decisions for them are only shown", {{"why", why}});
  }
  return why;
}

// Sets options that are unset, from the directory and the machine. Creates nothing.
Result<void> complete(EmbeddedOptions& options) {
  std::error_code error;
  const std::string folder = std::filesystem::absolute(options.data_dir, error).lexically_normal().string();
  if (error) return fail(ErrorKind::kIo, "--data-dir ", options.data_dir, ": ", error.message());
  runtime::RuntimeOptions& runtime = options.runtime;
  runtime.data_dir = folder;
  runtime.cgroup_root = options.agent.places.cgroup_root;
  runtime.proc_root = options.agent.places.proc_root;
  TM_TRY_VOID(runtime::check_options(runtime));
  agent::AgentOptions& agent = options.agent;
  agent.node_name = runtime.node_name;
  agent.alone = true;
  agent.state_dir = folder + "/agent";
  agent.audit_actor = base::cat("agent ", agent.node_name);
  agent.pod_logs = folder + "/logs";
  agent.tasks.kubelet.endpoint = "unix:" + runtime::pods_socket(runtime);
  agent.tasks.kubelet.cgroup_root = runtime.group;
  agent.tasks.kubelet.dir = folder;
  agent.tasks.kubelet.runtime_dir = folder;
  agent.tasks.cgroup_driver = "cgroupfs";
  TM_TRY_VOID(agent.tasks.config(agent.node_name));  // the agent begins later, and would only log it
  return check_settings(options.settings, options.manager.config_namespace);
}

Result<Fd> own_port(const std::string& listen) {
  auto socket = net::listen_socket(listen);
  if (socket) return socket;
  Error error = std::move(socket).error();
  if (error.kind == ErrorKind::kAlreadyExists) {
    error.message +=
        ": another `tidemark up`, or another program, listens there; stop it, or name another port (0 picks "
        "one that is free)";
  }
  return base::fail(std::move(error).within("--listen"));
}

class Running final : public Embedded {
 public:
  Running(net::EventLoop& loop, base::Log log, base::Registry& metrics)
      : loop_(loop), log_(std::move(log)), metrics_(metrics), workers_(kWorkers, kWorkerQueueMax) {}

  Result<void> begin(std::uint64_t seed, EmbeddedOptions options, std::function<void(Error)> on_failure) {
    if (options.data_dir.empty())
      return fail(ErrorKind::kInvalid, "--data-dir is needed: where objects and keys are kept");
    if (options.listen.starts_with("unix:")) {
      return fail(ErrorKind::kInvalid, "--listen ", options.listen, ": a kubeconfig needs an address and a port");
    }
    if (options.pods) TM_TRY_VOID(complete(options));  // what is wrong is said before anything is made
    TM_TRY(Fd socket, own_port(options.listen));       // whose port is taken touches nothing
    base::Random random(seed);
    TM_TRY(const auto credentials, open_credentials(options.data_dir, options.listen, loop_.clock().wall()));
    if (options.pods)
      TM_TRY_VOID(journal::make_folder(options.agent.state_dir));  // in a folder that is its owner's alone

    kube::memory::ServerConfig config;
    config.tokens.push_back({credentials.token, "admin"});
    if (options.keep) config.data_file = options.data_dir + "/objects.sqlite";
    config.seed = random.next();
    config.priority_classes = classes_of_work();
    if (options.pods) {
      config.acted_on = {"jobs.batch"};
      config.store.history_bytes_max = kHistoryOfOneMachine;
    }
    TM_TRY(api_, kube::memory::Server::open(loop_, log_.named("apiserver"), std::move(config), &workers_));
    // After the folder is ours: whose it is not makes no groups.
    if (options.pods) {
      TM_TRY(options.agent.only_shows, why_only_shown(loop_, options.runtime, log_));
    }

    net::HttpServerConfig http;
    http.tls.emplace();
    http.tls->certificate.text = credentials.server.certificate_pem;
    http.tls->key.text = credentials.server.key_pem;
    http.tls->client_ca.text = credentials.authority.certificate_pem;
    TM_TRY(server_, net::serve_on(std::move(socket), loop_, log_.named("apiserver"), std::move(http), api_->handler()));
    TM_TRY(kubeconfig_, write_kubeconfig(options.data_dir, credentials, server_->address()));
    if (options.console.listen != "0") TM_TRY_VOID(begin_console(options, random.fork()));

    // One process is its own leader.
    options.manager.leader_elect = false;
    options.manager.lease.identity = kIdentity;
    const auto failed = [this, on_failure = std::move(on_failure)](Error error) {
      loop_.post_from_any_thread([on_failure, error = std::move(error)] { on_failure(error); });
    };
    ComponentConfig component;
    component.server_address = server_->address();
    component.ca_pem = credentials.authority.certificate_pem;
    component.token = credentials.token;
    begin_manager(component, options, random.next(), failed);
    if (!options.pods) return {};
    // What begins before would find kinds that are not served, and come back late.
    component.before = [this](const ComponentSurroundings&) -> net::Task<Result<void>> {
      if (!installed_) co_return fail(ErrorKind::kNotFound, "the custom resources are not in yet");
      co_return Result<void>();
    };
    begin_runtime(component, options, random.next(), failed);
    begin_agent(component, options, random.next());
    return {};
  }

  std::string kubeconfig() const override { return kubeconfig_; }
  std::string address() const override { return server_->address(); }
  std::string console_url() const override { return console_ ? console_->url() : ""; }

  // First the parts that measure, then the manager; the server last, because all of them write until they end.
  net::Task<void> drain() override {
    if (console_) co_await console_->drain();
    for (auto* each : {&agent_, &runtime_, &manager_}) {
      if (!*each) continue;
      co_await (*each)->drain(loop_);
      each->reset();
    }
    co_await server_->drain(kDrainLimit);
  }

 private:
  using OnFailure = std::function<void(Error)>;

  // On the API server's own loop and without sockets: its address is known at once.
  Result<void> begin_console(EmbeddedOptions& options, base::Random random) {
    console_transport_ = std::make_unique<kube::memory::LocalTransport>(loop_, api_->handler(), "console");
    kube::ClientConfig config;
    config.read_only = true;
    config.user_agent = "tidemark-console";
    console_client_ =
        std::make_unique<kube::Client>(loop_, *console_transport_, [] { return std::string(); }, config, random.fork());
    console::ConsoleOptions made = options.console;
    if (options.console_writes) {
      config.read_only = false;
      config.queries_per_second = 10'000;  // a person waits
      config.burst = 10'000;
      made.person = console::Person{
          options.person, std::make_shared<kube::Client>(
                              loop_, *console_transport_, [] { return std::string(); }, config, random.fork())};
    }
    made.view.config_namespace = options.manager.config_namespace;
    made.view.config_name = options.manager.config_name;
    made.plugins = options.manager.plugins;
    made.cluster = options.pods ? options.runtime.node_name : "tidemark up";
    const auto& audit = options.audit.path;
    if (!audit.empty() && audit != journal::kAuditNone && audit != journal::kAuditOutput) {
      made.files.audits.push_back(audit);
    }
    if (options.pods) made.files.audits.push_back(options.agent.state_dir + "/audit.jsonl");
    const auto& decided = options.manager.journal.directory;
    if (!decided.empty()) made.files.journals.push_back(decided);
    if (options.past_files) {
      made.past = options.past_files(made.files.journals,
                                     options.pods ? std::vector{options.agent.state_dir} : std::vector<std::string>());
    }
    TM_TRY(console_, console::Console::make(loop_, *console_client_, log_.named("console"), console_metrics_,
                                            random.fork(), std::move(made)));
    return {};
  }

  void begin_manager(ComponentConfig config, EmbeddedOptions& options, std::uint64_t seed, const OnFailure& failed) {
    config.name = "manager";
    config.actor = base::cat("manager ", kIdentity);
    config.audit = std::move(options.audit);
    config.queries_per_second = options.manager.queries_per_second;
    config.burst = static_cast<int>(options.manager.query_burst);
    const auto settings = std::make_shared<std::unique_ptr<SettingsFile>>();
    config.before = [this, settings, space = options.manager.config_namespace, path = options.settings,
                     wanted = options.pods](const ComponentSurroundings& around) -> net::Task<Result<void>> {
      if (wanted) *settings = std::make_unique<SettingsFile>(around.loop, around.client, around.log, path, space);
      TM_CO_TRY_VOID(co_await install(around.client, around.log, space, settings->get()));
      installed_ = true;
      loop_.post_from_any_thread([this] {
        if (console_) console_->start();
      });
      co_return Result<void>();
    };
    config.make = [this, settings,
                   made = options.manager](const ComponentSurroundings& around) -> Result<std::unique_ptr<Component>> {
      TM_TRY(auto manager, manager::Manager::make(around.loop, around.client, around.client, around.log, metrics_,
                                                  around.random.fork(), made));
      return std::make_unique<ManagerComponent>(around.loop, std::move(manager), std::move(*settings));
    };
    manager_ = std::make_unique<ComponentThread>(loop_.clock(), log_, metrics_, seed, std::move(config), failed);
  }

  void begin_runtime(ComponentConfig config, const EmbeddedOptions& options, std::uint64_t seed,
                     const OnFailure& failed) {
    config.name = "runtime";
    config.make = [this,
                   made = options.runtime](const ComponentSurroundings& around) -> Result<std::unique_ptr<Component>> {
      auto component = std::make_unique<RuntimeComponent>();
      TM_TRY_VOID(component->make(around, runtime_metrics_, made));
      return component;
    };
    runtime_ =
        std::make_unique<ComponentThread>(loop_.clock(), log_, runtime_metrics_, seed, std::move(config), failed);
  }

  // A machine that shows no groups has nothing for an agent to do, and an address may be taken for a while: all else
  // goes on.
  void begin_agent(ComponentConfig config, const EmbeddedOptions& options, std::uint64_t seed) {
    config.name = "agent";
    config.actor = options.agent.audit_actor;
    config.audit.path = options.agent.state_dir + "/audit.jsonl";
    config.make = [this,
                   made = options.agent](const ComponentSurroundings& around) -> Result<std::unique_ptr<Component>> {
      auto component = std::make_unique<AgentComponent>();
      TM_TRY_VOID(component->make(around, agent_metrics_, made));
      return component;
    };
    config.missing =
        [trouble = std::make_shared<AgentTrouble>(options.agent.node_name, options.agent.places, ::geteuid() == 0)](
            const ComponentSurroundings& around, const Error& error) { return trouble->tell(around, error); };
    agent_ = std::make_unique<ComponentThread>(loop_.clock(), log_, agent_metrics_, seed, std::move(config), nullptr);
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  net::WorkerPool workers_;
  std::unique_ptr<kube::memory::Server> api_;
  std::unique_ptr<net::HttpServer> server_;
  std::string kubeconfig_;
  base::Registry console_metrics_;
  std::unique_ptr<kube::memory::LocalTransport> console_transport_;
  std::unique_ptr<kube::Client> console_client_;
  std::unique_ptr<console::Console> console_;       // null: none was asked for
  std::atomic<bool> installed_ = false;             // by the manager's thread, asked by the others
  base::Registry agent_metrics_, runtime_metrics_;  // their own: the same names stand in each
  std::unique_ptr<ComponentThread> manager_, runtime_, agent_;
};

}  // namespace

void declare_flags(base::Flags& flags, EmbeddedOptions& options) {
  flags.group("Embedded server");
  flags.text("data-dir", options.data_dir, "folder for objects, keys and the kubeconfig; made where it is missing")
      .placeholder("DIR")
      .required();
  flags.text("listen", options.listen, "address of the API server; port 0 picks one").placeholder("HOST:PORT");
  flags.boolean("keep", options.keep, "objects survive a restart");
  options.console.listen = "127.0.0.1:0";
  flags.text("console-addr", options.console.listen, "loopback address of the web console; port 0 picks one, 0 is off")
      .placeholder("HOST:PORT");
  flags.boolean("console-write", options.console_writes, "let the web console give orders and edit the settings");
  options.manager.metrics_address = "127.0.0.1:0";
  options.manager.queries_per_second = 500;  // both ends are ours
  options.manager.query_burst = 500;
  options.agent.metrics_address = "127.0.0.1:0";
  manager::declare_common_flags(flags, options.manager);
  flags.group("This machine");
  flags.boolean("pods", options.pods,
                "run this machine as a node, with an agent and with pods as processes; false: only API server and "
                "manager");
  agent::declare_machine_flags(flags, options.agent.places);
  flags.choice("mode", options.agent.mode, {"enforce", "observe"},
               "mode of the agent if the settings do not set it: enforce writes to the kernel, observe only shows "
               "decisions");
  flags
      .text("agent-metrics-addr", options.agent.metrics_address,
            "address of the agent's /metrics; port 0 picks one, 0 is off")
      .placeholder("HOST:PORT");
  flags
      .text("settings", options.settings,
            "file with the ConfigMaps slo-controller-config and tidemark-config; changes apply at once. Without it: "
            "defaults")
      .placeholder("FILE");
  flags
      .list("copilot", options.agent.tasks.copilots,
            "sockets of copilots, each with the parent cgroup of its containers; for YARN on this machine: "
            "POD-GROUP/kubepods/besteffort/hadoop-yarn")
      .placeholder("SOCKET=GROUP");
  runtime::declare_flags(flags, options.runtime);
}

Result<std::unique_ptr<Embedded>> Embedded::start(net::EventLoop& loop, base::Log log, base::Registry& metrics,
                                                  std::uint64_t seed, EmbeddedOptions options,
                                                  std::function<void(Error)> on_failure) {
  auto running = std::make_unique<Running>(loop, std::move(log), metrics);
  TM_TRY_VOID(running->begin(seed, std::move(options), std::move(on_failure)));
  return running;
}

}  // namespace tidemark::embedded
