// Submits drivers to Kubernetes without a JVM, and follows them by one watch.
//
//   submit   ConfigMap → Pod → owner of the ConfigMap → Service. The pod starts only with its ConfigMap.
//   stop     delete the pod, and put an empty ConfigMap in the place of its own: what is created later never starts
//   release  remove the finalizer
//
// With Spark Operator the pod and the Service are the operator's (spark_operator.h); the rest is the same.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "gateway/celeborn.h"
#include "gateway/driver_objects.h"
#include "gateway/file_store.h"
#include "gateway/side_client.h"
#include "gateway/spark_operator.h"
#include "gateway/spark_pod.h"
#include "gateway/spark_submit.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "net/loop.h"

namespace tidemark::gateway {

class KubernetesSide final : public SideClient {
 public:
  // Where the logs of ended executors go. With it the driver leaves ended executor pods to the gateway, which deletes
  // them once it has their logs.
  struct ExecutorLogs {
    LogArchive* files = nullptr;  // null: logs of executors go with their pods
    std::int64_t bytes_max = 0;   // of one executor
    std::string public_url;       // of the gateway: for the links of the History Server; "": no links
  };
  KubernetesSide(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics,
                 base::Random random, KubernetesOptions options, SideOwner owner);

  void use(ExecutorLogs logs) { executor_logs_ = std::move(logs); }        // before start()
  void use(const Celeborn* shuffle) { shuffle_ = shuffle; }                // null: jobs shuffle as they say
  void use(SparkSubmit* spark_submit) { spark_submit_ = spark_submit; }    // null: jobs that need it are refused
  void use(SparkOperator* spark_operator) { operator_ = spark_operator; }  // null: the gateway makes drivers itself
  void start();                                                            // watches until destroyed
  bool synced() const;                                                     // the first list of pods is in

  std::string cannot_run(const SparkJob& job) const override;
  net::Task<Result<policy::route::Reservation>> reserve(const Record& record) override;
  net::Task<Submission> submit(const Record& record) override;
  policy::route::Observation look(const Record& record) const override;
  net::Task<Stopped> stop(const Record& record) override;
  net::Task<Result<void>> release(const Record& record, bool moves) override;
  net::Task<Result<DriverOutput>> read_log(const Record& record, std::string position) override;
  net::Task<Result<std::string>> read_executor_log(const Record& record, std::string executor) override;
  std::string app_id(const Record& record) const override;

 private:
  DriverNames names_of(const Record& record) const;
  void on_pod(const SparkPod* before, const SparkPod* after);
  net::Task<void> collect_log(SparkPod executor, std::int64_t run);
  net::Task<void> remove_if_stray(std::int64_t run, SparkPod pod);
  net::Task<Result<std::optional<SparkPod>>> read_pod(const std::string& ns, const std::string& name);
  net::Task<Result<void>> fence(const DriverNames& names);
  net::Task<void> remove_old_fences();
  net::Task<Result<void>> remove_fences_before(std::string ns, base::WallTime time);
  net::Task<Result<void>> remove_executors(std::string ns, std::string of);  // labels
  net::Task<Result<DriverObjects>> objects_of(const Record& record, const DriverNames& names);
  net::Task<Submission> create_pod(const DriverNames& names, std::string body, std::string& uid);
  net::Task<Submission> create_application(const Record& record, const DriverNames& names);
  net::Task<Result<void>> remove_templates(const DriverNames& names);

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  const KubernetesOptions options_;
  const SideOwner owner_;
  kube::Informer<SparkPod> pods_;
  std::map<std::int64_t, std::int64_t> disrupted_;  // executors by run that the cluster evicted
  ExecutorLogs executor_logs_;
  const Celeborn* shuffle_ = nullptr;
  SparkSubmit* spark_submit_ = nullptr;
  SparkOperator* operator_ = nullptr;
  std::set<std::string> collecting_;  // uids of executor pods
  std::size_t readers_ = 0;           // of logs of executors
  std::set<std::string> namespaces_;  // of drivers, as far as it has seen them
  std::set<std::string> straying_;    // pods that are being examined or removed
  net::Scope scope_;
};

}  // namespace tidemark::gateway
