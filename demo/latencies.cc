#include "demo/latencies.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tidemark::demo {

namespace {

// Below 128 ns each value has a slot; above, each doubling is cut into 64 of equal width.
constexpr unsigned fine_bits = 7;
constexpr std::uint64_t half = 1U << (fine_bits - 1);

std::size_t slot_of(std::uint64_t value) {
  const unsigned bits = static_cast<unsigned>(std::bit_width(value));
  if (bits <= fine_bits) return value;
  const unsigned shift = bits - fine_bits;
  return (shift + 1) * half + ((value >> shift) - half);
}

std::uint64_t last_of(std::size_t slot) {
  if (slot < 2 * half) return slot;
  const std::uint64_t shift = slot / half - 1;
  return ((slot % half + half + 1) << shift) - 1;
}

}  // namespace

void Latencies::add(base::Duration latency) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(latency.count(), 0));
  const std::size_t slot = slot_of(value);
  if (counts_.size() <= slot) counts_.resize(slot + 1);
  ++counts_[slot];
  ++count_;
  highest_ = std::max(highest_, base::Duration(static_cast<std::int64_t>(value)));
}

void Latencies::add(const Latencies& more) {
  if (counts_.size() < more.counts_.size()) counts_.resize(more.counts_.size());
  for (std::size_t i = 0; i < more.counts_.size(); ++i) counts_[i] += more.counts_[i];
  count_ += more.count_;
  highest_ = std::max(highest_, more.highest_);
}

base::Duration Latencies::percentile(double share) const {
  const auto wanted =
      std::max<std::uint64_t>(1, static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_))));
  std::uint64_t passed = 0;
  for (std::size_t slot = 0; slot < counts_.size(); ++slot) {
    passed += counts_[slot];
    if (passed >= wanted) return std::min(base::Duration(static_cast<std::int64_t>(last_of(slot))), highest_);
  }
  return base::Duration(0);
}

void Latencies::clear() {
  *this = {};
}

}  // namespace tidemark::demo
