// The gateway: takes Spark jobs, runs each on Kubernetes or YARN, and follows it to its end.
//
//   HTTP door (livy, kyuubi, spark_application) ─▶ runs_of_caller ─▶ runs ─▶ policy/route ─▶ kubernetes_side or
//   yarn_side
//                                                                     └──▶ store (SQLite, or gateway/postgres)
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "gateway/celeborn.h"
#include "gateway/driver_objects.h"
#include "gateway/runs.h"
#include "gateway/runs_of_caller.h"
#include "gateway/spark_submit.h"
#include "gateway/store.h"
#include "gateway/yarn_submission.h"
#include "hadoop/gss.h"
#include "hadoop/resource_manager.h"
#include "kube/client.h"
#include "kube/config.h"
#include "kube/credential_plugin.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::gateway {

struct GatewayOptions {
  std::string data_dir;
  std::string listen = "127.0.0.1:8998";  // Livy's port
  std::string access_file;                // "": no authentication, and only on loopback
  std::string routes_file;                // "": none
  std::string tls_cert_file, tls_key_file;
  std::string spnego_keytab;
  std::string metrics_addr = "0";
  KubernetesOptions kubernetes;
  SparkSubmitOptions spark_submit;
  bool spark_operator = false;
  YarnOptions yarn;
  std::string yarn_user;
  RunsOptions runs;
  CelebornOptions celeborn;
  std::int64_t log_max_mib = 8;  // of the log of a run, and of an executor
  std::string archive;           // HDFS, S3 or a folder for logs of ended drivers and executors; "": none
  std::string uploads;           // HDFS or a shared folder for files that clients send; "": none
  base::Duration uploads_keep = std::chrono::hours(7 * 24);
  std::string public_url;  // of this gateway, for links in Spark's History Server
};
void declare_flags(base::Flags& flags, GatewayOptions& options);

class Gateway {
 public:
  // nullptr or nullopt: there is no such side; at least one is given.
  struct Rim {
    kube::Client* client = nullptr;
    std::optional<hadoop::RmCluster> yarn{};
    net::WorkerPool* workers = nullptr;  // resolves names
    std::unique_ptr<Store> store{};      // null: SQLite in data_dir
    kube::Files files{};
    std::function<std::string(const std::string&)> environment{};  // the values of variables, for S3
    std::shared_ptr<hadoop::GssAcceptor> acceptor{};               // null: no SPNEGO
    Audit audit{};
    kube::PluginHost programs{};  // runs spark-submit
  };
  static Result<std::unique_ptr<Gateway>> make(net::EventLoop& loop, Rim rim, base::Log log, base::Registry& metrics,
                                               base::Random random, GatewayOptions options);
  virtual ~Gateway() = default;

  virtual std::string address() const = 0;  // with the actual port
  virtual void start() = 0;                 // until destroyed
  virtual net::Task<void> drain() = 0;      // stops serving; runs go on in the next process
};

}  // namespace tidemark::gateway
