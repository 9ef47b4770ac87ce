// What a container writes, as the lines of its log, in the form that every reader of Kubernetes' logs knows:
//
//   2026-11-23T20:15:30.123456789Z stdout F a whole line
//   2026-11-23T20:15:30.123456790Z stderr P a part of one that is longer than kLogPartMax …
//
// One for each stream of a container. A line is cut where it is too long, never kept for its end.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/clock.h"

namespace tidemark::runtime {

inline constexpr std::size_t kLogPartMax = std::size_t{16} << 10;  // bytes of one part

class LogLines {
 public:
  explicit LogLines(std::string_view stream) : stream_(stream) {}

  // Appends to `out` the lines that are whole by now.
  void take(std::string_view bytes, base::WallTime now, std::string& out);
  // The container writes no more: what is left is a line without an end.
  void end(base::WallTime now, std::string& out);

 private:
  void put(std::string_view part, char tag, base::WallTime now, std::string& out) const;

  std::string_view stream_;  // "stdout"
  std::string begun_;
};

// "2026-11-23T20:15:30.123456789Z"
std::string log_time(base::WallTime time);

}  // namespace tidemark::runtime
