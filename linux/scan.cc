#include "linux/scan.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace tidemark::linux {

bool Lines::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const std::size_t end = std::min(rest_.find('\n'), rest_.size());
  line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return true;
}

bool Words::next(std::string_view& word) {
  const std::size_t begin = rest_.find_first_not_of(" \t");
  if (begin == std::string_view::npos) {
    rest_ = {};
    return false;
  }
  const std::size_t end = std::min(rest_.find_first_of(" \t", begin), rest_.size());
  word = rest_.substr(begin, end - begin);
  rest_.remove_prefix(end);
  return true;
}

std::optional<std::int64_t> parse_count(std::string_view word) {
  const auto value = base::parse_uint(word);
  if (!value || *value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  return static_cast<std::int64_t>(*value);
}

std::string_view without_line_end(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  return text;
}

Result<std::int64_t> parse_number_file(std::string_view text) {
  if (const auto value = parse_count(without_line_end(text))) return *value;
  return fail(ErrorKind::kInvalid, "a number is wanted, found ", base::in_quotes(text));
}

Result<void> parse_fields(std::string_view text, std::initializer_list<Field> wanted) {
  Lines lines(text);
  for (std::string_view line; lines.next(line);) {
    const std::size_t blank = line.find(' ');
    const std::string_view name = line.substr(0, blank);
    const auto* field = std::find_if(wanted.begin(), wanted.end(), [&](const Field& one) { return one.name == name; });
    if (field == wanted.end()) continue;
    const auto value = blank == std::string_view::npos ? std::nullopt : parse_count(line.substr(blank + 1));
    if (!value) return fail(ErrorKind::kInvalid, "a number is wanted behind ", name, ", found ", base::in_quotes(line));
    *field->value = value;
  }
  return {};
}

std::optional<std::int64_t> scaled(std::int64_t value, std::int64_t factor) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(value, factor, &out)) return std::nullopt;
  return out;
}

}  // namespace tidemark::linux
