// `tidemark check ledger`: watches what nodes offer from outside, with nothing but the API server, and tells what must
// not be. A process of its own: it shares no arithmetic with what it checks (audit.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/audit.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::cli {

struct CheckOptions {
  AuditOptions audit;
  base::Duration length = std::chrono::seconds(30);
  base::Duration every = std::chrono::seconds(1);
  std::string config_namespace = "koordinator-system";
  std::string config_name = "slo-controller-config";
  std::size_t shown_max = 20;
  bool json = false;
  base::Duration limit = std::chrono::seconds(30);  // for one answer of the API server
};

struct CheckReport {
  std::string text;
  bool clean = false;  // nothing that must not be was seen
};
// Looks that fail are counted, and the watching goes on. An error where none succeeded; at once where the first says
// that no other would.
net::Task<Result<CheckReport>> check_ledger(net::EventLoop& loop, kube::Client& client, CheckOptions options);

struct FailedLooks {
  std::int64_t count = 0;
  std::string last;  // what was wrong
};
CheckReport report(const Auditor& auditor, const FailedLooks& failed, const CheckOptions& options);

}  // namespace tidemark::cli
