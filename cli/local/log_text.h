// The lines of a container's log as text for people: partial lines joined, by stream. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace tidemark::cli {

enum class LogStream : std::uint8_t { kOut, kError };

class LogText {
 public:
  using Put = std::function<void(LogStream, std::string_view)>;

  struct Options {
    bool timestamps = false;
    std::optional<base::WallTime> since{};  // what is older is left out
    std::optional<std::size_t> tail{};      // until flush(): only the last lines
  };

  LogText(Options options, Put put) : options_(options), put_(std::move(put)) {}

  // One line of a file; an unknown format is passed on unchanged.
  void take(std::string_view line);
  // What was begun has no end: its writer is gone.
  void break_off();
  // The last lines of what was taken so far; from here on each comes at once.
  void flush();

 private:
  struct Line {
    LogStream stream = LogStream::kOut;
    std::string text;
    bool open = false;  // its end is still to come
  };
  void hand_on(LogStream stream, std::string_view text, bool ends);

  Options options_;
  Put put_;
  std::deque<Line> kept_;           // while there is a tail
  bool begun_[2] = {false, false};  // by stream: a line that has no end yet
};

}  // namespace tidemark::cli
