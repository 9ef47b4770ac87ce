#include "kube/memory/formats.h"

#include <arpa/inet.h>
#include <regex.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "base/clock.h"
#include "base/text.h"

namespace tidemark::kube::memory {

namespace {

using base::split;

constexpr std::size_t kMatchedMax = 1024;  // bytes; nothing that a pattern here stands for is longer

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
bool all(std::string_view text, bool (*is)(char)) {
  return std::all_of(text.begin(), text.end(), is);
}

class Pattern {
 public:
  explicit Pattern(const char* posix) {
    TM_CHECK(regcomp(&compiled_, posix, REG_EXTENDED | REG_NOSUB) == 0, "a pattern of ours is one");
  }
  ~Pattern() { regfree(&compiled_); }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  bool matches(std::string_view text) const {
    return text.size() <= kMatchedMax && text.find('\0') == std::string_view::npos &&
           regexec(&compiled_, std::string(text).c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_;
};

// Four numbers up to 255; zeros before them are let pass, as Go did once.
bool is_dotted(std::string_view text) {
  const auto parts = split(text, '.');
  return parts.size() == 4 && std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
           return !part.empty() && all(part, is_digit) && base::parse_uint(part).value_or(256) <= 255;
         });
}

bool is_colons(std::string_view text) {
  in6_addr address;
  return text.find('\0') == std::string_view::npos && inet_pton(AF_INET6, std::string(text).c_str(), &address) == 1;
}

// The real server asks only for an address and for its sign, so an IPv4 address within IPv6 is both.
bool is_ipv4(std::string_view text) {
  return is_dotted(text) || (text.find('.') != std::string_view::npos && is_colons(text));
}

bool is_cidr(std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string_view::npos) return false;
  const std::string_view bits = text.substr(slash + 1);
  const bool v4 = is_dotted(text.substr(0, slash));
  return (v4 || is_colons(text.substr(0, slash))) && !bits.empty() && all(bits, is_digit) &&
         base::parse_uint(bits).value_or(129) <= (v4 ? 32U : 128U);
}

// Hexadecimal digits in groups of 8, 4, 4, 4, 12, with or without dashes; `version` is the first digit of the third.
bool is_uuid(std::string_view text, char version, bool variant) {
  std::string digits;
  std::size_t at = 0;
  for (const std::size_t group : {8U, 4U, 4U, 4U, 12U}) {
    if (!digits.empty() && at < text.size() && text[at] == '-') ++at;
    const std::string_view part = text.substr(std::min(at, text.size()), group);
    if (part.size() != group || !all(part, is_hex)) return false;
    digits += part;
    at += group;
  }
  if (at != text.size() || (version != 0 && digits[12] != version)) return false;
  return !variant || std::string_view("89abAB").find(digits[16]) != std::string_view::npos;
}

// A name, a local part and a domain of atoms; what Go's net/mail takes besides (groups, routes) is refused there too.
class Address {
 public:
  explicit Address(std::string_view text) : text_(text) {}
  bool good() {
    blanks();
    const std::size_t start = at_;
    if (spec() && (blanks(), at_ == text_.size())) return true;
    at_ = start;
    while (at_ < text_.size() && text_[at_] != '<') {
      if (!word()) return false;
      blanks();
    }
    if (!take('<') || !spec() || !take('>')) return false;
    blanks();
    return at_ == text_.size();
  }

