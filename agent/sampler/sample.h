// One value of a snapshot, with its validity.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/clock.h"

namespace tidemark::agent {

enum class Validity : std::uint8_t {
  kNotYet,      // never read, or read once if a rate needs two
  kGood,        //
  kStale,       // the last good one is older than twice its period
  kMissing,     // this machine or group lacks the facility; facilities.h has the reason
  kUnreadable,  // it exists but could not be read, and no earlier value is recent enough
};
std::string_view to_string(Validity);

template <class T>
struct Sample {
  T value{};
  base::MonotonicTime at;      // when it was read
  base::Duration over{0};      // for rates: since the last reading
  base::Duration good_for{0};  // twice the period of its reading
  Validity validity = Validity::kNotYet;

  Validity validity_at(base::MonotonicTime now) const {
    return validity == Validity::kGood && now - at > good_for ? Validity::kStale : validity;
  }
  // The last sample, if it is not older than twice its period.
  std::optional<T> last(base::MonotonicTime now) const {
    return validity_at(now) == Validity::kGood ? std::optional(value) : std::nullopt;
  }

  void put(const T& read, base::MonotonicTime when, base::Duration since = base::Duration(0)) {
    value = read;
    at = when;
    over = since;
    validity = Validity::kGood;
  }
  // This reading failed. The last value stays until it is too old.
  void fail(base::MonotonicTime now, Validity why) {
    if (validity != Validity::kGood || now - at > good_for || why == Validity::kMissing) validity = why;
  }
};

}  // namespace tidemark::agent
