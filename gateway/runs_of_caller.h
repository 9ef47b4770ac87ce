// The runs as one caller may use them. Each door gets its runs through this class, so each check is made once:
//
//   submit        the run belongs to the caller and to the business of the caller; rules set properties
//   see, cancel   only runs of the caller; an admin, all runs
//
// An audit line tells who did what with which run, and the result. Reads leave a line only if they are refused.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "gateway/access.h"
#include "gateway/runs.h"
#include "model/audit_line.h"

namespace tidemark::gateway {

using Audit = std::function<void(model::AuditLine)>;  // empty: no audit

// What the callers of one process have in common.
struct Access {
  const base::Clock* clock = nullptr;
  std::shared_ptr<const AccessRules> rules{};  // null: no authentication
  Audit audit{};
};

class RunsOfCaller {
 public:
  // For a gateway without authentication: the caller may do everything.
  RunsOfCaller(Runs& runs) : runs_(&runs), caller_{.user = "", .business = "", .admin = true} {}  // NOLINT
  RunsOfCaller(Runs& runs, Access access, Caller caller)
      : runs_(&runs), access_(std::move(access)), caller_(std::move(caller)) {}

  // As in Runs. kDenied with code 403: the caller has no right to it.
  net::Task<Result<Added>> add(SparkJob job, std::string key);
  net::Task<Result<std::optional<Record>>> find(std::int64_t id);
  net::Task<Result<std::optional<Record>>> find_key(std::string key);
  net::Task<Result<void>> drop_key(std::int64_t id);
  net::Task<Result<Page>> page(std::int64_t from, std::int64_t size, RunFilter filter = {});
  net::Task<Result<void>> cancel(std::int64_t id);
  net::Task<Result<void>> set_no_more_kubernetes(bool value);

  // Of a record that find() gave.
  net::Task<Result<std::vector<std::string>>> log_lines(Record record) { return runs_->log_lines(std::move(record)); }
  net::Task<Result<LogPiece>> log_piece(Record record, std::int64_t from) {
    return runs_->log_piece(std::move(record), from);
  }
  net::Task<std::vector<Result<Replayed>>> replay(Record record) { return runs_->replay(std::move(record)); }
  net::Task<Result<std::string>> executor_log(Record record, std::string executor) {
    return runs_->executor_log(std::move(record), std::move(executor));
  }

  const std::string& store() const { return runs_->store(); }
  std::string app_id(const Record& record) const { return runs_->app_id(record); }
  const Caller& caller() const { return caller_; }

 private:
  Result<void> complete(SparkJob& job) const;
  Result<std::optional<Record>> if_allowed(Result<std::optional<Record>> found, std::string_view verb) const;
  void audit(std::string_view verb, std::string_view name, const Error* error) const;

  Runs* runs_;
  Access access_;
  Caller caller_;
};

}  // namespace tidemark::gateway