 private:
  static bool is_atom(char c) {
    return is_letter(c) || is_digit(c) || (c & 0x80) != 0 ||
           std::string_view("!#$%&'*+-/=?^_`{|}~").find(c) != std::string_view::npos;
  }
  bool take(char c) {
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // White space and comments.
  void blanks() {
    int depth = 0;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '(')
        ++depth;
      else if (c == ')' && depth > 0)
        --depth;
      else if (depth == 0 && c != ' ' && c != '\t')
        return;
    }
  }
  bool atom() {
    const std::size_t start = at_;
    while (at_ < text_.size() && is_atom(text_[at_])) ++at_;
    return at_ > start;
  }
  bool in_quotes() {
    if (!take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    at_ = std::min(at_, text_.size());
    return take('"');
  }
  bool word() { return at_ < text_.size() && text_[at_] == '"' ? in_quotes() : atom(); }
  bool dotted() {
    do
      if (!atom()) return false;
    while (take('.'));
    return true;
  }
  bool spec() {
    const bool local = at_ < text_.size() && text_[at_] == '"' ? in_quotes() : dotted();
    if (!local || !take('@')) return false;
    if (!take('[')) return dotted();
    const std::size_t end = text_.find(']', at_);
    if (end == std::string_view::npos) return false;
    const std::string_view literal = text_.substr(at_, end - at_);
    at_ = end + 1;
    return is_dotted(literal) || is_colons(literal);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool escapes_are_whole(std::string_view text) {
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (at + 2 >= text.size() || !is_hex(text[at + 1]) || !is_hex(text[at + 2])) return false;
  return true;
}

bool is_authority(std::string_view text) {
  if (const std::size_t user = text.rfind('@'); user != std::string_view::npos) {
    const auto may_name = [](char c) {
      return is_letter(c) || is_digit(c) || std::string_view("-._:~!$&'()*+,;=%@").find(c) != std::string_view::npos;
    };
    const std::string_view name = text.substr(0, user);
    if (!std::all_of(name.begin(), name.end(), may_name) || !escapes_are_whole(name)) return false;
    text.remove_prefix(user + 1);
  }
  std::size_t colon = text.rfind(':');
  if (text.starts_with('[')) {
    const std::size_t end = text.rfind(']');
    if (end == std::string_view::npos) return false;
    if (end + 1 < text.size() && text[end + 1] != ':') return false;
    colon = end + 1 < text.size() ? end + 1 : std::string_view::npos;
  }
  if (colon != std::string_view::npos) {
    if (!all(text.substr(colon + 1), is_digit)) return false;
    text = text.substr(0, colon);
  }
  // Of escapes only those of letters beyond ASCII.
  for (std::size_t at = text.find('%'); at != std::string_view::npos; at = text.find('%', at + 1))
    if (!escapes_are_whole(text.substr(at, 3)) || text[at + 1] < '8') return false;
  return std::all_of(text.begin(), text.end(), [](char c) {
    return (c & 0x80) != 0 || is_letter(c) || is_digit(c) ||
           std::string_view("-_.~!$&'()*+,;=:[]<>\"%").find(c) != std::string_view::npos;
  });
}

// What may stand in the first line of a request: a URI with its scheme, or a path.
bool is_request_uri(std::string_view text) {
  if (text.empty() || std::any_of(text.begin(), text.end(), [](char c) { return (c >= 0 && c < 0x20) || c == 0x7F; }))
    return false;
  if (text == "*") return true;
  bool scheme = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_letter(c) || (i > 0 && (is_digit(c) || c == '+' || c == '-' || c == '.'))) continue;
    if (c != ':') break;
    if (i == 0) return false;
    scheme = true;
    text.remove_prefix(i + 1);
    break;
  }
  text = text.substr(0, text.find('?'));
  if (!text.starts_with('/')) return scheme;
  if (scheme && text.starts_with("//")) {
    text.remove_prefix(2);
    const std::size_t end = std::min(text.find('/'), text.size());
    if (!is_authority(text.substr(0, end))) return false;
    text.remove_prefix(end);
  }
  return escapes_are_whole(text);
}

// Letters beyond ASCII count as one each: here they are an "x" each.
bool is_hostname(std::string_view text) {
  constexpr std::size_t kLabelMax = 63;
  constexpr std::size_t kNameMax = 255;
  static const Pattern kPattern(
      "^([a-zA-Z0-9$+<=>^`|~](-?[a-zA-Z0-9$+<=>^`|~]{0,62})?|"
      "([a-zA-Z0-9$+<=>^`|~]([-a-zA-Z0-9$+<=>^`|~]{0,61}[a-zA-Z0-9$+<=>^`|~])?[.])+"
      "[a-zA-Z]{2,63})$");
  if (text.size() > kNameMax) return false;
  for (const std::string_view label : split(text, '.'))
    if (label.size() > kLabelMax) return false;
  std::string plain;
  for (const char c : text)
    if ((c & 0xC0) != 0x80) plain += (c & 0x80) != 0 ? 'x' : c;
  return kPattern.matches(plain);
}

bool is_mac(std::string_view text) {
  for (const char separator : {':', '-', '.'}) {
    const auto parts = split(text, separator);
    const std::size_t digits = separator == '.' ? 4 : 2;
    const std::size_t bytes = parts.size() * digits / 2;
    if (parts.size() > 1 && (bytes == 6 || bytes == 8 || bytes == 20) &&
        std::all_of(parts.begin(), parts.end(),
                    [&](std::string_view part) { return part.size() == digits && all(part, is_hex); }))
      return true;
  }
  return false;
}

bool is_date(std::string_view text) {
  constexpr std::size_t kLength = 10;
  if (text.size() != kLength) return false;
  // Years that our clock does not reach have the days of others.
  const auto year = base::parse_uint(text.substr(0, 4));
  return year && base::parse_rfc3339(base::cat(2000 + *year % 400, text.substr(4), "T00:00:00Z")).has_value();
}

// Between the seconds and their fraction any character will do, and what follows a second "T" is not looked at.
bool is_date_time(std::string_view text) {
  const std::string lowered = base::lower(text);
  const auto parts = split(lowered, 't');
  if (parts.size() < 2 || !is_date(parts[0])) return false;
  static const Pattern kTime("^([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})$");
  return kTime.matches(parts[1]);
}

// Go's: "1h30m", "-1.5s"; or anywhere a number and a unit that is known by its first letters: "2 days".
bool is_duration(std::string_view text) {
  static const Pattern kGo(
      "^[-+]?(0|([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|\xc2\xb5s|\xce\xbcs|ms|s|m|h)"
      "(([0-9]+([.][0-9]*)?|[.][0-9]+)(ns|us|\xc2\xb5s|\xce\xbcs|ms|s|m|h))*)$");
  bool fits = true;
  bool known = false;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_digit(text[at])) {
      ++at;
      continue;
    }
    const std::size_t start = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    fits = fits && base::parse_int(text.substr(start, at - start)).has_value();
    while (at < text.size() && std::string_view(" \t\n\f\r").find(text[at]) != std::string_view::npos) ++at;
    const std::size_t unit_at = at;
    while (at < text.size() && (is_letter(text[at]) || text.substr(at).starts_with("\xc2\xb5")))
      at += is_letter(text[at]) ? 1 : 2;
    const std::string unit = base::lower(text.substr(unit_at, at - unit_at));
    for (const std::string_view whole : {"ns", "us", "\xc2\xb5s", "ms", "s", "m", "h", "hr", "d", "w", "wk"})
      known = known || unit == whole;
    for (const std::string_view first : {"nano", "micro", "milli", "sec", "min", "hour", "day", "week"})
      known = known || unit.starts_with(first);
  }
  return (fits && known) || kGo.matches(text);
}

