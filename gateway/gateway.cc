#include "gateway/gateway.h"

#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "gateway/authentication.h"
#include "gateway/door.h"
#include "gateway/file_store.h"
#include "gateway/idle_capacity.h"
#include "gateway/kubernetes_side.h"
#include "gateway/kyuubi.h"
#include "gateway/live_signals.h"
#include "gateway/livy.h"
#include "gateway/output_check.h"
#include "gateway/routes.h"
#include "gateway/run_api.h"
#include "gateway/s3_archive.h"
#include "gateway/spark_application.h"
#include "gateway/spark_operator.h"
#include "gateway/sqlite_store.h"
#include "gateway/uploads.h"
#include "gateway/yarn_queues.h"
#include "gateway/yarn_side.h"
#include "net/admin.h"
#include "net/http_server.h"
#include "net/loopback.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr base::Duration kDrainLimit = std::chrono::seconds(5);
constexpr std::string_view kNotReady = "the gateway still reads its store";
constexpr std::string_view kSwitchPath = "/tidemark/v1/switch";
constexpr std::size_t kSwitchBodyMax = 1024;
constexpr std::size_t kS3KeysFileMax = 64 * 1024;

hadoop::HdfsAccess hdfs_access(const Gateway::Rim& rim, const GatewayOptions& options) {
  return {rim.workers, options.yarn.hadoop, options.yarn_user, rim.yarn ? rim.yarn->make_gss : hadoop::MakeGss()};
}

Result<std::unique_ptr<LogArchive>> open_archive(net::EventLoop& loop, const Gateway::Rim& rim,
                                                 const GatewayOptions& options) {
  if (!options.archive.starts_with(kS3Scheme)) return open_file_store(loop, hdfs_access(rim, options), options.archive);
  S3Access access = s3_access(rim.environment,
                              [read = rim.files.read](const std::string& path) { return read(path, kS3KeysFileMax); });
  return open_s3_archive(loop, rim.workers, std::move(access), options.archive);
}

std::string renewer_of(const hadoop::RmCluster& cluster) {
  if (!cluster.security) return "";
  return hadoop::with_host(cluster.security->server.principal, cluster.members.front().client.host);
}

std::string log_server(const GatewayOptions& options) {
  const auto at = options.yarn.hadoop.find("yarn.log.server.web-service.url");
  return at == options.yarn.hadoop.end() ? "" : at->second;
}

