// The Livy batches API: POST, GET and DELETE /batches, with Livy's states and error bodies. Clients such as Airflow's
// LivyOperator work unmodified.
//
// The header `Idempotency-Key` makes a POST repeatable: the same key returns the same batch, with another body 409.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/door.h"
#include "gateway/job.h"

namespace tidemark::gateway {

// Livy's CreateBatchRequest. Errors name the field.
Result<SparkJob> parse_livy_batch(std::string_view body);
// The state that Livy would report: starting, running, success, dead or killed.
std::string_view livy_state(const Record& record);

class Livy final : public BatchesDoor {
 public:
  explicit Livy(RunsOfCaller runs);
  static bool serves(std::string_view path);  // /batches and below
  static DoorAnswer refusal(const Error& error);

 private:
  DoorAnswer refuse(const Error& error) const override { return refusal(error); }
  net::Task<Result<Request>> read(net::HttpExchange& exchange) override;
  DoorAnswer created(const Added& added) const override;
  Result<RunFilter> filter_of(const net::Target& target) const override;
  DoorAnswer listed(std::int64_t from, const Page& page) const override;
  net::Task<Result<Record>> find(std::string id) override;
  net::Task<DoorAnswer> cancel(const Record& record) override;
  DoorAnswer shown(const Record& record) const override;
  net::Task<std::optional<DoorAnswer>> part(const Record& record, std::string name, Slice slice) override;
  Json batch_of(const Record& record) const;
};

}  // namespace tidemark::gateway
