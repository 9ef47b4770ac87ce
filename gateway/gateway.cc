#include "gateway/gateway.h"

#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "gateway/file_store.h"
#include "gateway/kubernetes_side.h"
#include "gateway/kyuubi.h"
#include "gateway/livy.h"
#include "gateway/run_api.h"
#include "gateway/spark_application.h"
#include "gateway/sqlite_store.h"
#include "gateway/uploads.h"
#include "gateway/yarn_side.h"
#include "net/http_server.h"
#include "net/loopback.h"

namespace tidemark::gateway {
namespace {

using base::cat;

constexpr base::Duration kDrainLimit = std::chrono::seconds(5);
constexpr std::string_view kSwitchPath = "/tidemark/v1/switch";
constexpr std::size_t kSwitchBodyMax = 1024;

hadoop::HdfsAccess hdfs_access(const Gateway::Rim& rim, const GatewayOptions& options) {
  return {rim.workers, options.yarn.hadoop, options.yarn_user, rim.yarn ? rim.yarn->make_gss : hadoop::MakeGss()};
}

class RunningGateway final : public Gateway {
 public:
  RunningGateway(net::EventLoop& loop, Rim rim, base::Log log, base::Registry& metrics, base::Random random,
                 GatewayOptions options, std::unique_ptr<Store> store, std::unique_ptr<FileStore> archive,
                 std::unique_ptr<FileStore> uploads, std::unique_ptr<Celeborn> celeborn)
      : log_(std::move(log)),
        metrics_(metrics),
        store_(std::move(store)),
        archive_(std::move(archive)),
        celeborn_(std::move(celeborn)),
        runs_(loop, *store_, log_, random.fork(), options.runs),
        livy_(runs_),
        uploads_(loop, log_, std::move(uploads), options.uploads_keep),
        kyuubi_(runs_, &uploads_),
        spark_applications_(runs_),
        run_api_(runs_),
        scope_(loop) {
    const auto is_live = [this](std::int64_t run, std::int64_t attempt) { return runs_.is_live(run, attempt); };
    const auto on_change = [this](std::int64_t run) { runs_.wake(run); };
    Sides sides{};
    if (rim.client != nullptr) {
      kubernetes_ =
          std::make_unique<KubernetesSide>(loop, *rim.client, log_, metrics, random.fork(), options.kubernetes,
                                           KubernetesSide::Owner{store_->instance(), is_live, on_change});
      kubernetes_->use(celeborn_.get());
      kubernetes_->use(KubernetesSide::ExecutorLogs{archive_.get(), options.runs.logs.bytes_max, options.public_url});
      sides[static_cast<std::size_t>(policy::route::Side::kKubernetes)] = kubernetes_.get();
    }
    if (rim.yarn) {
      yarn_ = std::make_unique<YarnSide>(
          loop, hadoop::ApplicationsRest(loop, rim.workers, *rim.yarn, options.yarn_user),
          hadoop::ContainerLogs(loop, rim.workers, options.yarn_user, rim.yarn->make_gss), hdfs_access(rim, options),
          log_, options.yarn, YarnSide::Owner{store_->instance(), is_live, on_change}, options.yarn_poll);
      sides[static_cast<std::size_t>(policy::route::Side::kYarn)] = yarn_.get();
    }
    runs_.use(sides);
    runs_.logs().use_archive(archive_.get());
  }

  Result<void> listen(net::EventLoop& loop, const std::string& address) {
    if (!net::is_loopback_host(address)) {
      return fail(ErrorKind::kInvalid, "--listen ", address,
                  ": the gateway does not authenticate its callers yet, so it serves only this machine; use "
                  "127.0.0.1:PORT");
    }
    net::HttpServerConfig config;
    config.listen = address;
    TM_TRY(server_, net::HttpServer::listen(loop, log_, std::move(config),
                                            [this](net::HttpExchange& exchange) { return handle(exchange); }));
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
    uploads_.start();
    ready_ = true;
  }

  // Pages of other sites must not submit jobs from a browser on this machine.
  static bool is_foreign(const net::HttpRequest& request) {
    const std::string_view host = request.headers.get("host");
    const std::string_view origin = request.headers.get("origin");
    return !net::is_loopback_host(host) || (!origin.empty() && origin != cat("http://", host));
  }

  net::Task<void> handle(net::HttpExchange& exchange) {
    const std::string path = exchange.head().target.substr(0, exchange.head().target.find('?'));
    if (is_foreign(exchange.head())) {
      exchange.respond(403, "application/json",
                       R"({"msg":"the gateway serves only this machine, and no pages of other sites"})");
    } else if (path == "/healthz") {
      exchange.respond(200, "text/plain", "ok\n");
    } else if (path == "/metrics") {
      exchange.respond(200, "text/plain; version=0.0.4", metrics_.text());
    } else if (!ready_) {
      exchange.respond(503, "application/json", R"({"msg":"the gateway still reads its store"})");
    } else if (path == "/readyz") {
      exchange.respond(200, "text/plain", "ok\n");
    } else if (Livy::serves(path)) {
      co_await livy_.handle(exchange);
    } else if (Kyuubi::serves(path)) {
      co_await kyuubi_.handle(exchange);
    } else if (SparkApplications::serves(path)) {
      co_await spark_applications_.handle(exchange);
    } else if (Uploads::serves(path)) {
      co_await uploads_.handle(exchange);
    } else if (RunApi::serves(path)) {
      co_await run_api_.handle(exchange);
    } else if (path == kSwitchPath) {
      co_await handle_switch(exchange);
    } else {
      exchange.respond(404, "application/json", R"({"msg":"Not found."})");
    }
  }

