// A program of the bench is steered by lines of words on standard input and answers each with a line of JSON.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "net/loop.h"

namespace tidemark::bench {

inline void say(const std::string& line) {
  std::fputs((line + "\n").c_str(), stdout);
  std::fflush(stdout);
}

// Microseconds of the clock that is the same for all programs of the machine: Python's time.monotonic().
inline std::int64_t micros_of(base::MonotonicTime time) {
  return std::chrono::duration_cast<std::chrono::microseconds>(time.since_start).count();
}

class Lines {
 public:
  using Words = std::vector<std::string_view>;
  // `obey` answers false to a line that it does not know. The end of input stops the loop, and so does fail().
  Lines(net::EventLoop& loop, std::string program, std::function<bool(const Words&)> obey)
      : loop_(loop), program_(std::move(program)), obey_(std::move(obey)) {
    stdin_ = loop.watch(STDIN_FILENO, net::kReadable, [this](std::uint32_t) { read(); });
  }

  void fail(std::string_view why) {
    if (failed_) return;
    std::fputs(base::cat(program_, ": ", why, "\n").c_str(), stderr);
    failed_ = true;
    loop_.stop();
  }
  bool failed() const { return failed_; }

 private:
  void read() {
    char piece[4096];
    const ssize_t got = ::read(STDIN_FILENO, piece, sizeof piece);
    if (got <= 0) {
      stdin_.cancel();
      loop_.stop();
      return;
    }
    pending_.append(piece, static_cast<std::size_t>(got));
    for (std::size_t end = pending_.find('\n'); end != std::string::npos; end = pending_.find('\n')) {
      const std::string line = pending_.substr(0, end);
      pending_.erase(0, end + 1);
      if (!obey_(base::split(line, ' '))) fail(base::cat("unknown line ", base::in_quotes(line)));
    }
  }

  net::EventLoop& loop_;
  std::string program_;
  std::function<bool(const Words&)> obey_;
  net::FdWatch stdin_;
  std::string pending_;
  bool failed_ = false;
};

}  // namespace tidemark::bench
