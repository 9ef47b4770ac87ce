// What the doors share: fields of bodies, refusals, the requests on batches, and the steps of a run as lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "gateway/record.h"
#include "gateway/runs_of_caller.h"
#include "net/http_server.h"

namespace tidemark::gateway {

inline constexpr int kTooManyRequests = 429;  // the code of an error about a quota
inline constexpr std::size_t kBodyMax = 4 * 1024 * 1024;
inline constexpr std::int64_t kPageMax = 1000;
inline constexpr std::int64_t kPageDefault = 100;

// A text, or a number or boolean as text. Errors name the field.
Result<std::string> read_text(std::string_view field, const Json& value);
Result<std::vector<std::string>> read_texts(std::string_view field, const Json& value);
// Into conf, each value as a text.
Result<void> read_conf(std::string_view field, const Json& value, SparkJob& job);

struct DoorAnswer {
  int status = 200;
  Json body;
  net::Headers headers{};
};
void respond(net::HttpExchange& exchange, DoorAnswer answer);
void respond(net::HttpExchange& exchange, int status, const Json& body);

// The body, or the status of a refusal and its message.
struct Refusal {
  int status = 500;
  std::string message;
};
Refusal refusal_of(const Error& error);
Error error_of(int status, std::string message);  // of which refusal_of() makes the same

// The whole body. Errors have the code 413 or 408.
net::Task<Result<std::string>> read_body(net::HttpExchange& exchange, std::size_t bytes_max = kBodyMax);
// The header Idempotency-Key. kInvalid: it is too long.
Result<std::string> idempotency_key(const net::HttpExchange& exchange);

// The query parameters `from` and `size`.
struct Slice {
  std::optional<std::int64_t> from;  // nullopt: not given, or negative
  std::int64_t size = kPageDefault;
};
Slice slice_of(const net::Target& target);

// Batches as Livy and Kyuubi have them: POST and GET at a path, GET and DELETE below it. The doors add their bodies.
// One object serves one request.
class BatchesDoor {
 public:
  virtual ~BatchesDoor() = default;
  net::Task<void> handle(net::HttpExchange& exchange);

 protected:
  struct Words {
    std::string_view path;
    std::string_view bad_request;
    std::string_view not_found;  // of a path below a batch
    std::string_view not_allowed;
  };
  struct Request {
    SparkJob job;
    std::string key;  // "": that of the header
  };
  BatchesDoor(RunsOfCaller runs, const Words& words) : runs_(std::move(runs)), words_(words) {}

  virtual DoorAnswer refuse(const Error& error) const = 0;
  virtual net::Task<Result<Request>> read(net::HttpExchange& exchange) = 0;
  virtual DoorAnswer created(const Added& added) const = 0;
  virtual Result<RunFilter> filter_of(const net::Target& target) const = 0;
  virtual DoorAnswer listed(std::int64_t from, const Page& page) const = 0;
  // kNotFound: there is none with this id.
  virtual net::Task<Result<Record>> find(std::string id) = 0;
  virtual net::Task<DoorAnswer> cancel(const Record& record) = 0;
  virtual DoorAnswer shown(const Record& record) const = 0;
  // GET below a batch. nullopt: there is no such path.
  virtual net::Task<std::optional<DoorAnswer>> part(const Record& record, std::string name, Slice slice) = 0;

  RunsOfCaller runs_;

 private:
  net::Task<DoorAnswer> answer(net::HttpExchange& exchange);
  net::Task<DoorAnswer> create(net::HttpExchange& exchange);
  net::Task<DoorAnswer> list(const net::Target& target);
  net::Task<DoorAnswer> one(net::HttpExchange& exchange, const net::Target& target, std::string_view rest);

  const Words words_;
};

// One line for each step that users ask about.
std::vector<std::string> steps_of(const Record& record, const std::string& app_id);
Json lines_of(const std::vector<std::string>& lines, std::int64_t from, std::int64_t size);

}  // namespace tidemark::gateway
