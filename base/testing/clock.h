// The simulated twin of base/clock.h: time moves only when a test moves it.
#pragma once

#include "base/check.h"
#include "base/clock.h"

namespace tidemark::base::testing {

class Clock final : public base::Clock {
 public:
  MonotonicTime monotonic() const override { return monotonic_; }
  BootTime boot() const override { return boot_; }
  WallTime wall() const override { return wall_; }

  void advance(Duration by) {
    TM_CHECK(by >= Duration(0), "only the wall clock goes back: use jump_wall");
    monotonic_ = monotonic_ + by;
    boot_ = boot_ + by;
    wall_ = wall_ + by;
  }
  // The machine slept: monotonic time stood still.
  void sleep_machine(Duration by) {
    boot_ = boot_ + by;
    wall_ = wall_ + by;
  }
  void jump_wall(Duration by) { wall_ = wall_ + by; }

 private:
  MonotonicTime monotonic_{std::chrono::hours(1)};
  BootTime boot_{std::chrono::hours(2)};
  WallTime wall_{std::chrono::seconds(1'767'225'600)};  // 2026-01-01T00:00:00Z
};

}  // namespace tidemark::base::testing
