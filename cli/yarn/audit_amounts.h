// Amounts of both resources, and the auditor's arithmetic with them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace tidemark::cli {

// CPU in thousandths of a core, memory in bytes.
struct AuditAmounts {
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  bool operator==(const AuditAmounts&) const = default;
  AuditAmounts& operator+=(const AuditAmounts& more) {
    cpu += more.cpu;
    memory += more.memory;
    return *this;
  }
};

inline AuditAmounts beyond(const AuditAmounts& have, const AuditAmounts& most) {
  return {std::max<std::int64_t>(have.cpu - most.cpu, 0), std::max<std::int64_t>(have.memory - most.memory, 0)};
}

inline AuditAmounts larger(const AuditAmounts& a, const AuditAmounts& b) {
  return {std::max(a.cpu, b.cpu), std::max(a.memory, b.memory)};
}

inline AuditAmounts smaller(const AuditAmounts& a, const AuditAmounts& b) {
  return {std::min(a.cpu, b.cpu), std::min(a.memory, b.memory)};
}

inline AuditAmounts sum(AuditAmounts a, const AuditAmounts& b) {
  return a += b;
}

inline bool any(const AuditAmounts& amounts) {
  return amounts.cpu > 0 || amounts.memory > 0;
}

inline std::int64_t times(std::int64_t value, double factor) {
  const double product = static_cast<double>(value) * factor;
  return product >= 9e18 ? std::numeric_limits<std::int64_t>::max() : static_cast<std::int64_t>(product);
}

inline AuditAmounts times(const AuditAmounts& amounts, double factor) {
  return {times(amounts.cpu, factor), times(amounts.memory, factor)};
}

inline AuditAmounts not_below_zero(const AuditAmounts& amounts) {
  return larger(amounts, {});
}

}  // namespace tidemark::cli
