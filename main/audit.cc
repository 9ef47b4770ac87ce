#include "main/audit.h"

#include <signal.h>

#include <utility>

#include "main/process.h"
#include "model/audit_line.h"

namespace tidemark::main {

void declare_audit_flags(base::Flags& flags, AuditOptions& options) {
  flags.group("Audit");
  flags
      .text("audit-file", options.file,
            "file for one JSON line per write of this process; - is standard output, none disables it")
      .placeholder("FILE");
  flags
      .integer("audit-size", options.megabytes, 1, 1'000'000,
               "MiB of disk for the audit file and three older files; the oldest are deleted")
      .placeholder("MIB");
}

journal::AuditFileOptions file_options(const AuditOptions& options) {
  return {options.file, options.megabytes * (std::int64_t{1} << 20)};
}

AuditOutput::AuditOutput(net::EventLoop& loop, const base::Log& log, base::Registry* metrics,
                         const AuditOptions& options)
    : loop_(loop),
      file_(journal::AuditFile::make(loop, log, metrics == nullptr ? unread_ : *metrics, file_options(options))) {}

void AuditOutput::listen_to(kube::ClientConfig& client, std::string actor) {
  if (!file_) return;
  client.audit_actor = std::move(actor);
  client.audit = listener();
}

std::function<void(model::AuditLine)> AuditOutput::listener() {
  if (!file_) return {};
  return [file = file_.get()](const model::AuditLine& line) { file->add(model::to_string(line)); };
}

int AuditOutput::run(const std::function<net::Task<int>()>& command) {
  int code = kFailed;
  net::FdWatch signals;
  if (file_) {
    signals = loop_.watch_signals({SIGINT, SIGTERM}, [&](int signal) {
      failed({ErrorKind::kUnavailable, "ended by a signal; the audit shows the writes in progress", 0, 0});
      code = kEndedBySignal + signal;
      loop_.stop();
    });
  }
  {
    net::Scope scope(loop_);
    const auto run_then_stop = [&]() -> net::Task<void> {
      code = co_await command();
      loop_.stop();
    };
    scope.spawn(run_then_stop());
    loop_.run();
  }
  finish();
  return code;
}

void AuditOutput::finish() {
  if (file_) file_->finish(kLastLinesLimit);
}

}  // namespace tidemark::main
