#include "operate/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::operate {
namespace {

constexpr std::size_t kContext = 2;  // unchanged lines shown around a change

std::string laid_out(std::string_view text) {
  const auto json = Json::parse(text);
  return json && (json->is_object() || json->is_array()) ? json->dump_pretty() : std::string(text);
}

std::vector<std::string_view> lines_of(std::string_view text) {
  auto lines = base::split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

struct Line {
  char sign;  // ' ', '-', '+'
  std::string_view text;
};

// By the longest common subsequence.
std::vector<Line> compare(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after) {
  const std::size_t columns = after.size() + 1;
  std::vector<std::uint16_t> longest((before.size() + 1) * columns, 0);
  for (std::size_t i = before.size(); i-- > 0;) {
    for (std::size_t j = after.size(); j-- > 0;) {
      longest[i * columns + j] = before[i] == after[j]
                                     ? static_cast<std::uint16_t>(longest[(i + 1) * columns + j + 1] + 1)
                                     : std::max(longest[(i + 1) * columns + j], longest[i * columns + j + 1]);
    }
  }
  std::vector<Line> lines;
  std::size_t i = 0;
  std::size_t j = 0;
  while (i < before.size() || j < after.size()) {
    if (i < before.size() && j < after.size() && before[i] == after[j]) {
      lines.push_back({' ', before[i]});
      ++i, ++j;
    } else if (j == after.size() ||
               (i < before.size() && longest[(i + 1) * columns + j] >= longest[i * columns + j + 1])) {
      lines.push_back({'-', before[i++]});
    } else {
      lines.push_back({'+', after[j++]});
    }
  }
  return lines;
}

}  // namespace

std::string line_diff(std::string_view before, std::string_view after) {
  if (before == after) return "";
  const std::string old_text = laid_out(before);
  const std::string new_text = laid_out(after);
  const auto old_lines = lines_of(old_text);
  const auto new_lines = lines_of(new_text);
  if (old_lines.size() > kDiffLinesMax || new_lines.size() > kDiffLinesMax) {
    return base::cat("  (", old_lines.size(), " lines before, ", new_lines.size(), " after)\n");
  }
  const auto lines = compare(old_lines, new_lines);
  const auto near_a_change = [&](std::size_t at) {
    const std::size_t from = at < kContext ? 0 : at - kContext;
    const std::size_t to = std::min(lines.size(), at + kContext + 1);
    return std::any_of(lines.begin() + static_cast<std::ptrdiff_t>(from),
                       lines.begin() + static_cast<std::ptrdiff_t>(to),
                       [](const Line& line) { return line.sign != ' '; });
  };
  std::string out;
  bool left_out = false;
  for (std::size_t at = 0; at < lines.size(); ++at) {
    if (!near_a_change(at)) {
      left_out = true;
      continue;
    }
    if (left_out) out += "  …\n";
    left_out = false;
    out += base::cat("  ", lines[at].sign, " ", lines[at].text, "\n");
  }
  return out.empty() ? "  (only white space)\n" : out;
}

}  // namespace tidemark::operate
