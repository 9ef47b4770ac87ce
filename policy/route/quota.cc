#include "policy/route/quota.h"

namespace tidemark::policy::route {

QuotaLimit limit_at_door(const Quota& quota, const QuotaUse& use, std::int64_t cores) {
  if (quota.cores && cores > *quota.cores) return QuotaLimit::kCores;
  if (quota.queued && use.queued >= *quota.queued) return QuotaLimit::kQueued;
  return QuotaLimit::kNone;
}

QuotaLimit limit_at_start(const Quota& quota, const QuotaUse& use, std::int64_t cores) {
  if (quota.running && use.running >= *quota.running) return QuotaLimit::kRunning;
  if (quota.cores && cores > *quota.cores - use.cores) return QuotaLimit::kCores;
  return QuotaLimit::kNone;
}

}  // namespace tidemark::policy::route
