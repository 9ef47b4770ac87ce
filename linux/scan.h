// Reading the kernel's texts in place: lines, words, numbers. Nothing here allocates unless it refuses.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace tidemark::linux {

// for (std::string_view line; lines.next(line);)      the last line may lack its end; an empty text has no line
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}
  bool next(std::string_view& line);

 private:
  std::string_view rest_;
};

// Words between blanks and tabs.
class Words {
 public:
  explicit Words(std::string_view text) : rest_(text) {}
  bool next(std::string_view& word);
  std::string_view rest() const { return rest_; }

 private:
  std::string_view rest_;
};

// Digits only, the whole word, at most 2^63-1. A counter beyond that is refused rather than wrapped.
std::optional<std::int64_t> parse_count(std::string_view word);

// Without the line end that every file of one value has.
std::string_view without_line_end(std::string_view text);

// A file of one number.
Result<std::int64_t> parse_number_file(std::string_view text);

// "total_inactive_file 4096": lines of a name and a number, of which some are wanted. A name that is not there leaves
// its value without one; a wanted name without a number behind it is an error.
struct Field {
  std::string_view name;
  std::optional<std::int64_t>* value;
};
Result<void> parse_fields(std::string_view text, std::initializer_list<Field> wanted);

// a × factor, where that is a number.
std::optional<std::int64_t> scaled(std::int64_t value, std::int64_t factor);

}  // namespace tidemark::linux