class RunningGateway final : public Gateway {
 public:
  // What is opened before the gateway; null: there is none.
  struct Parts {
    std::unique_ptr<Store> store{};
    std::unique_ptr<LogArchive> archive{};
    std::unique_ptr<FileStore> uploads{};
    std::unique_ptr<Celeborn> celeborn{};
    std::unique_ptr<SparkSubmit> spark_submit{};
    std::unique_ptr<Authentication> authentication{};
    std::unique_ptr<RoutesFile> routes{};
  };
  RunningGateway(net::EventLoop& loop, Rim rim, base::Log log, base::Registry& metrics, base::Random random,
                 GatewayOptions options, Parts parts)
      : loop_(loop),
        log_(std::move(log)),
        metrics_(metrics),
        store_(std::move(parts.store)),
        archive_(std::move(parts.archive)),
        celeborn_(std::move(parts.celeborn)),
        spark_submit_(std::move(parts.spark_submit)),
        authentication_(std::move(parts.authentication)),
        routes_(std::move(parts.routes)),
        audit_(std::move(rim.audit)),
        runs_(loop, *store_, log_, random.fork(), options.runs),
        outputs_(loop, hdfs_access(rim, options)),
        uploads_(loop, log_, std::move(parts.uploads), options.uploads_keep),
        scope_(loop) {
    if (authentication_) {
      runs_.limit([this](std::string_view business) { return authentication_->rules()->quota_of(business); });
    }
    runs_.check_outputs(
        [this](SparkJob job, base::WallTime created) { return outputs_.begun(std::move(job), created); });
    if (routes_) {
      routes_->follow([this](policy::route::RouteRules rules) { runs_.set_rules(std::move(rules)); });
    }
    const auto is_live = [this](std::int64_t run, std::int64_t attempt) { return runs_.is_live(run, attempt); };
    const auto on_change = [this](std::int64_t run) { runs_.wake(run); };
    Sides sides{};
    if (rim.client != nullptr) {
      kubernetes_ =
          std::make_unique<KubernetesSide>(loop, *rim.client, log_, metrics, random.fork(), options.kubernetes,
                                           SideOwner{store_->instance(), is_live, on_change});
      capacity_ = std::make_unique<IdleCapacity>(loop, *rim.client, log_, metrics, random.fork(), store_->instance());
      capacity_->follow([this] { runs_.wake_for_room(); });
      kubernetes_->use(celeborn_.get());
      kubernetes_->use(spark_submit_.get());
      if (options.spark_operator) {
        operator_ = std::make_unique<SparkOperator>(loop, *rim.client, log_, metrics, random.fork(),
                                                    SideOwner{store_->instance(), is_live, on_change});
        kubernetes_->use(operator_.get());
      }
      kubernetes_->use(KubernetesSide::ExecutorLogs{archive_.get(), options.runs.logs.bytes_max, options.public_url});
      sides[static_cast<std::size_t>(policy::route::Side::kKubernetes)] = kubernetes_.get();
    }
    if (rim.yarn) {
      queues_ = std::make_unique<YarnQueues>(
          loop, hadoop::ApplicationsRest(loop, rim.workers, *rim.yarn, options.yarn_user), log_);
      options.yarn.renewer = renewer_of(*rim.yarn);
      yarn_ = std::make_unique<YarnSide>(
          loop, hadoop::make_application_client(loop, rim.workers, *rim.yarn, options.yarn_user, random.fork()),
          hadoop::ContainerLogs(loop, rim.workers, options.yarn_user, rim.yarn->make_gss, log_server(options)),
          hdfs_access(rim, options), log_, options.yarn, SideOwner{store_->instance(), is_live, on_change});
      sides[static_cast<std::size_t>(policy::route::Side::kYarn)] = yarn_.get();
    }
    runs_.use(sides);
    signals_ = std::make_unique<LiveSignals>(capacity_.get(), queues_.get(), options.kubernetes.ns);
    runs_.use(signals_.get());
    runs_.logs().use_archive(archive_.get());
  }

  Result<void> listen(const GatewayOptions& options) {
    TM_TRY_VOID(check_exposure(options));
    net::HttpServerConfig config;
    config.listen = options.listen;
    tls_ = !options.tls_cert_file.empty();
    if (tls_) config.tls = {{"", options.tls_cert_file}, {"", options.tls_key_file}, {}, false};
    TM_TRY(server_, net::HttpServer::listen(loop_, log_, std::move(config),
                                            [this](net::HttpExchange& exchange) { return handle(exchange); }));
    TM_TRY(admin_, net::serve_admin(loop_, log_, options.metrics_addr, metrics_,
                                    [this] { return ready_ ? std::string() : std::string(kNotReady); }));
    log_.info("gateway serves", {{"address", server_->address()}});
    return {};
  }

  std::string address() const override { return server_->address(); }
  void start() override { scope_.spawn(begin()); }
  net::Task<void> drain() override { co_await server_->drain(kDrainLimit); }

 private:
  // Runs are read before the sides look: a pod whose run is not known yet would be taken for a stray.
  net::Task<void> begin() {
    const auto resumed = co_await runs_.resume();
    if (!resumed) {
      log_.error("cannot read stored runs; accepting no jobs", {{"error", resumed.error()}});
      co_return;
    }
    if (celeborn_) celeborn_->start();
    if (kubernetes_) kubernetes_->start();
    if (yarn_) yarn_->start();
    if (capacity_) capacity_->start();
    if (queues_) queues_->start();
    uploads_.start();
    ready_ = true;
  }

  // Without authentication, other machines could submit jobs; without TLS, others could read the tokens.
  static Result<void> check_exposure(const GatewayOptions& options) {
    const bool tls = !options.tls_cert_file.empty();
    if (tls == options.tls_key_file.empty()) {
      return fail(ErrorKind::kInvalid, "--tls-cert-file and --tls-key-file go together");
    }
    if (!options.spnego_keytab.empty() && (!tls || options.access_file.empty())) {
      return fail(ErrorKind::kInvalid, "--spnego-keytab needs --access-file, --tls-cert-file and --tls-key-file");
    }
    if (net::is_loopback_host(options.listen) || (tls && !options.access_file.empty())) return {};
    return fail(ErrorKind::kInvalid, "--listen ", options.listen,
                ": another machine could reach it, which needs --access-file, --tls-cert-file and --tls-key-file; "
                "without them use 127.0.0.1:PORT");
  }

