// The Livy batches API: POST, GET and DELETE /batches, with Livy's states and error bodies. Clients such as Airflow's
// LivyOperator work unmodified.
//
// The header `Idempotency-Key` makes a POST repeatable: the same key returns the same batch, with another body 409.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/job.h"
#include "gateway/runs.h"
#include "net/http_server.h"

namespace tidemark::gateway {

// Livy's CreateBatchRequest. Errors name the field.
Result<SparkJob> parse_livy_batch(std::string_view body);
// The state that Livy would report: starting, running, success, dead or killed.
std::string_view livy_state(const Record& record);

class Livy {
 public:
  explicit Livy(Runs& runs) : runs_(runs) {}
  static bool serves(std::string_view path);  // /batches and below
  net::Task<void> handle(net::HttpExchange& exchange);

 private:
  net::Task<void> create(net::HttpExchange& exchange);
  net::Task<void> list(net::HttpExchange& exchange, const net::Target& target);
  net::Task<void> one(net::HttpExchange& exchange, const net::Target& target, std::string_view rest);
  Json batch_of(const Record& record) const;

  Runs& runs_;
};

}  // namespace tidemark::gateway