bool is_byte(std::string_view text) {
  return !text.empty() && text.find_first_of("\r\n") == std::string_view::npos && base::base64_decode(text).has_value();
}

bool is_isbn10(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ' ' && c != '-') digits += c;
  if (digits.size() != 10 || !all(std::string_view(digits).substr(0, 9), is_digit)) return false;
  if (!is_digit(digits[9]) && digits[9] != 'X') return false;
  int sum = 0;
  for (int i = 0; i < 9; ++i) sum += (i + 1) * (digits[static_cast<std::size_t>(i)] - '0');
  sum += 10 * (digits[9] == 'X' ? 10 : digits[9] - '0');
  return sum % 11 == 0;
}

bool is_isbn13(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (c != ' ' && c != '-') digits += c;
  if (digits.size() != 13 || !all(digits, is_digit)) return false;
  int sum = 0;
  for (std::size_t i = 0; i < 13; ++i) sum += (i % 2 == 0 ? 1 : 3) * (digits[i] - '0');
  return sum % 10 == 0;
}

bool is_credit_card(std::string_view text) {
  std::string digits;
  for (const char c : text)
    if (is_digit(c)) digits += c;
  static const Pattern kNumber(
      "^(4[0-9]{12}([0-9]{3})?|5[1-5][0-9]{14}|(222[1-9]|22[3-9][0-9]|2[3-6][0-9]{2}|27[01][0-9]|2720)[0-9]{12}|"
      "6(011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(0[0-5]|[68][0-9])[0-9]{11}|(2131|1800|35[0-9]{3})[0-9]{11}|"
      "6[27][0-9]{14})$");
  if (!kNumber.matches(digits)) return false;
  int sum = 0;  // every second digit from the last one counts twice, as the sum of its own digits
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int digit = digits[digits.size() - 1 - i] - '0';
    sum += i % 2 == 0 ? digit : digit * 2 - (digit > 4 ? 9 : 0);
  }
  return sum % 10 == 0;
}