  // Pages of other sites must not submit jobs from a browser, with the rights of this machine or with a ticket of its
  // user. Without authentication, `Host` must name this machine: a page can let its own name point here.
  bool is_foreign(const net::HttpRequest& request) const {
    const std::string_view host = request.headers.get("host");
    const std::string_view origin = request.headers.get("origin");
    if (!authentication_ && !net::is_loopback_host(host)) return true;
    return !origin.empty() && origin != cat(tls_ ? "https://" : "http://", host);
  }

  // In the form of the API.
  void refuse(net::HttpExchange& exchange, const std::string& path, const Error& error) const {
    DoorAnswer answer = Kyuubi::serves(path)              ? Kyuubi::refusal(error)
                        : SparkApplications::serves(path) ? SparkApplications::refusal(error)
                                                          : Livy::refusal(error);
    if (answer.status == 401 && authentication_) {
      for (const auto& challenge : authentication_->challenges()) answer.headers.add("www-authenticate", challenge);
    }
    respond(exchange, std::move(answer));
  }

  net::Task<void> handle(net::HttpExchange& exchange) {
    const std::string path = exchange.head().target.substr(0, exchange.head().target.find('?'));
    if (is_foreign(exchange.head())) {
      refuse(exchange, path, error_of(403, "requests for another host, or of pages of other sites, are refused"));
    } else if (path == "/healthz") {
      exchange.respond(200, "text/plain", "ok\n");
    } else if (!ready_) {
      refuse(exchange, path, {ErrorKind::kExhausted, std::string(kNotReady), 0, 0});
    } else if (path == "/readyz") {
      exchange.respond(200, "text/plain", "ok\n");
    } else if (!authentication_) {
      co_await serve(exchange, path, {.user = "", .business = "", .admin = true}, nullptr);
    } else {
      const auto authenticated = co_await authentication_->authenticate(exchange.head());
      if (!authenticated) {
        refuse(exchange, path, authenticated.error());
        co_return;
      }
      AnswerWithProof proved(exchange, authenticated->proof);
      co_await serve(proved, path, authenticated->caller, authentication_->rules());
    }
  }

  net::Task<void> serve(net::HttpExchange& exchange, const std::string& path, Caller caller,
                        std::shared_ptr<const AccessRules> rules) {
    RunsOfCaller runs(runs_, {&loop_.clock(), std::move(rules), audit_}, std::move(caller));
    if (Livy::serves(path)) {
      Livy livy(std::move(runs));
      co_await livy.handle(exchange);
    } else if (Kyuubi::serves(path)) {
      Kyuubi kyuubi(std::move(runs), &uploads_);
      co_await kyuubi.handle(exchange);
    } else if (SparkApplications::serves(path)) {
      SparkApplications objects(std::move(runs));
      co_await objects.handle(exchange);
    } else if (Uploads::serves(path)) {
      co_await uploads_.handle(exchange);
    } else if (RunApi::serves(path)) {
      RunApi api(std::move(runs));
      co_await api.handle(exchange);
    } else if (path == kSwitchPath) {
      co_await handle_switch(exchange, std::move(runs));
    } else if (path == "/metrics") {
      exchange.respond(200, "text/plain; version=0.0.4", metrics_.text());
    } else {
      refuse(exchange, path, error_of(404, "Not found."));
    }
  }

  // GET and PUT {"noMoreKubernetes": true}
  net::Task<void> handle_switch(net::HttpExchange& exchange, RunsOfCaller runs) {
    if (exchange.head().method == "PUT") {
      const auto body = co_await exchange.body(kSwitchBodyMax);
      const auto json = body ? Json::parse(*body) : Result<Json>(fail(body.error()));
      const Json* value = json ? json->at("noMoreKubernetes") : nullptr;
      if (value == nullptr || !value->is_bool()) {
        exchange.respond(400, "application/json", R"({"msg":"noMoreKubernetes: true or false is expected"})");
        co_return;
      }
      const auto done = co_await runs.set_no_more_kubernetes(value->as_bool());
      if (!done) {
        respond(exchange, Livy::refusal(done.error()));
        co_return;
      }
    } else if (exchange.head().method != "GET") {
      exchange.respond(405, "application/json", R"({"msg":"use GET or PUT"})");
      co_return;
    }
    exchange.respond(200, "application/json",
                     Json::object({{"noMoreKubernetes", store_->no_more_kubernetes()}}).dump());
  }

