// The audit of a process (model/audit_line.h): where it goes, and the client that tells it.
#pragma once

#include <memory>
#include <string>

#include "base/flags.h"
#include "base/log.h"
#include "base/metrics.h"
#include "journal/audit_file.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::main {

struct AuditOptions {
  std::string file;  // "": none; "-": standard output
  std::int64_t megabytes = 32;
};
void declare_audit_flags(base::Flags& flags, AuditOptions& options);

class AuditOutput {
 public:
  static constexpr base::Duration kDrainLimit = std::chrono::seconds(2);

  // `metrics` may be null: nobody asks for them.
  AuditOutput(net::EventLoop& loop, const base::Log& log, base::Registry* metrics, const AuditOptions& options);

  void listen_to(kube::ClientConfig& client, std::string actor);  // this outlives the client
  net::Task<void> drain();

 private:
  base::Registry unread_;
  std::unique_ptr<journal::AuditFile> file_;  // null where none is kept
};

}  // namespace tidemark::main