bool is_social_security_number(std::string_view text) {
  static const Pattern kPattern("^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$");
  constexpr std::size_t kLength = 11;  // so the signs between are there
  return text.size() == kLength && kPattern.matches(text);
}

bool is_hex_color(std::string_view text) {
  if (text.starts_with('#')) text.remove_prefix(1);
  return (text.size() == 3 || text.size() == 6) && all(text, is_hex);
}

bool is_rgb_color(std::string_view text) {
  static const Pattern kPattern(
      "^rgb\\([ \t]*(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[ \t]*,[ \t]*"
      "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[ \t]*,[ \t]*"
      "(0|[1-9][0-9]?|1[0-9][0-9]?|2[0-4][0-9]|25[0-5])[ \t]*\\)$");
  return kPattern.matches(text);
}

struct FormatRow {
  std::string_view format;
  bool (*fits)(std::string_view);
};
constexpr FormatRow kFormatRows[] = {
    {"bsonobjectid", [](std::string_view text) { return text.size() == 24 && all(text, is_hex); }},
    {"byte", is_byte},
    {"cidr", is_cidr},
    {"creditcard", is_credit_card},
    {"date", is_date},
    {"date-time", is_date_time},
    {"datetime", is_date_time},
    {"duration", is_duration},
    {"email", [](std::string_view text) { return Address(text).good(); }},
    {"hexcolor", is_hex_color},
    {"hostname", is_hostname},
    {"ipv4", is_ipv4},
    {"ipv6", is_colons},
    {"isbn", [](std::string_view text) { return is_isbn10(text) || is_isbn13(text); }},
    {"isbn10", is_isbn10},
    {"isbn13", is_isbn13},
    {"mac", is_mac},
    {"rgbcolor", is_rgb_color},
    {"ssn", is_social_security_number},
    {"uri", is_request_uri},
    {"uuid", [](std::string_view text) { return is_uuid(text, 0, false); }},
    {"uuid3", [](std::string_view text) { return is_uuid(text, '3', false); }},
    {"uuid4", [](std::string_view text) { return is_uuid(text, '4', true); }},
    {"uuid5", [](std::string_view text) { return is_uuid(text, '5', true); }},
};

}  // namespace

bool fits_format(std::string_view format, std::string_view text) {
  for (const FormatRow& row : kFormatRows)
    if (row.format == format) return row.fits(text);
  return true;
}

}  // namespace tidemark::kube::memory
