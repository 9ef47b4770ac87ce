#include "agent/sampler/counter.h"

#include <algorithm>
#include <limits>

namespace tidemark::agent {
namespace {

using base::Duration;
__extension__ using Wide = __int128;

constexpr std::int64_t kMicro = 1'000'000;
constexpr Duration kBookedLate = std::chrono::milliseconds(20);  // two ticks of a kernel with 100 a second

std::int64_t held(Wide value) {
  return static_cast<std::int64_t>(std::min<Wide>(value, std::numeric_limits<std::int64_t>::max()));
}

}  // namespace

std::optional<Growth> Counter::look(std::int64_t value, base::MonotonicTime at) {
  std::optional<Growth> out;
  if (at_ && at > *at_ && value >= value_) out = Growth{value - value_, at - *at_};
  value_ = value;
  at_ = at;
  return out;
}

std::int64_t per_second(const Growth& growth, std::int64_t unit) {
  const auto over = static_cast<Wide>(growth.over.count());
  if (over <= 0) return 0;
  constexpr auto kSecond = static_cast<Wide>(Duration(std::chrono::seconds(1)).count());
  return held(static_cast<Wide>(growth.added) * unit * kSecond / over);  // 2^63 × 2^20 × 2^30: it fits
}

std::optional<std::int64_t> micro_cores(const Growth& nanoseconds, int cpus) {
  const Wide most = (static_cast<Wide>(nanoseconds.over.count()) + kBookedLate.count()) * std::max(cpus, 1);
  if (nanoseconds.added > most || nanoseconds.over.count() <= 0) return std::nullopt;
  return held(static_cast<Wide>(nanoseconds.added) * kMicro / nanoseconds.over.count());
}

std::int64_t sum_of(std::initializer_list<std::int64_t> amounts) {
  Wide sum = 0;
  for (const std::int64_t one : amounts) sum += one;
  return held(sum);
}

std::int64_t share_of(std::int64_t a, std::int64_t part, std::int64_t whole) {
  if (whole <= 0) return 0;
  return held(static_cast<Wide>(a) * part / whole);
}

}  // namespace tidemark::agent
