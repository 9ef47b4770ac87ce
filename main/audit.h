// The audit of a process (model/audit_line.h): where it goes, and the client that tells it.
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
  std::string file;  // a path or one of the words of journal/audit_file.h; "" where the command has no other default
  std::int64_t megabytes = 32;
};
void declare_audit_flags(base::Flags& flags, AuditOptions& options);
journal::AuditFileOptions file_options(const AuditOptions& options);

class AuditOutput {
 public:
  static constexpr base::Duration kLastLinesLimit = std::chrono::seconds(2);

  // `metrics` may be null: nobody asks for them.
  AuditOutput(net::EventLoop& loop, const base::Log& log, base::Registry* metrics, const AuditOptions& options);

  void listen_to(kube::ClientConfig& client, std::string actor);  // this outlives the client
  // For writes to other things than a cluster; empty where none is kept. This outlives whoever calls it.
  std::function<void(model::AuditLine)> listener();
  // Runs a command to its end and answers its exit code. Where an audit is kept a signal ends the command in order: a
  // write that was under way leaves its line.
  int run(const std::function<net::Task<int>()>& command);
  // When the loop has stopped and whoever wrote is gone: what was told last is written.
  void finish();

 private:
  net::EventLoop& loop_;
  base::Registry unread_;
  std::unique_ptr<journal::AuditFile> file_;  // null where none is kept
};

}  // namespace tidemark::main
