#include "main/audit.h"

#include <utility>

#include "model/audit_line.h"

namespace tidemark::main {

void declare_audit_flags(base::Flags& flags, AuditOptions& options) {
  flags.group("Audit");
  flags
      .text("audit-file", options.file,
            "a line of JSON for each write that leaves this process; - is standard output, empty keeps none")
      .placeholder("FILE");
  flags
      .integer("audit-size", options.megabytes, 1, 1'000'000,
               "MiB that it may take on disk with the three files before it; what is oldest goes first")
      .placeholder("MIB");
}

AuditOutput::AuditOutput(net::EventLoop& loop, const base::Log& log, base::Registry* metrics,
                         const AuditOptions& options) {
  if (options.file.empty()) return;
  file_ = std::make_unique<journal::AuditFile>(
      loop, log, metrics == nullptr ? unread_ : *metrics,
      journal::AuditFileOptions{options.file, options.megabytes * (std::int64_t{1} << 20)});
}

void AuditOutput::listen_to(kube::ClientConfig& client, std::string actor) {
  if (!file_) return;
  client.audit_actor = std::move(actor);
  client.audit = [file = file_.get()](const model::AuditLine& line) { file->add(model::to_string(line)); };
}

net::Task<void> AuditOutput::drain() {
  if (file_) co_await file_->drain(kDrainLimit);
}

}  // namespace tidemark::main
