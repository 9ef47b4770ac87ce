#include "policy/evict/eviction_threshold.h"

#include <algorithm>

#include "base/text.h"
#include "model/quantity.h"

namespace tidemark::policy::evict {
namespace {

constexpr std::int64_t kMilliPercentMax = 100'000;

// A decimal number, as in the shares of a kubelet: digits, optionally a point and further digits.
bool is_decimal(std::string_view text) {
  const std::size_t point = std::min(text.find('.'), text.size());
  const auto digits = [](std::string_view part) {
    return !part.empty() && std::ranges::all_of(part, [](char c) { return c >= '0' && c <= '9'; });
  };
  return digits(text.substr(0, point)) && (point == text.size() || digits(text.substr(point + 1)));
}

}  // namespace

Result<std::optional<EvictionThreshold>> parse_eviction_threshold(std::string_view text) {
  const auto refused = [&] {
    return fail(ErrorKind::kInvalid, "an amount such as 100Mi or a share such as 10% is wanted, found ",
                base::in_quotes(text));
  };
  const bool share = text.ends_with('%');
  if (share && !is_decimal(text.substr(0, text.size() - 1))) return refused();
  const auto quantity = model::Quantity::parse(share ? text.substr(0, text.size() - 1) : text);
  if (!quantity) return refused();
  const std::int64_t amount = quantity->scaled_value_saturated(share ? -3 : 0);
  if (amount < 0 || (share && amount > kMilliPercentMax)) return refused();
  if (!share) return EvictionThreshold{amount, 0};
  if (amount == 0 || amount == kMilliPercentMax) return std::nullopt;
  return EvictionThreshold{0, amount};
}

std::int64_t threshold_bytes(const EvictionThreshold& threshold, std::int64_t capacity) {
  const std::int64_t all = std::max<std::int64_t>(capacity, 0);
  const std::int64_t share = std::clamp<std::int64_t>(threshold.milli_percent, 0, kMilliPercentMax);
  if (share == 0) return std::max<std::int64_t>(threshold.bytes, 0);
  const std::int64_t rest = all % kMilliPercentMax * share;
  return all / kMilliPercentMax * share + rest / kMilliPercentMax + (rest % kMilliPercentMax > 0 ? 1 : 0);
}

std::optional<EvictionThreshold> reached_first(const std::optional<EvictionThreshold>& hard,
                                               const std::optional<EvictionThreshold>& soft, std::int64_t capacity) {
  if (!hard || !soft) return hard ? hard : soft;
  return threshold_bytes(*soft, capacity) > threshold_bytes(*hard, capacity) ? soft : hard;
}

}  // namespace tidemark::policy::evict
