// The Kyuubi batches API: POST, GET and DELETE /api/v1/batches, with Kyuubi's states and error bodies.
//
// The id of a batch is a UUID: the client's own (`kyuubi.batch.id` in conf), or one that the gateway derives from its
// store and the run. A second POST with a known id returns the first batch and marks it as duplicated; with another
// body it is 409.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "gateway/door.h"
#include "gateway/job.h"
#include "gateway/uploads.h"

namespace tidemark::gateway {

struct KyuubiBatch {
  SparkJob job;
  std::string id;  // the client's UUID, in lower case; "" without one
};
// Kyuubi's BatchRequest. Errors name the field.
Result<KyuubiBatch> parse_kyuubi_batch(std::string_view body);

class Kyuubi final : public BatchesDoor {
 public:
  // `uploads` keeps the files of multipart requests; null: such requests are refused.
  explicit Kyuubi(RunsOfCaller runs, Uploads* uploads = nullptr);
  static bool serves(std::string_view path);
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
  std::string id_of(const Record& record) const;
  Json batch_of(const Record& record) const;

  // The JSON of a multipart request, with the URLs of its files in it.
  net::Task<Result<std::string>> request_of_form(std::string content_type, std::string body);

  Uploads* uploads_;
};

}  // namespace tidemark::gateway
