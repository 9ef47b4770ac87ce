// Limits the frequency of reactions. A repeated rise is not a surge: then the threshold or the water line is wrong, and
// offline work should not be suppressed for it all day.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>

#include "base/clock.h"

namespace tidemark::policy::protect {

inline constexpr std::size_t kReactionsMax = 6;
inline constexpr base::Duration kReactionsWithin = std::chrono::minutes(1);

class ReactionPace {
 public:
  void reacted(base::MonotonicTime now) {
    last_[next_] = now;
    next_ = (next_ + 1) % kReactionsMax;
  }
  bool may(base::MonotonicTime now) const { return !last_[next_] || now - *last_[next_] >= kReactionsWithin; }

 private:
  std::array<std::optional<base::MonotonicTime>, kReactionsMax> last_{};
  std::size_t next_ = 0;  // the oldest
};

}  // namespace tidemark::policy::protect
