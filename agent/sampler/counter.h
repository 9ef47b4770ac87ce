// Turns growing counters of the kernel into the growth since the last reading.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

#include "base/clock.h"

namespace tidemark::agent {

struct Growth {
  std::int64_t added = 0;
  base::Duration over{0};
};

class Counter {
 public:
  // nullopt: the first reading; no time has passed; or the value fell, which means that something else is counted now.
  // Then this reading is the first.
  std::optional<Growth> look(std::int64_t value, base::MonotonicTime at);

 private:
  std::int64_t value_ = 0;
  std::optional<base::MonotonicTime> at_;
};

// added × unit per second, clamped to int64; units are up to 10^6. 0 if no time has passed.
std::int64_t per_second(const Growth&, std::int64_t unit = 1);

// Micro-cores from nanoseconds of CPU time. nullopt: more than that many CPUs can give in that time, so the counter was
// replaced or jumped. A tick or two per CPU may be counted late.
std::optional<std::int64_t> micro_cores(const Growth& nanoseconds, int cpus);

// Sum of non-negative amounts, clamped to int64.
std::int64_t sum_of(std::initializer_list<std::int64_t>);

// a × part / whole; 0 if whole is 0. All arguments are non-negative.
std::int64_t share_of(std::int64_t a, std::int64_t part, std::int64_t whole);

}  // namespace tidemark::agent
