// Counters of the kernel that only grow, made into what was added since the last look.
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
  // nullopt: the first look; no time has passed; or it went back, which a counter does only when something else is
  // counted now. Then this look is the first.
  std::optional<Growth> look(std::int64_t value, base::MonotonicTime at);

 private:
  std::int64_t value_ = 0;
  std::optional<base::MonotonicTime> at_;
};

// added × unit a second, held at the end of int64; units are up to 10^6. 0 where no time has passed.
std::int64_t per_second(const Growth&, std::int64_t unit = 1);

// Micro-cores of nanoseconds on processors. nullopt: more than that many processors can give in that time, so the
// counter is another one than before, or jumped. A tick or two a processor may be booked late.
std::optional<std::int64_t> micro_cores(const Growth& nanoseconds, int cpus);

// Of amounts, none negative; held at the end of int64.
std::int64_t sum_of(std::initializer_list<std::int64_t>);

// a × part / whole; 0 where there is no whole. Nothing is negative here.
std::int64_t share_of(std::int64_t a, std::int64_t part, std::int64_t whole);

}  // namespace tidemark::agent
