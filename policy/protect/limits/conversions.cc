#include "policy/protect/limits/conversions.h"

#include <algorithm>

#include "policy/sell/ledger/over_report.h"

namespace tidemark::policy::protect {

std::int64_t shares_of(std::optional<model::CpuMilli> request) {
  return std::clamp(sell::scaled(request ? request->value : 0, 1024, 1000), kSharesMin, kSharesMax);
}

std::int64_t quota_of(std::optional<model::CpuMilli> limit, std::int64_t ratio_percent) {
  if (!limit || limit->value <= 0) return kNoLimit;
  const std::int64_t quota = std::clamp(sell::scaled(limit->value, kQuotaPerMilli_us, 1), kQuotaMin, kQuotaMax);
  return ratio_percent > 100 ? std::max(sell::scaled(quota, 100, ratio_percent, true), kQuotaMin) : quota;
}

std::int64_t memory_limit_of(std::optional<model::MemoryBytes> limit) {
  return limit && limit->value > 0 ? limit->value : kNoLimit;
}

}  // namespace tidemark::policy::protect
