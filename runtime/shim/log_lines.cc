#include "runtime/shim/log_lines.h"

#include <chrono>

#include "base/text.h"

namespace tidemark::runtime {

std::string log_time(base::WallTime time) {
  constexpr std::size_t kSeconds = 19;  // of "2026-11-23T20:15:30Z"
  const auto whole = std::chrono::floor<std::chrono::seconds>(time.since_epoch);
  std::string nanos = base::cat((time.since_epoch - whole).count());
  nanos.insert(0, 9 - nanos.size(), '0');
  return base::cat(base::format_rfc3339({whole}).substr(0, kSeconds), ".", nanos, "Z");
}

void LogLines::put(std::string_view part, char tag, base::WallTime now, std::string& out) const {
  out += log_time(now);
  out += ' ';
  out += stream_;
  out += ' ';
  out += tag;
  out += ' ';
  out += part;
  out += '\n';
}

void LogLines::take(std::string_view bytes, base::WallTime now, std::string& out) {
  while (!bytes.empty()) {
    const auto end = bytes.find('\n');
    const std::size_t room = kLogPartMax - begun_.size();
    const std::size_t line = end == std::string_view::npos ? bytes.size() : end;
    if (line > room) {
      begun_ += bytes.substr(0, room);
      bytes.remove_prefix(room);
      put(begun_, 'P', now, out);
      begun_.clear();
      continue;
    }
    begun_ += bytes.substr(0, line);
    if (end == std::string_view::npos) return;
    bytes.remove_prefix(end + 1);
    put(begun_, 'F', now, out);
    begun_.clear();
  }
}

void LogLines::end(base::WallTime now, std::string& out) {
  if (begun_.empty()) return;
  put(begun_, 'F', now, out);
  begun_.clear();
}

}  // namespace tidemark::runtime
