#include "cli/screen.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "model/resources.h"

namespace tidemark::cli {
namespace {

// Blocks of characters that take two columns.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 9> kWide = {{{0x1100, 0x115F},
                                                                           {0x2E80, 0xA4CF},
                                                                           {0xAC00, 0xD7A3},
                                                                           {0xF900, 0xFAFF},
                                                                           {0xFE30, 0xFE6F},
                                                                           {0xFF00, 0xFF60},
                                                                           {0xFFE0, 0xFFE6},
                                                                           {0x1F300, 0x1FAFF},
                                                                           {0x20000, 0x3FFFD}}};

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

// The first one of `text`, which is not empty. A byte that is no character takes one column.
Character first_of(std::string_view text) {
  const std::size_t bytes = base::utf8_length(text.data(), text.data() + text.size());
  if (bytes <= 1) return {};
  std::uint32_t code = static_cast<unsigned char>(text[0]) & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) code = code << 6U | (static_cast<unsigned char>(text[i]) & 0x3FU);
  const bool wide =
      std::ranges::any_of(kWide, [&](const auto& block) { return code >= block.first && code <= block.second; });
  return {bytes, wide ? std::size_t{2} : std::size_t{1}};
}

// value × width / total, rounded to the nearest; `width` if it is more.
std::size_t columns_of(std::int64_t value, std::int64_t total, std::size_t width) {
  if (total <= 0 || value <= 0) return 0;
  const auto bounded = static_cast<unsigned __int128>(std::min(value, total));
  const auto scale = static_cast<unsigned __int128>(total);
  return static_cast<std::size_t>((bounded * width * 2 + scale) / (scale * 2));
}

struct Sequence {
  std::string_view bytes;
  KeyKind kind;
};
// After ESC [ or ESC O.
constexpr std::array<Sequence, 12> kSequences = {{{"A", KeyKind::kUp},
                                                  {"B", KeyKind::kDown},
                                                  {"H", KeyKind::kHome},
                                                  {"F", KeyKind::kEnd},
                                                  {"5~", KeyKind::kPageUp},
                                                  {"6~", KeyKind::kPageDown},
                                                  {"1~", KeyKind::kHome},
                                                  {"7~", KeyKind::kHome},
                                                  {"4~", KeyKind::kEnd},
                                                  {"8~", KeyKind::kEnd},
                                                  {"Z", KeyKind::kTab},
                                                  {"M", KeyKind::kEnter}}};

// The length of the sequence at the beginning of `bytes`, which begins with ESC and [ or O; `out` gets its key.
std::size_t take_sequence(std::string_view bytes, std::vector<Key>& out) {
  std::size_t end = 2;
  while (end < bytes.size() && (bytes[end] < '@' || bytes[end] > '~')) ++end;
  end = std::min(end + 1, bytes.size());
  const auto found = std::ranges::find(kSequences, bytes.substr(2, end - 2), &Sequence::bytes);
  if (found != kSequences.end()) out.push_back({found->kind});
  return end;
}

}  // namespace

std::size_t text_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const Character next = first_of(text);
    text.remove_prefix(next.bytes);
    width += next.columns;
  }
  return width;
}

std::string cut_to(std::string_view text, std::size_t width) {
  std::string_view left = text;
  while (!left.empty()) {
    const Character next = first_of(left);
    if (next.columns > width) break;
    width -= next.columns;
    left.remove_prefix(next.bytes);
  }
  return std::string(text.substr(0, text.size() - left.size()));
}

std::string padded_to(std::string_view text, std::size_t width) {
  std::string out = cut_to(text, width);
  out.append(width - text_width(out), ' ');
  return out;
}

std::string right_in(std::string_view text, std::size_t width) {
  const std::string shown = cut_to(text, width);
  return base::cat(std::string(width - text_width(shown), ' '), shown);
}

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> out;
  const std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  const std::size_t indent = width < 4 ? 0 : std::min(begin, width / 2);
  std::string_view left = text.substr(begin);
  do {
    std::string line = cut_to(left, std::max<std::size_t>(width - indent, 2));
    if (line.size() < left.size() && left[line.size()] != ' ') {
      const std::size_t blank = line.rfind(' ');
      if (blank != std::string::npos && blank > 0) line.resize(blank);
    }
    left.remove_prefix(line.size());
    left.remove_prefix(std::min(left.find_first_not_of(' '), left.size()));
    out.push_back(base::cat(std::string(indent, ' '), line));
  } while (!left.empty());
  return out;
}

// Each part ends where the sum of it and of those before it does, so that roundings do not add up.
std::string bar_text(const std::vector<BarPart>& parts, std::int64_t total, std::optional<std::int64_t> line,
                     std::size_t width) {
  std::string out;
  model::CpuMilli sum;  // saturates
  for (const BarPart& part : parts) {
    sum += model::CpuMilli{std::max<std::int64_t>(part.amount, 0)};
    const std::size_t end = columns_of(sum.value, total, width);
    if (end > out.size()) out.append(end - out.size(), part.letter);
  }
  out.append(width - out.size(), kIdleLetter);
  if (line && width > 0) out[std::min(columns_of(*line, total, width), width - 1)] = kLineLetter;
  return base::cat("[", out, "]");
}

std::vector<Key> parse_keys(std::string_view bytes) {
  std::vector<Key> out;
  while (!bytes.empty()) {
    const char first = bytes[0];
    if (first == '\033' && bytes.size() >= 3 && (bytes[1] == '[' || bytes[1] == 'O')) {
      bytes.remove_prefix(take_sequence(bytes, out));
      continue;
    }
    std::size_t length = 1;
    if (first == '\033') {
      out.push_back({KeyKind::kEscape});
    } else if (first == '\r' || first == '\n') {
      out.push_back({KeyKind::kEnter});
    } else if (first == '\t') {
      out.push_back({KeyKind::kTab});
    } else if (first == '\b' || first == '\x7f') {
      out.push_back({KeyKind::kBackspace});
    } else if (static_cast<unsigned char>(first) >= ' ') {
      length = base::utf8_length(bytes.data(), bytes.data() + bytes.size());
      if (length > 0) out.push_back({KeyKind::kText, std::string(bytes.substr(0, length))});
      length = std::max<std::size_t>(length, 1);
    }
    bytes.remove_prefix(length);
  }
  return out;
}

}  // namespace tidemark::cli
