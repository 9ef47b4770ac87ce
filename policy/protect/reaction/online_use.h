// The current use of online work, from a counter of its total use. Updated in place, for callers that must not
// allocate.
//
//    in the window   used since the reading that is kSurgeWindow old, over that time; without a reading of about that
//                    age, since the oldest younger one, over the whole window
//    lately          used in the last whole second, by the same counter
//
// A large rise shows with the next reading, a small one when the window is full of it. A constant use that no decision
// knows (an unlisted pod) is in `lately` and causes no rise.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/resources.h"

namespace tidemark::policy::protect {

inline constexpr base::Duration kSurgeWindow = std::chrono::milliseconds(100);
inline constexpr base::Duration kLatelyWindow = std::chrono::seconds(1);

struct UseReading {
  base::MonotonicTime at;
  std::int64_t used_ns = 0;
};

class OnlineUse {
 public:
  void take(const UseReading& reading);
  void forget() { *this = OnlineUse(); }  // another counter from here on

  // The rise above `known`, or above `lately` if that was more. nullopt: unknown before one second of readings.
  std::optional<model::CpuMilli> risen_over(model::CpuMilli known) const;

 private:
  static constexpr std::size_t kKept = 8;
  model::CpuMilli in_window() const;
  const UseReading& kept(std::size_t back) const { return kept_[(next_ + 2 * kKept - 1 - back) % kKept]; }

  std::array<UseReading, kKept> kept_{};
  std::size_t next_ = 0, count_ = 0;
  UseReading second_began_;
  std::optional<model::CpuMilli> lately_;
};

}  // namespace tidemark::policy::protect
