// Stock spark-submit, for jobs that the native submission to Kubernetes does not translate.
//
//   spark-submit ─▶ a server on loopback, which records ─▶ the objects, under the names of the run
//
// spark-submit only translates: it gets neither the address nor the credentials of a cluster. The gateway creates the
// objects as it creates its own. So a repeated submission meets the same names, and a spark-submit that is killed
// leaves nothing behind.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/result.h"
#include "gateway/driver_objects.h"
#include "gateway/job.h"
#include "kube/credential_plugin.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::gateway {

struct SparkSubmitOptions {
  std::string home;  // SPARK_HOME; "": there is no spark-submit
  std::string java_home;
  std::string folder;              // for the properties of a job while its process runs
  std::int64_t processes_max = 2;  // at the same time; each takes 250 MB
};

class SparkSubmit {
 public:
  static Result<std::unique_ptr<SparkSubmit>> make(net::EventLoop& loop, base::Log log, kube::PluginHost programs,
                                                   SparkSubmitOptions options);
  // kInvalid: spark-submit refuses the job. kExhausted: all processes are in use, and `wake` is called when one ends.
  // Other errors: it may succeed later. If the task is destroyed, the process is killed.
  net::Task<Result<DriverObjects>> translate(SparkJob job, DriverNames names, KubernetesOptions options,
                                             std::function<void()> wake);

 private:
  struct Recording {
    std::vector<Json> objects;
    std::string refused;  // a kind of object that the gateway does not create
  };
  SparkSubmit(kube::PluginHost programs, SparkSubmitOptions options)
      : programs_(std::move(programs)), options_(std::move(options)) {}
  net::Task<void> record(net::HttpExchange& exchange);
  net::Task<Result<DriverObjects>> run(SparkJob job, DriverNames names, KubernetesOptions options);

  const kube::PluginHost programs_;
  const SparkSubmitOptions options_;
  std::unique_ptr<net::HttpServer> server_;
  std::map<std::string, Recording, std::less<>> recordings_;  // by a part of the URL that only one process knows
  std::int64_t running_ = 0;
  std::map<std::string, std::function<void()>> waiting_;  // by run
};

// The recorded objects under the names of the run, and with the API server of `options`. kInvalid: one is missing.
Result<DriverObjects> with_our_names(std::vector<Json> objects, const DriverNames& names,
                                     const KubernetesOptions& options);
// Why spark-submit ended, by the lines that say so in its output.
std::string cause_in(std::string_view output);

}  // namespace tidemark::gateway
