// What online work uses, of a counter of all that it used ever. Kept in place, for whoever may allocate nothing.
//
//   in the window   used since the reading that is kSurgeWindow old, over that time; where there is none of about that
//                   age, since the oldest that is younger, over the whole window
//   lately          used in the last whole second, by the same counter
//
// So much more at once is seen with the next reading, and what is a little more when the window is full of it. What the
// counter has for good and no decision knows (a pod that nobody tells of) is in `lately`, and rises nothing.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/resources.h"

namespace tidemark::policy {

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

  // How much more than `known`, or than lately where that was more. nullopt: not known before a second of readings.
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

}  // namespace tidemark::policy
