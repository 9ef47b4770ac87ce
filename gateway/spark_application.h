// SparkApplication objects of Spark Operator (sparkoperator.k8s.io/v1beta2) as a door: POST, GET and DELETE below
// /apis/sparkoperator.k8s.io/v1beta2/namespaces/NAMESPACE/sparkapplications, in YAML or JSON, with Kubernetes' Status
// as error body. The object is a run of the gateway; it need not exist in the cluster.
//
// The name of the object is the key: a second creation is 409, as in Kubernetes. A deletion cancels the run and frees
// the name.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "gateway/door.h"
#include "gateway/job.h"

namespace tidemark::gateway {

struct SparkApplication {
  std::string name;
  SparkJob job;
};
// Errors name the field. What the gateway does not translate is refused.
Result<SparkApplication> parse_spark_application(std::string_view body, std::string_view ns);

class SparkApplications {
 public:
  explicit SparkApplications(RunsOfCaller runs) : runs_(std::move(runs)) {}
  static bool serves(std::string_view path);
  static DoorAnswer refusal(const Error& error);
  net::Task<void> handle(net::HttpExchange& exchange);

 private:
  net::Task<void> create(net::HttpExchange& exchange, const std::string& ns);
  net::Task<void> one(net::HttpExchange& exchange, const std::string& ns, const std::string& name);
  Json object_of(const Record& record) const;

  RunsOfCaller runs_;
};

}  // namespace tidemark::gateway
