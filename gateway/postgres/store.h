// The store in PostgreSQL, for several replicas of the gateway. A replica renews its lease by a heartbeat.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "gateway/store.h"
#include "net/loop.h"

namespace tidemark::gateway::postgres {

struct PostgresOptions {
  std::string where;    // as libpq reads it: "host=db dbname=tidemark", or a URL
  std::string replica;  // a name that no other process has, or had
  base::Duration lease = std::chrono::seconds(10);
  base::Duration beat = std::chrono::milliseconds(500);
};

// Connects (blocks).
Result<std::unique_ptr<Store>> open_store(net::EventLoop& loop, base::Log log, const PostgresOptions& options,
                                          std::uint64_t seed);

}  // namespace tidemark::gateway::postgres
