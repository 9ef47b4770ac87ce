#include "base/check.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

#include "base/line_writer.h"

namespace tidemark::base {

void check_failed(const char* expression, const char* file, int line, const char* why) {
  // Nothing here takes a lock or memory of ours: the program is broken, maybe its heap too. What the log said last is
  // worth a short wait.
  LineWriter::wait_until_written(LineWriter::kFatalLimit);
  std::array<char, 1024> text;
  const int length =
      std::snprintf(text.data(), text.size(), "%s:%d: check failed: %s (%s)\n", file, line, expression, why);
  const auto size = std::min<std::size_t>(static_cast<std::size_t>(std::max(length, 0)), text.size() - 1);
  write_within(STDERR_FILENO, {text.data(), size}, LineWriter::kFatalLimit);
  std::abort();
}

}  // namespace tidemark::base
