// Parts of a screen of characters: texts of a width, bars, keys. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::cli {

inline constexpr std::size_t kScreenWidthMin = 60;  // columns; in a narrower terminal the state is shown once

// How a line looks beside its text. Colour adds nothing that the text does not say.
enum class Look : std::uint8_t { kPlain, kTitle, kChosen, kBad, kWarn };
struct ScreenLine {
  std::string text;
  Look look = Look::kPlain;
  bool operator==(const ScreenLine&) const = default;
};

// Columns of a terminal: a Chinese, Japanese or Korean character takes two.
std::size_t text_width(std::string_view text);
std::string cut_to(std::string_view text, std::size_t width);     // its beginning
std::string padded_to(std::string_view text, std::size_t width);  // blanks behind it, or its beginning
std::string right_in(std::string_view text, std::size_t width);   // blanks before it, or its beginning
// Lines of at most `width`, broken at blanks if there are any. Further lines keep the indent of the first.
std::vector<std::string> wrapped(std::string_view text, std::size_t width);

struct BarPart {
  char letter = ' ';
  std::int64_t amount = 0;
};
// "[ooobb..|..]": `width` columns and the brackets. The parts from the left, then idle, and a mark at `line`.
inline constexpr char kIdleLetter = '.', kLineLetter = '|';
std::string bar_text(const std::vector<BarPart>& parts, std::int64_t total, std::optional<std::int64_t> line,
                     std::size_t width);

enum class KeyKind : std::uint8_t {
  kText,
  kEnter,
  kEscape,
  kBackspace,
  kTab,
  kUp,
  kDown,
  kPageUp,
  kPageDown,
  kHome,
  kEnd
};
struct Key {
  KeyKind kind = KeyKind::kText;
  std::string text{};  // of kText: one character
  bool operator==(const Key&) const = default;
};
// What a terminal sends for typed keys. Unknown sequences and control characters are no key.
std::vector<Key> parse_keys(std::string_view bytes);

}  // namespace tidemark::cli
