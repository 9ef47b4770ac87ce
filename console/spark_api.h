// Runs of the Spark gateway, for the page Spark. The gateway decides what the person may see, by the person's own
// token:
//
//   a request with the header   that token; the page keeps it in its memory only
//   otherwise                   the token that the laptop form was started with; none in a cluster
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "console/documents.h"
#include "net/http_client.h"
#include "net/http_server.h"

namespace tidemark::console {

struct SparkGateway {
  net::HttpTransport* transport = nullptr;  // outlives the console; null: there is no gateway
  std::function<std::string()> token{};     // of the one person of the laptop form
};

inline constexpr std::string_view kGatewayTokenHeader = "x-tidemark-gateway-token";

// GET /api/v1/spark?from=N&size=N. Without an answer of the gateway the runs are unknown, with the reason.
// `price`: of a core-hour; nullopt: the page shows core-hours only.
net::Task<void> show_spark_runs(net::HttpExchange& exchange, net::Target target, SparkGateway gateway,
                                std::optional<Price> price);

}  // namespace tidemark::console
