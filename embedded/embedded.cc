#include "embedded/embedded.h"

#include <thread>
#include <utility>

#include "base/metrics.h"
#include "base/random.h"
#include "base/text.h"
#include "embedded/crds.h"
#include "embedded/credentials.h"
#include "kube/memory/server.h"
#include "model/audit_line.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/worker.h"

namespace tidemark::embedded {
namespace {

constexpr int kWorkers = 1;  // SQLite has one writer
constexpr std::size_t kWorkerQueueMax = 4096;
constexpr base::Duration kDrainLimit = std::chrono::seconds(5);
constexpr base::Duration kInstallRetry = std::chrono::seconds(1);
constexpr base::Duration kInstallLimit = std::chrono::seconds(20);
constexpr base::Duration kManagerDrainLimit = std::chrono::seconds(15);  // its own limits are shorter
constexpr base::Duration kLastLinesLimit = std::chrono::seconds(2);      // of the audit
constexpr std::string_view kIdentity = "embedded";                       // of the manager

struct ClientSettings {
  std::string address;
  std::string ca_pem;
  std::string token;
};

// The manager on a thread of its own.
class ManagerThread {
 public:
  // `on_failure` is called on the manager's thread.
  ManagerThread(const base::Clock& clock, base::Log log, base::Registry& metrics, std::uint64_t seed,
                ClientSettings settings, manager::ManagerOptions options, journal::AuditFileOptions audit,
                std::function<void(Error)> on_failure)
      : loop_(clock),
        log_(std::move(log)),
        random_(seed),
        metrics_(metrics),
        settings_(std::move(settings)),
        options_(std::move(options)),
        audit_(journal::AuditFile::make(loop_, log_.named("audit"), metrics_, std::move(audit))),
        on_failure_(std::move(on_failure)),
        thread_([this] { run(); }) {}

  ~ManagerThread() {
    loop_.stop_from_any_thread();
    thread_.join();
  }

  // On the thread of `asker`, while the manager ends on its own what it has begun: writes under way, the journal.
  net::Task<void> drain(net::EventLoop& asker) {
    auto done = std::make_shared<net::Event>(asker);
    loop_.post_from_any_thread([this, &asker, done] {
      if (scope_ == nullptr) return;
      draining_ = true;
      scope_->spawn(drain_here(asker, done));
    });
    if (!co_await done->wait_for(kManagerDrainLimit)) log_.warn("the manager is stopped before it was done");
  }

 private:
  net::Task<void> drain_here(net::EventLoop& asker, std::shared_ptr<net::Event> done) {
    if (manager_) co_await manager_->drain();
    asker.post_from_any_thread([done] { done->set(); });
  }

  void run() {
    {
      net::Scope scope(loop_);
      scope_ = &scope;
      scope.spawn(live());
      loop_.run();
      manager_.reset();
      scope_ = nullptr;
    }
    if (audit_) audit_->finish(kLastLinesLimit);  // also of what was given up in the middle
    client_.reset();
    transport_.reset();
  }

  net::Task<void> live() {
    net::HttpClientConfig http;
    http.url = *net::parse_url("https://" + settings_.address);
    http.tls.ca.text = settings_.ca_pem;
    transport_ = std::make_unique<net::HttpClient>(loop_, nullptr, std::move(http));
    kube::ClientConfig config;
    config.queries_per_second = options_.queries_per_second;
    config.burst = static_cast<int>(options_.query_burst);
    config.user_agent = "tidemark-manager";
    config.metrics = &metrics_;
    if (audit_) {
      config.audit_actor = base::cat("manager ", kIdentity);
      config.audit = [this](const model::AuditLine& line) { audit_->add(model::to_string(line)); };
    }
    client_ = std::make_unique<kube::Client>(
        loop_, *transport_, [token = settings_.token] { return token; }, config, random_.fork());
    while (true) {
      auto installed = co_await install();
      if (installed) break;
      log_.warn("custom resources and the settings' namespace not installed yet", {{"error", installed.error()}});
      co_await loop_.sleep(kInstallRetry);
    }
    if (draining_) co_return;
    auto made = manager::Manager::make(loop_, *client_, *client_, log_.named("manager"), metrics_, random_.fork(),
                                       options_, std::string(kIdentity));
    if (!made) {
      on_failure_(std::move(made).error().within("the manager cannot start"));
      co_return;
    }
    manager_ = std::move(*made);
    manager_->start();
  }