  // GET and PUT {"noMoreKubernetes": true}
  net::Task<void> handle_switch(net::HttpExchange& exchange) {
    if (exchange.head().method == "PUT") {
      const auto body = co_await exchange.body(kSwitchBodyMax);
      const auto json = body ? Json::parse(*body) : Result<Json>(fail(body.error()));
      const Json* value = json ? json->at("noMoreKubernetes") : nullptr;
      if (value == nullptr || !value->is_bool()) {
        exchange.respond(400, "application/json", R"({"msg":"noMoreKubernetes: true or false is expected"})");
        co_return;
      }
      const auto done = co_await runs_.set_no_more_kubernetes(value->as_bool());
      if (!done) {
        exchange.respond(500, "application/json", Json::object({{"msg", done.error().message}}).dump());
        co_return;
      }
    } else if (exchange.head().method != "GET") {
      exchange.respond(405, "application/json", R"({"msg":"use GET or PUT"})");
      co_return;
    }
    exchange.respond(200, "application/json",
                     Json::object({{"noMoreKubernetes", store_->no_more_kubernetes()}}).dump());
  }

  base::Log log_;
  base::Registry& metrics_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<FileStore> archive_;  // null: none
  std::unique_ptr<Celeborn> celeborn_;  // null: none
  std::unique_ptr<KubernetesSide> kubernetes_;
  std::unique_ptr<YarnSide> yarn_;
  Runs runs_;
  Livy livy_;
  Uploads uploads_;
  Kyuubi kyuubi_;
  SparkApplications spark_applications_;
  RunApi run_api_;
  bool ready_ = false;
  net::Scope scope_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace

void declare_flags(base::Flags& flags, GatewayOptions& options) {
  flags.group("Gateway");
  flags.text("data-dir", options.data_dir, "directory of the stored runs").placeholder("DIR").required();
  flags.text("listen", options.listen, "address of the Livy API, /metrics and /readyz").placeholder("ADDRESS");
  flags.duration("admission-limit", options.runs.admission_limit, std::chrono::seconds(1), std::chrono::hours(24),
                 "time without a node or container after which a run that is safe to re-run moves");
  flags.integer("kubernetes-percent", options.runs.rules.kubernetes_percent, 0, 100,
                "share of the runs that goes to Kubernetes if both sides can run them");
  flags.integer("kubernetes-waiting-max", options.runs.rules.kubernetes_waiting_max, 1, 100'000,
                "most runs that wait for a node at the same time");
  flags.group("Logs");
  flags.text("archive", options.archive, "HDFS (hdfs:///PATH) or a folder for logs of ended drivers and executors")
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
  flags.duration("yarn-poll", options.yarn_poll, std::chrono::milliseconds(100), std::chrono::minutes(5),
                 "interval of the list of applications");
}

Result<std::unique_ptr<Gateway>> Gateway::make(net::EventLoop& loop, Rim rim, base::Log log, base::Registry& metrics,
                                               base::Random random, GatewayOptions options) {
  TM_TRY(auto store, open_sqlite_store(loop, cat(options.data_dir, "/runs.db"), random.next()));
  options.runs.logs.folder = cat(options.data_dir, "/logs");
  options.runs.logs.bytes_max = options.log_max_mib * 1024 * 1024;
  std::unique_ptr<FileStore> archive;
  std::unique_ptr<FileStore> uploads;
  for (const auto& [flag, place, store_of] :
       {std::tuple("--archive", &options.archive, &archive), std::tuple("--uploads", &options.uploads, &uploads)}) {
    if (place->empty()) continue;
    auto opened = open_file_store(loop, hdfs_access(rim, options), *place);
    if (!opened) return fail(std::move(opened).error().within(flag));
    *store_of = *std::move(opened);
  }
  if (uploads) options.kubernetes.uploads_folder = uploads->folder();
  std::unique_ptr<Celeborn> celeborn;
  if (!options.celeborn.endpoints.empty()) {
    TM_TRY(celeborn, Celeborn::make(loop, rim.workers, log, options.celeborn, options.kubernetes.spark_version));
  }
  const std::string listen = options.listen;
  auto made =
      std::make_unique<RunningGateway>(loop, std::move(rim), std::move(log), metrics, random, std::move(options),
                                       std::move(store), std::move(archive), std::move(uploads), std::move(celeborn));
  TM_TRY_VOID(made->listen(loop, listen));
  return std::unique_ptr<Gateway>(std::move(made));
}

}  // namespace tidemark::gateway
