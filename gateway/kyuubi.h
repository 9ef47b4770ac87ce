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
#include "gateway/job.h"
#include "gateway/runs.h"
#include "gateway/uploads.h"
#include "net/http_server.h"

namespace tidemark::gateway {

struct KyuubiBatch {
  SparkJob job;
  std::string id;  // the client's UUID, in lower case; "" without one
};
// Kyuubi's BatchRequest. Errors name the field.
Result<KyuubiBatch> parse_kyuubi_batch(std::string_view body);

class Kyuubi {
 public:
  // `uploads` keeps the files of multipart requests; null: such requests are refused.
  explicit Kyuubi(Runs& runs, Uploads* uploads = nullptr) : runs_(runs), uploads_(uploads) {}
  static bool serves(std::string_view path);
  net::Task<void> handle(net::HttpExchange& exchange);

 private:
  net::Task<void> create(net::HttpExchange& exchange);
  net::Task<void> list(net::HttpExchange& exchange, const net::Target& target);
  net::Task<void> one(net::HttpExchange& exchange, const net::Target& target, std::string_view rest);
  net::Task<Result<std::optional<Record>>> find(std::string_view id);
  std::string id_of(const Record& record) const;
  Json batch_of(const Record& record) const;

  // The JSON of a multipart request, with the URLs of its files in it.
  net::Task<Result<std::string>> request_of_form(std::string content_type, std::string body);

  Runs& runs_;
  Uploads* uploads_;
};

}  // namespace tidemark::gateway
