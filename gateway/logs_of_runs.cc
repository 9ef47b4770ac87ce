// The logs of Runs.
#include <utility>

#include "gateway/runs.h"
#include "policy/route/run.h"

namespace tidemark::gateway {

net::Task<bool> Runs::update_log(const Record& record) {
  co_return co_await logs_.update(record, app_id(record), side_of(record));
}

net::Task<Result<std::vector<std::string>>> Runs::log_lines(Record record) {
  co_await update_log(record);
  co_return co_await logs_.lines(record, app_id(record));
}

net::Task<Result<LogPiece>> Runs::log_piece(Record record, std::int64_t from) {
  co_await update_log(record);
  co_return co_await logs_.piece(record, app_id(record), from);
}

net::Task<Result<std::string>> Runs::executor_log(Record record, std::string executor) {
  if (SideClient* side = side_of(record); side != nullptr && !is_final(record.run.phase)) {
    auto text = co_await side->read_executor_log(record, executor);
    if (text || text.error().kind != ErrorKind::kNotFound || logs_.archive() == nullptr) co_return text;
  }
  if (logs_.archive() == nullptr) {
    co_return fail(ErrorKind::kNotFound, "no executor ", executor,
                   " runs, and no --archive keeps the logs of ended ones");
  }
  co_return co_await logs_.archive()->read(RunLogs::executor_path(record.id, executor), options_.logs.bytes_max);
}

}  // namespace tidemark::gateway
