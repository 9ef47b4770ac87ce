// `tidemark check ledger`: watches what nodes offer from outside, with nothing but the API server, and tells what must
// not be. A process of its own: it shares no arithmetic with what it checks (audit.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/yarn/audit.h"
#include "cli/yarn/ledger_watch.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

struct CheckOptions {
  AuditOptions audit;
  LedgerWatchOptions watch;
  base::Duration length = std::chrono::seconds(30);
  std::size_t shown_max = 20;
  bool json = false;
};

struct CheckReport {
  std::string text;
  bool clean = false;  // nothing that must not be was seen
};
// Failed lists and watches are counted, and the check continues; time without a complete view is reported and does not
// count. An error if the view was never complete; at once if a failure is permanent. `over`: ends the check before
// options.length, with the findings until then.
net::Task<Result<CheckReport>> check_ledger(net::EventLoop& loop, kube::Client& client, CheckOptions options,
                                            const net::Event& over);

CheckReport report(const Auditor& auditor, const FailedLooks& failed, const CheckOptions& options);

}  // namespace tidemark::cli
