// The remote shuffle service of the jobs at Kubernetes: reads its health from a master's REST API, and gives jobs their
// settings. Without a healthy service no job goes to Kubernetes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "gateway/job.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"
#include "policy/route/celeborn.h"

namespace tidemark::gateway {

// Of GET /api/v1/workers.
Result<policy::route::CelebornWorkers> parse_celeborn_workers(std::string_view json);

struct CelebornOptions {
  std::string endpoints;         // "": there is no such service
  std::vector<std::string> web;  // URLs of the masters' REST APIs
  std::string version = "0.6.0";
  base::Duration poll = std::chrono::seconds(10);
};

class Celeborn {
 public:
  // `spark_version` of the drivers' image. kInvalid: wrong or unfit versions, or no URL.
  static Result<std::unique_ptr<Celeborn>> make(net::EventLoop& loop, net::WorkerPool* workers, base::Log log,
                                                CelebornOptions options, std::string_view spark_version);
  void start();  // polls until destroyed

  // Empty if the job may shuffle at Kubernetes, else the reason.
  std::string cannot_run(const SparkJob& job) const;
  void add_settings(SparkJob& job) const;

 private:
  Celeborn(net::EventLoop& loop, net::WorkerPool* workers, base::Log log, CelebornOptions options,
           const std::vector<net::Url>& web, policy::route::CelebornService service, policy::route::Version spark);
  net::Task<void> poll();
  net::Task<Result<policy::route::CelebornWorkers>> ask();

  net::EventLoop& loop_;
  base::Log log_;
  const CelebornOptions options_;
  const policy::route::CelebornService service_;
  const policy::route::Version spark_;
  std::vector<std::unique_ptr<net::HttpClient>> masters_;
  policy::route::CelebornWorkers workers_;
  std::optional<base::MonotonicTime> last_contact_;
  bool was_healthy_ = false;
  net::Scope scope_;
};

}  // namespace tidemark::gateway
