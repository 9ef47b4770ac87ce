#include "policy/protect/reaction/online_use.h"

#include <algorithm>

namespace tidemark::policy::protect {
namespace {

using model::CpuMilli;

// One CPU for a thousand nanoseconds equals a thousandth of a CPU for a microsecond.
CpuMilli mean(std::int64_t used_ns, base::Duration over) {
  constexpr std::int64_t kMilli = 1000;
  constexpr std::int64_t kUsedMax = INT64_MAX / kMilli;
  return {std::clamp<std::int64_t>(used_ns, 0, kUsedMax) * kMilli / std::max<std::int64_t>(over.count(), 1)};
}

}  // namespace

void OnlineUse::take(const UseReading& reading) {
  // Clocks and counters do not go back, except for a new cgroup.
  if (count_ > 0 && (reading.at <= kept(0).at || reading.used_ns < kept(0).used_ns)) forget();
  if (count_ == 0) second_began_ = reading;
  kept_[next_] = reading;
  next_ = (next_ + 1) % kKept;
  count_ = std::min(count_ + 1, kKept);
  const base::Duration since = reading.at - second_began_.at;
  if (since < kLatelyWindow) return;
  lately_ = mean(reading.used_ns - second_began_.used_ns, since);
  second_began_ = reading;
}

CpuMilli OnlineUse::in_window() const {
  const UseReading& now = kept(0);
  std::size_t back = 1;
  const auto age = [&](std::size_t at) { return now.at - kept(at).at; };
  while (back + 1 < count_ && age(back) < kSurgeWindow && age(back + 1) <= 2 * kSurgeWindow) ++back;
  const UseReading& then = kept(back);
  // Readings come late at times: then over all of the time that is between them.
  return mean(now.used_ns - then.used_ns, std::max(now.at - then.at, kSurgeWindow));
}

std::optional<CpuMilli> OnlineUse::risen_over(CpuMilli known) const {
  if (!lately_ || count_ < 2) return std::nullopt;
  return in_window() - std::max(known, *lately_);
}

}  // namespace tidemark::policy::protect