  net::EventLoop& loop_;
  base::Log log_;
  base::Registry& metrics_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<LogArchive> archive_;             // null: none
  std::unique_ptr<Celeborn> celeborn_;              // null: none
  std::unique_ptr<SparkSubmit> spark_submit_;       // null: none
  std::unique_ptr<Authentication> authentication_;  // null: none
  std::unique_ptr<RoutesFile> routes_;              // null: none
  Audit audit_;
  std::unique_ptr<IdleCapacity> capacity_;  // null: there is no such side
  std::unique_ptr<YarnQueues> queues_;      // the same
  std::unique_ptr<LiveSignals> signals_;
  std::unique_ptr<SparkOperator> operator_;  // null: none
  std::unique_ptr<KubernetesSide> kubernetes_;
  std::unique_ptr<YarnSide> yarn_;
  Runs runs_;
  OutputCheck outputs_;
  Uploads uploads_;
  bool ready_ = false;
  bool tls_ = false;
  net::Scope scope_;
  std::unique_ptr<net::HttpServer> server_;
  std::unique_ptr<net::HttpServer> admin_;
};

}  // namespace

void declare_flags(base::Flags& flags, GatewayOptions& options) {
  flags.group("Gateway");
  flags.text("data-dir", options.data_dir, "directory of the logs of runs, and of the runs without --postgres")
      .placeholder("DIR")
      .required();
  flags.text("listen", options.listen, "address of the Livy API, /metrics and /readyz").placeholder("ADDRESS");
  flags.text("access-file", options.access_file, "users with their tokens, and rules of businesses; read again")
      .placeholder("FILE");
  flags
      .text("routes-file", options.routes_file,
            "where runs go: shares, pins, bans and their times of the day; outranks the flags; read again")
      .placeholder("FILE");
  flags.text("tls-cert-file", options.tls_cert_file, "certificate; read again").placeholder("FILE");
  flags.text("tls-key-file", options.tls_key_file, "key of the certificate").placeholder("FILE");
  flags.text("spnego-keytab", options.spnego_keytab, "keys of HTTP/HOST, for clients that log in by Kerberos")
      .placeholder("FILE");
  flags.text("metrics-addr", options.metrics_addr, "further address for /metrics, /healthz and /readyz; 0 is off")
      .placeholder("HOST:PORT");
  flags.duration("admission-limit", options.runs.admission_limit, std::chrono::seconds(1), std::chrono::hours(24),
                 "time without a node or container after which a run that is safe to re-run moves");
  flags.integer("kubernetes-percent", options.runs.rules.kubernetes_percent, 0, 100,
                "share of the runs that goes to Kubernetes if both sides can run them");
  flags.integer("kubernetes-waiting-max", options.runs.rules.kubernetes_waiting_max, 1, 100'000,
                "most runs that wait for a node at the same time");
  flags.group("Logs");
  flags
      .text("archive", options.archive,
            "HDFS (hdfs:///PATH), S3 (s3://BUCKET/PATH) or a folder for logs of ended drivers and executors")
      .placeholder("PLACE");
  flags.integer("log-max-mib", options.log_max_mib, 1, 1024, "longest log of a driver or an executor in MiB");
  flags.duration("log-keep", options.runs.logs.keep, std::chrono::hours(1), std::chrono::hours(24 * 365),
                 "time after which the local log of an ended run is removed");
  flags.text("public-url", options.public_url, "URL of this gateway, for links in Spark's History Server")
      .placeholder("URL");
  flags.group("Files of jobs");
  flags
      .text("uploads", options.uploads,
            "HDFS (hdfs:///PATH), or a folder that all nodes have, for files that clients send")
      .placeholder("PLACE");
  flags.duration("uploads-keep", options.uploads_keep, std::chrono::hours(1), std::chrono::hours(24 * 365),
                 "time after which a file that no new job named is removed");
  flags.group("Kubernetes");
  flags.text("spark-namespace", options.kubernetes.ns, "namespace of drivers whose job names none").placeholder("NAME");
  flags.text("spark-image", options.kubernetes.image, "image of drivers whose job names none").placeholder("IMAGE");
  flags.text("spark-version", options.kubernetes.spark_version, "Spark version of the image").placeholder("VERSION");
  flags
      .text("spark-home", options.spark_submit.home,
            "folder of Spark, whose spark-submit translates jobs that need it, such as those with pod templates")
      .placeholder("DIR");
  flags.integer("spark-submit-max", options.spark_submit.processes_max, 1, 100,
                "most spark-submit processes at the same time; each takes 250 MB");
  flags.boolean("spark-operator", options.spark_operator,
                "create SparkApplication objects, which Spark Operator turns into drivers, if the API server has them");
  flags.text("spark-priority-class", options.kubernetes.priority_class, "priority class of drivers")
      .placeholder("NAME");
  flags
      .text("celeborn", options.celeborn.endpoints,
            "HOST:PORT of Celeborn's masters, with commas, for shuffle data of jobs at Kubernetes")
      .placeholder("ADDRESSES");
  flags.list("celeborn-web", options.celeborn.web, "URLs of the masters' REST API").placeholder("URLS");
  flags.text("celeborn-version", options.celeborn.version, "version of Celeborn").placeholder("VERSION");
  flags.group("YARN");
  flags.text("yarn-user", options.yarn_user, "user of applications on a cluster without Kerberos").placeholder("USER");
  flags.text("spark-yarn-jars", options.yarn.spark_jars, "Spark's jars on the nodes, as local:/opt/spark/jars/*")
      .placeholder("URL");
  flags
      .text("spark-yarn-python", options.yarn.python,
            "pyspark on the nodes for Python jobs, with commas: .../python/lib/pyspark.zip,.../py4j-0.10.9.7-src.zip")
      .placeholder("PATHS");
  flags.duration("yarn-poll", options.yarn.poll, std::chrono::milliseconds(100), std::chrono::minutes(5),
                 "interval of the list of applications");
}

