// How the auditor reads what stands in the API server: its own way, beside model/ and kube/, so that an error there is
// seen here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/yarn/audit_amounts.h"
#include "model/quantity.h"

namespace tidemark::cli {

inline constexpr std::string_view kAuditBatchCpu = "kubernetes.io/batch-cpu";
inline constexpr std::string_view kAuditBatchMemory = "kubernetes.io/batch-memory";

inline std::string_view text(const Json* value) {
  return value != nullptr && value->is_string() ? std::string_view(value->as_string()) : std::string_view();
}

// Thousandths (of cores) or whole units (bytes); nullopt where there is none.
inline std::optional<std::int64_t> amount(const Json* value, int scale, std::string& unreadable) {
  if (value == nullptr || value->is_null()) return std::nullopt;
  const std::string written = value->is_string() ? value->as_string() : value->dump();
  const auto quantity = model::Quantity::parse(written);
  if (!quantity) {
    unreadable = quantity.error().message;
    return std::nullopt;
  }
  return quantity->scaled_value_saturated(scale);
}

// batch-cpu counts milli-cores by itself.
inline std::optional<AuditAmounts> batch(const Json* list, std::string& unreadable) {
  if (list == nullptr) return std::nullopt;
  const auto cpu = amount(list->member(kAuditBatchCpu), 0, unreadable);
  const auto memory = amount(list->member(kAuditBatchMemory), 0, unreadable);
  if (!cpu && !memory) return std::nullopt;
  return AuditAmounts{cpu.value_or(0), memory.value_or(0)};
}

// Text of an annotation as JSON; null where there is none.
inline Json annotation(const Json& node, std::string_view key, std::string& unreadable) {
  const Json* found = node.at("metadata", "annotations", key);
  if (found == nullptr) return {};
  auto parsed = Json::parse(text(found));
  if (parsed) return std::move(*parsed);
  unreadable = base::cat(key, ": ", parsed.error().message);
  return {};
}

inline void number(const Json& from, std::string_view key, std::int64_t& into) {
  if (const Json* value = from.member(key)) into = value->get_int().value_or(into);
}

}  // namespace tidemark::cli
