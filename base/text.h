// Small text helpers: joining, splitting, strict number parsing, "did you mean".
#pragma once

#include <charconv>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::base {

namespace detail {
inline void append(std::string& out, std::string_view part) {
  out.append(part);
}
inline void append(std::string& out, char part) {
  out.push_back(part);
}
template <std::same_as<bool> T>  // a plain bool parameter would take every pointer, string literals first
void append(std::string& out, T part) {
  out.append(part ? "true" : "false");
}
template <class T>
  requires(std::integral<T> && !std::same_as<T, char> && !std::same_as<T, bool>)
void append(std::string& out, T part) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, part).ptr);
}
void append(std::string& out, double part);  // shortest form that reads back to the same value
}  // namespace detail

// cat("node ", name, " has ", 3, " pods")
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

std::string join(std::span<const std::string> parts, std::string_view separator);
// Keeps empty pieces: "a,,b" gives three.
std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);  // ASCII white space at both ends
std::string lower(std::string_view text);      // ASCII only

// The whole text must be the number: no sign "+", no blanks, no trailing letters.
std::optional<std::int64_t> parse_int(std::string_view text);
std::optional<std::uint64_t> parse_uint(std::string_view text);
std::optional<double> parse_double(std::string_view text);

std::optional<bool> parse_go_bool(std::string_view text);  // as Go's strconv.ParseBool: 1, t, T, TRUE, true, True …

// What a list of names, "-name"s and "*" says of `name`, as the controller managers of Kubernetes read it: the first
// word on it counts, else whether "*" is among them.
bool switched_on(std::string_view name, std::span<const std::string> words);

// The candidate nearest to `word` by edit distance, if any is near enough to be meant.
std::optional<std::string_view> nearest(std::string_view word, std::span<const std::string_view> candidates);

std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);  // as Go's StdEncoding: padded, line ends ignored

// Text in quotes with control characters escaped, cut at `limit` bytes: for foreign text in messages.
std::string in_quotes(std::string_view text, std::size_t limit = 80);

bool valid_utf8(std::string_view text);

}  // namespace tidemark::base
