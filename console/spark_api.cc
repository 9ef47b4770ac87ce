#include "console/spark_api.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/guard.h"
#include "console/json_values.h"

namespace tidemark::console {
namespace {

constexpr base::Duration kGatewayLimit = std::chrono::seconds(10);
constexpr std::int64_t kRunsDefault = 200;
constexpr std::int64_t kRunsMax = 1000;
constexpr std::int64_t kFromMax = std::int64_t{1'000'000'000};
constexpr int kUnauthorized = 401, kForbidden = 403;

// kInvalid: not a whole number from 0 to `max`.
Result<std::int64_t> number_in(const net::Target& target, std::string_view key, std::int64_t otherwise,
                               std::int64_t max) {
  if (!target.has(key)) return otherwise;
  const auto value = base::parse_int(target.get(key));
  if (value && *value >= 0 && *value <= max) return *value;
  return fail(ErrorKind::kInvalid, key, ": ", base::in_quotes(target.get(key)), " is not a number from 0 to ", max);
}

std::string unknown(std::string_view why, bool needs_token = false) {
  return Json::object({{"schema", kSchema}, {"unknown", why}, {"needsToken", needs_token}}).dump();
}

// What the gateway answered, as the console tells it.
std::string document_of(const Result<net::HttpResponse>& response, const std::optional<Price>& price) {
  if (!response) return unknown(base::cat("the gateway does not answer: ", response.error().message));
  if (response->status == kUnauthorized || response->status == kForbidden) {
    return unknown("the gateway shows runs to its users only; give your token of the gateway", true);
  }
  auto json = Json::parse(response->body);
  if (response->status != 200 || !json || !json->is_object() || json->member("runs") == nullptr) {
    return unknown(base::cat("the gateway answered with status ", response->status, " and no list of runs"));
  }
  (*json)["schema"] = Json(kSchema);
  (*json)["price"] =
      price ? Json::object({{"perCoreHourMicro", price->per_core_hour_micro}, {"currency", price->currency}}) : Json();
  return json->dump();
}

}  // namespace

net::Task<void> show_spark_runs(net::HttpExchange& exchange, net::Target target, SparkGateway gateway,
                                std::optional<Price> price) {
  const auto from = number_in(target, "from", 0, kFromMax);
  if (!from) co_return respond_error(exchange, from.error(), "from");
  const auto size = number_in(target, "size", kRunsDefault, kRunsMax);
  if (!size) co_return respond_error(exchange, size.error(), "size");
  if (gateway.transport == nullptr) {
    co_return respond_json(exchange, unknown("this console was given no Spark gateway; start it with --gateway"));
  }
  net::HttpRequest request;
  request.target = base::cat("/tidemark/v1/runs?from=", *from, "&size=", *size);
  std::string token(exchange.head().headers.get(kGatewayTokenHeader));
  if (token.empty() && gateway.token) token = gateway.token();
  if (!token.empty()) request.headers.add("authorization", base::cat("Bearer ", token));
  respond_json(exchange, document_of(co_await gateway.transport->fetch(std::move(request), kGatewayLimit), price));
}

}  // namespace tidemark::console
