#include "gateway/log_lines.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::gateway {
namespace {

// Bytes of the UTF-8 character at the begin; 0 if there is none.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  const std::size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (length == 0 || first > 0xF4 || length > text.size()) return 0;
  return base::valid_utf8(text.substr(0, length)) ? length : 0;
}

}  // namespace

std::string encode(const LogPosition& position) {
  return base::cat(position.time, " ", position.lines, " ", position.output_bytes, " ", position.error_bytes);
}

LogPosition decode_log_position(std::string_view text) {
  const auto parts = base::split(text, ' ');
  if (parts.size() != 4) return {};
  return {std::string(parts[0]), base::parse_int(parts[1]).value_or(0), base::parse_int(parts[2]).value_or(0),
          base::parse_int(parts[3]).value_or(0)};
}

LogPart new_lines(std::string_view answer, const LogPosition& position) {
  LogPart out{.text = {}, .next = position};
  std::int64_t same = 0;  // lines of the answer with the time of the position
  for (std::size_t end = 0; (end = answer.find('\n')) != std::string_view::npos; answer.remove_prefix(end + 1)) {
    const std::string_view line = answer.substr(0, end);
    const auto blank = std::min(line.find(' '), line.size());
    const std::string_view time = line.substr(0, blank);
    // The kubelet writes every time with nine digits and in UTC, so texts compare as times.
    if (time < position.time) continue;
    if (time == position.time && ++same <= position.lines) continue;
    out.next.lines = time == out.next.time ? out.next.lines + 1 : 1;
    out.next.time = time;
    out.text += line.substr(std::min(blank + 1, line.size()));
    out.text += '\n';
  }
  return out;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const char c = text[0];
    const bool control = length == 1 && ((c >= 0 && c < ' ' && c != '\n' && c != '\t') || c == 0x7F);
    if (length == 0 || control) {
      if (c != '\r') out += '?';
      text.remove_prefix(1);
      continue;
    }
    out += text.substr(0, length);
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace tidemark::gateway