  // What a chart would bring: without the namespace the manager could keep nothing of the settings in force.
  net::Task<Result<void>> install() {
    TM_CO_TRY_VOID(co_await install_crds(*client_, log_));
    const Json space = Json::object({{"metadata", Json::object({{"name", options_.config_namespace}})}});
    const auto made = co_await client_->create(kube::kNamespaces, space.dump(), {}, "", kInstallLimit);
    if (!made && made.error().kind != ErrorKind::kAlreadyExists)
      co_return std::unexpected(made.error().within(base::cat("namespace ", options_.config_namespace)));
    co_return Result<void>();
  }

  net::EventLoop loop_;
  base::Log log_;
  base::Random random_;
  base::Registry& metrics_;
  ClientSettings settings_;
  manager::ManagerOptions options_;
  std::unique_ptr<journal::AuditFile> audit_;  // null where none is kept
  std::function<void(Error)> on_failure_;
  std::unique_ptr<net::HttpClient> transport_;
  std::unique_ptr<kube::Client> client_;
  std::unique_ptr<manager::Manager> manager_;
  net::Scope* scope_ = nullptr;  // while the thread runs, and only there
  bool draining_ = false;        // the same
  std::thread thread_;           // last: it uses everything above
};

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
    base::Random random(seed);
    TM_TRY(const auto credentials, open_credentials(options.data_dir, options.listen, loop_.clock().wall()));

    kube::memory::ServerConfig config;
    config.tokens.push_back({credentials.token, "admin"});
    if (options.keep) config.data_file = options.data_dir + "/objects.sqlite";
    config.seed = random.next();
    config.metrics = &metrics_;
    TM_TRY(api_, kube::memory::Server::open(loop_, log_.named("apiserver"), std::move(config), &workers_));

    net::HttpServerConfig http;
    http.listen = options.listen;
    http.tls.emplace();
    http.tls->certificate.text = credentials.server.certificate_pem;
    http.tls->key.text = credentials.server.key_pem;
    http.tls->client_ca.text = credentials.authority.certificate_pem;
    TM_TRY(server_, net::HttpServer::listen(loop_, log_.named("apiserver"), std::move(http), api_->handler()));
    TM_TRY(kubeconfig_, write_kubeconfig(options.data_dir, credentials, server_->address()));

    // One process is its own leader.
    options.manager.leader_elect = false;
    manager_ = std::make_unique<ManagerThread>(
        loop_.clock(), log_, metrics_, random.next(),
        ClientSettings{server_->address(), credentials.authority.certificate_pem, credentials.token},
        std::move(options.manager), std::move(options.audit), [this, on_failure = std::move(on_failure)](Error error) {
          loop_.post_from_any_thread([on_failure, error = std::move(error)] { on_failure(error); });
        });
    return {};
  }

  std::string kubeconfig() const override { return kubeconfig_; }
  std::string address() const override { return server_->address(); }

  net::Task<void> drain() override {
    co_await manager_->drain(loop_);
    manager_.reset();
    co_await server_->drain(kDrainLimit);
  }

 private:
  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  net::WorkerPool workers_;
  std::unique_ptr<kube::memory::Server> api_;
  std::unique_ptr<net::HttpServer> server_;
  std::string kubeconfig_;
  std::unique_ptr<ManagerThread> manager_;
};

}  // namespace

void declare_flags(base::Flags& flags, EmbeddedOptions& options) {
  flags.group("Embedded server");
  flags.text("data-dir", options.data_dir, "folder for objects, keys and the kubeconfig; made where it is missing")
      .placeholder("DIR")
      .required();
  flags.text("listen", options.listen, "address of the API server; port 0 picks one").placeholder("HOST:PORT");
  flags.boolean("keep", options.keep, "objects survive a restart");
  options.manager.metrics_address = "127.0.0.1:0";
  options.manager.queries_per_second = 500;  // both ends are ours
  options.manager.query_burst = 500;
  manager::declare_common_flags(flags, options.manager);
}

Result<std::unique_ptr<Embedded>> Embedded::start(net::EventLoop& loop, base::Log log, base::Registry& metrics,
                                                  std::uint64_t seed, EmbeddedOptions options,
                                                  std::function<void(Error)> on_failure) {
  auto running = std::make_unique<Running>(loop, std::move(log), metrics);
  TM_TRY_VOID(running->begin(seed, std::move(options), std::move(on_failure)));
  return running;
}

}  // namespace tidemark::embedded
