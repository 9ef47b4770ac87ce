// The audit of a process (model/audit_line.h): its destination, and the client that writes to it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "journal/audit_file.h"
#include "kube/client.h"
#include "model/audit_line.h"
#include "net/loop.h"

namespace tidemark::main {

struct AuditOptions {
  std::string file;  // a path or one of the words of journal/audit_file.h; "": the command's default
  std::int64_t megabytes = 32;
};
void declare_audit_flags(base::Flags& flags, AuditOptions& options);
journal::AuditFileOptions file_options(const AuditOptions& options);

class AuditOutput {
 public:
  static constexpr base::Duration kLastLinesLimit = std::chrono::seconds(2);

  // `metrics` may be null.
  AuditOutput(net::EventLoop& loop, const base::Log& log, base::Registry* metrics, const AuditOptions& options);

  void listen_to(kube::ClientConfig& client, std::string actor);  // this outlives the client
  // For writes that do not go to a cluster; empty without an audit. Must outlive its callers.
  std::function<void(model::AuditLine)> listener();
  // Runs a command and returns its exit code. With an audit, a signal stops the command in order, so that a write in
  // progress leaves its line.
  int run(const std::function<net::Task<int>()>& command);
  // Writes the last lines. Call it when the loop has stopped and all writers are destroyed.
  void finish();

 private:
  net::EventLoop& loop_;
  base::Registry unread_;
  std::unique_ptr<journal::AuditFile> file_;  // null without an audit
};

}  // namespace tidemark::main
