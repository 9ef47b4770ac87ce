#include "gateway/properties.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

namespace tidemark::gateway {
namespace {

void append_unit(std::string& out, std::uint32_t unit) {  // \uXXXX
  static constexpr char kDigits[] = "0123456789ABCDEF";
  out += "\\u";
  for (int shift = 12; shift >= 0; shift -= 4) out += kDigits[(unit >> shift) & 0xf];
}

// One code point of UTF-8 text; a wrong byte counts as U+FFFD.
std::uint32_t take_code_point(std::string_view text, std::size_t& at) {
  const auto byte = static_cast<unsigned char>(text[at++]);
  if (byte < 0x80) return byte;
  const int more = byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : -1;
  if (more < 0) return 0xfffd;
  std::uint32_t point = byte & (0x3fU >> more);
  for (int i = 0; i < more; ++i) {
    if (at == text.size() || (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80) return 0xfffd;
    point = (point << 6) | (static_cast<unsigned char>(text[at++]) & 0x3f);
  }
  return point;
}

void append_escaped(std::string& out, std::string_view text, bool is_key) {
  for (std::size_t at = 0; at < text.size();) {
    const bool first = at == 0;
    const std::uint32_t point = take_code_point(text, at);
    switch (point) {
      case ' ':
        out += is_key || first ? "\\ " : " ";
        continue;
      case '\t':
        out += "\\t";
        continue;
      case '\n':
        out += "\\n";
        continue;
      case '\r':
        out += "\\r";
        continue;
      case '\f':
        out += "\\f";
        continue;
      case '\\':
      case '=':
      case ':':
      case '#':
      case '!':
        out += '\\';
        out += static_cast<char>(point);
        continue;
      default:
        break;
    }
    if (point >= 0x20 && point < 0x7f) {
      out += static_cast<char>(point);
    } else if (point > 0xffff) {
      append_unit(out, 0xd800 + ((point - 0x10000) >> 10));
      append_unit(out, 0xdc00 + ((point - 0x10000) & 0x3ff));
    } else {
      append_unit(out, point);
    }
  }
}

void append_utf8(std::string& out, std::uint32_t point) {
  if (point < 0x80) {
    out += static_cast<char>(point);
    return;
  }
  const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
  static constexpr unsigned kHeads[] = {0, 0xc0, 0xe0, 0xf0};
  out += static_cast<char>(kHeads[more] | (point >> (6 * more)));
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | ((point >> (6 * i)) & 0x3f));
}

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\f';
}

// A logical line: a backslash at the end of a line continues it.
std::optional<std::string> next_line(std::string_view text, std::size_t& at) {
  std::string line;
  bool continued = false;
  while (at < text.size()) {
    while (at < text.size() && is_blank(text[at])) ++at;
    if (!continued && at < text.size() && (text[at] == '#' || text[at] == '!')) {
      while (at < text.size() && text[at] != '\n' && text[at] != '\r') ++at;
    }
    bool open = false;  // an odd number of backslashes before the end
    while (at < text.size() && text[at] != '\n' && text[at] != '\r') {
      open = text[at] == '\\' && !open;
      line += text[at++];
    }
    if (at < text.size()) ++at;
    if (open) {
      line.pop_back();
      continued = true;
      continue;
    }
    if (!line.empty()) return line;
    continued = false;
  }
  if (line.empty()) return std::nullopt;
  return line;
}

std::optional<std::uint32_t> hex_unit(std::string_view line, std::size_t at) {
  if (at + 4 > line.size()) return std::nullopt;
  std::uint32_t unit = 0;
  for (const char c : line.substr(at, 4)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    unit = unit * 16 + static_cast<std::uint32_t>(digit);
  }
  return unit;
}

// Appends what the backslash at `at` means; `at` is then behind it.
void append_unescaped(std::string& out, std::string_view line, std::size_t& at) {
  if (++at == line.size()) return;
  const char c = line[at++];
  switch (c) {
    case 't':
      out += '\t';
      return;
    case 'n':
      out += '\n';
      return;
    case 'r':
      out += '\r';
      return;
    case 'f':
      out += '\f';
      return;
    case 'u':
      break;
    default:
      out += c;
      return;
  }
  const auto unit = hex_unit(line, at);
  if (!unit) {
    out += c;
    return;
  }
  at += 4;
  std::uint32_t point = *unit;
  if (point >= 0xd800 && point < 0xdc00 && line.substr(at).starts_with("\\u")) {
    if (const auto low = hex_unit(line, at + 2); low && *low >= 0xdc00 && *low < 0xe000) {
      point = 0x10000 + ((point - 0xd800) << 10) + (*low - 0xdc00);
      at += 6;
    }
  }
  append_utf8(out, point >= 0xd800 && point < 0xe000 ? 0xfffd : point);
}

std::pair<std::string, std::string> parse_line(std::string_view line) {
  std::pair<std::string, std::string> out;
  std::size_t at = 0;
  while (at < line.size() && line[at] != '=' && line[at] != ':' && !is_blank(line[at])) {
    if (line[at] == '\\') {
      append_unescaped(out.first, line, at);
    } else {
      out.first += line[at++];
    }
  }
  while (at < line.size() && is_blank(line[at])) ++at;
  if (at < line.size() && (line[at] == '=' || line[at] == ':')) ++at;
  while (at < line.size() && is_blank(line[at])) ++at;
  while (at < line.size()) {
    if (line[at] == '\\') {
      append_unescaped(out.second, line, at);
    } else {
      out.second += line[at++];
    }
  }
  return out;
}

}  // namespace

std::string to_properties(const std::map<std::string, std::string>& pairs) {
  std::string out;
  for (const auto& [key, value] : pairs) {
    append_escaped(out, key, true);
    out += '=';
    append_escaped(out, value, false);
    out += '\n';
  }
  return out;
}

std::map<std::string, std::string> parse_properties(std::string_view text) {
  std::map<std::string, std::string> out;
  std::size_t at = 0;
  while (auto line = next_line(text, at)) {
    auto [key, value] = parse_line(*line);
    out[std::move(key)] = std::move(value);
  }
  return out;
}

}  // namespace tidemark::gateway
