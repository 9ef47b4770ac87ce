// Our own API: all runs with side, reason and times of each attempt; the log of a run from an offset, and the logs of
// its executors.
//
//   GET /tidemark/v1/runs?from=N&size=N         {"from", "total", "runs"}, the newest first
//   GET /tidemark/v1/runs/1/job                 the job, as a body of POST /batches
//   GET /tidemark/v1/runs/1/replay              {"attempts": [{"same", "before", "now", "signals"} or {"error"}]}
//   GET /tidemark/v1/runs/1/log?from=BYTE       {"from", "next", "text", "ended"}
//   GET /tidemark/v1/runs/1/executors/2/log     text; the target of the links in Spark's History Server
#pragma once

#include <string_view>
#include <utility>

#include "gateway/runs_of_caller.h"
#include "net/http_server.h"

namespace tidemark::gateway {

class RunApi {
 public:
  explicit RunApi(RunsOfCaller runs) : runs_(std::move(runs)) {}
  static bool serves(std::string_view path);
  net::Task<void> handle(net::HttpExchange& exchange);

 private:
  net::Task<void> respond_list(net::HttpExchange& exchange, net::Target target);
  net::Task<void> respond_log(net::HttpExchange& exchange, Record record, std::int64_t from);
  net::Task<void> respond_replay(net::HttpExchange& exchange, Record record);
  net::Task<void> respond_executor(net::HttpExchange& exchange, Record record, std::string executor);

  RunsOfCaller runs_;
};

}  // namespace tidemark::gateway
