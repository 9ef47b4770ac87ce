// Seeded randomness, the same on every machine: a run is repeated from its seed. Not for secrets.
//
// A Random is passed by value, and each owner has its own; not thread-safe.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"

namespace tidemark::base {

class Random {
 public:
  explicit Random(std::uint64_t seed);

  std::uint64_t next();                      // all 64 bits
  std::uint64_t below(std::uint64_t bound);  // 0 … bound − 1, each as likely; a bound of 0 is a bug
  double unit();                             // [0, 1), 53 bits
  // d × (1 ± fraction), never negative. `fraction` is cut to 0 … 1.
  Duration jitter(Duration d, double fraction);
  // A generator of its own for a part of the program, so that one part's draws do not shift another's.
  Random fork();

  // From the kernel's pool: for main/ only, everyone else is given a seed.
  static std::uint64_t seed_from_system();

 private:
  std::array<std::uint64_t, 4> state_;
};

}  // namespace tidemark::base