Result<std::unique_ptr<Gateway>> Gateway::make(net::EventLoop& loop, Rim rim, base::Log log, base::Registry& metrics,
                                               base::Random random, GatewayOptions options) {
  RunningGateway::Parts parts{.store = std::move(rim.store)};
  if (parts.store == nullptr) {
    TM_TRY(parts.store, open_sqlite_store(loop, cat(options.data_dir, "/runs.db"), random.next()));
  }
  options.runs.logs.folder = cat(options.data_dir, "/logs");
  options.runs.logs.bytes_max = options.log_max_mib * 1024 * 1024;
  if (!options.archive.empty()) {
    auto opened = open_archive(loop, rim, options);
    if (!opened) return fail(std::move(opened).error().within("--archive"));
    parts.archive = *std::move(opened);
  }
  if (!options.uploads.empty()) {
    auto opened = open_file_store(loop, hdfs_access(rim, options), options.uploads);
    if (!opened) return fail(std::move(opened).error().within("--uploads"));
    parts.uploads = *std::move(opened);
  }
  if (parts.uploads) options.kubernetes.uploads_folder = parts.uploads->folder();
  if (!options.celeborn.endpoints.empty()) {
    TM_TRY(parts.celeborn, Celeborn::make(loop, rim.workers, log, options.celeborn, options.kubernetes.spark_version));
  }
  if (!options.spark_submit.home.empty()) {
    options.spark_submit.folder = options.data_dir;
    TM_TRY(parts.spark_submit, SparkSubmit::make(loop, log, rim.programs, options.spark_submit));
  }
  if (!options.access_file.empty()) {
    TM_TRY(parts.authentication,
           Authentication::open(loop, log, metrics, rim.files, options.access_file, std::move(rim.acceptor)));
  }
  options.runs.zone_of = zones_of_machine(rim.files);
  if (!options.routes_file.empty()) {
    TM_TRY(parts.routes, RoutesFile::open(loop, log, rim.files, options.routes_file, options.runs.rules));
    options.runs.rules = parts.routes->rules();
  }
  auto made = std::make_unique<RunningGateway>(loop, std::move(rim), std::move(log), metrics, random, options,
                                               std::move(parts));
  TM_TRY_VOID(made->listen(options));
  return std::unique_ptr<Gateway>(std::move(made));
}

}  // namespace tidemark::gateway
