#include "model/quantity.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "base/json.h"
#include "base/text.h"
#include "model/magnitude.h"

namespace tidemark::model {
namespace {

using Format = Quantity::Format;
__extension__ using Int128 = __int128;

constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
constexpr int kNano = -9;         // the finest scale a quantity has
constexpr int kInt64Digits = 18;  // decimal digits that surely fit

constexpr std::array<std::int64_t, kInt64Digits + 1> kPowersOfTen = [] {
  std::array<std::int64_t, kInt64Digits + 1> powers{};
  std::int64_t power = 1;
  for (auto& each : powers) {
    each = power;
    if (power <= kMax / 10) power *= 10;
  }
  return powers;
}();

struct Suffix {
  std::string_view text;
  int exponent;
};
constexpr std::array<Suffix, 10> kDecimalSuffixes{
    {{"n", -9}, {"u", -6}, {"m", -3}, {"", 0}, {"k", 3}, {"M", 6}, {"G", 9}, {"T", 12}, {"P", 15}, {"E", 18}}};
constexpr std::array<Suffix, 6> kBinarySuffixes{
    {{"Ki", 10}, {"Mi", 20}, {"Gi", 30}, {"Ti", 40}, {"Pi", 50}, {"Ei", 60}}};

template <std::size_t N>
const Suffix* find_suffix(const std::array<Suffix, N>& suffixes, std::string_view text) {
  const auto found = std::find_if(suffixes.begin(), suffixes.end(), [&](const Suffix& s) { return s.text == text; });
  return found == suffixes.end() ? nullptr : &*found;
}

// "" where there is no suffix for the exponent, which makes Kubernetes print 10^21 as "1"; see the header.
template <std::size_t N>
std::string_view suffix_text(const std::array<Suffix, N>& suffixes, int exponent) {
  const auto found =
      std::find_if(suffixes.begin(), suffixes.end(), [&](const Suffix& s) { return s.exponent == exponent; });
  return found == suffixes.end() ? std::string_view() : found->text;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view digits_from(std::string_view text, std::size_t& at) {
  const std::size_t start = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return text.substr(start, at - start);
}

// The four pieces of a text; `number` is the text before the suffix.
struct Pieces {
  bool negative = false;
  std::string_view number;
  std::string_view whole;     // without leading zeros; "0" where nothing is left
  std::string_view fraction;  // all digits after the point
  std::string_view suffix;
};

std::optional<Pieces> split(std::string_view text) {
  Pieces pieces;
  std::size_t at = 0;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) pieces.negative = text[at++] == '-';
  while (at < text.size() && text[at] == '0') ++at;
  pieces.whole = digits_from(text, at);
  if (pieces.whole.empty()) pieces.whole = "0";
  if (at < text.size() && text[at] == '.') pieces.fraction = digits_from(text, ++at);
  pieces.number = text.substr(0, at);
  const std::size_t suffix_start = at;
  while (at < text.size() && std::string_view("eEinumkKMGTP").contains(text[at])) ++at;
  if (at < text.size() && (text[at] == '-' || text[at] == '+')) ++at;
  digits_from(text, at);
  if (at != text.size()) return std::nullopt;
  pieces.suffix = text.substr(suffix_start);
  return pieces;
}

struct Meaning {
  Format format;
  int exponent;  // of 2 for BinarySI, of 10 otherwise
};

std::optional<Meaning> interpret(std::string_view suffix) {
  if (const Suffix* decimal = find_suffix(kDecimalSuffixes, suffix)) {
    return Meaning{Format::kDecimalSI, decimal->exponent};
  }
  if (const Suffix* binary = find_suffix(kBinarySuffixes, suffix)) return Meaning{Format::kBinarySI, binary->exponent};
  if (suffix.size() < 2 || (suffix[0] != 'e' && suffix[0] != 'E')) return std::nullopt;
  suffix.remove_prefix(1);
  const bool negative = suffix[0] == '-';
  if (negative || suffix[0] == '+') suffix.remove_prefix(1);
  if (suffix.empty() || !std::all_of(suffix.begin(), suffix.end(), is_digit)) return std::nullopt;
  while (suffix.size() > 1 && suffix[0] == '0') suffix.remove_prefix(1);
  // Too long to be inside the limit: any value past it will do.
  const int exponent = suffix.size() > 9 ? Quantity::kExponentMax + 1 : static_cast<int>(*base::parse_int(suffix));
  return Meaning{Format::kDecimalExponent, negative ? -exponent : exponent};
}

// value × 10^exponent, if it fits.
std::optional<std::int64_t> scale_up(std::int64_t value, int exponent) {
  if (value == 0) return 0;
  std::int64_t scaled = 0;
  if (exponent > kInt64Digits || __builtin_mul_overflow(value, kPowersOfTen[exponent], &scaled)) return std::nullopt;
  return scaled;
}

// What Kubernetes answers where value × 10^exponent does not fit: the low bits for the exponents it multiplies by in
// one step, 0 for those it reaches in several.
std::int64_t overflown(std::int64_t value, int exponent) {
  constexpr std::array kOneStep{1, 2, 3, 6, 9};
  if (value == kMin || std::find(kOneStep.begin(), kOneStep.end(), exponent) == kOneStep.end()) return 0;
  const auto factor = static_cast<std::uint64_t>(kPowersOfTen[static_cast<std::size_t>(exponent)]);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(value) * factor);
}

struct Rounded {
  std::int64_t value;
  bool exact;
};

// value / 10^exponent, away from zero.
Rounded scale_down(std::int64_t value, int exponent) {
  const std::int64_t away = value > 0 ? 1 : -1;
  if (exponent > kInt64Digits) return value == 0 ? Rounded{0, true} : Rounded{away, false};
  const std::int64_t quotient = value / kPowersOfTen[exponent];
  const bool exact = value % kPowersOfTen[exponent] == 0;
  return {exact ? quotient : quotient + away, exact};
}

// Brings a magnitude from one scale to another, away from zero. Answers whether nothing was lost.
bool rescale(magnitude::Limbs& digits, int from, int to) {
  if (to <= from) {
    magnitude::multiply_power_of_ten(digits, from - to);
    return true;
  }
  const bool lost = magnitude::divide_power_of_ten(digits, to - from);
  if (lost) magnitude::increment(digits);
  return !lost;
}

std::uint64_t magnitude_of(std::int64_t value) {
  return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

std::int64_t wrap(std::uint64_t bits, bool negative) {
  return static_cast<std::int64_t>(negative ? 0 - bits : bits);
}

// ±digits × 10^scale
struct Decimal {
  bool negative = false;
  magnitude::Limbs digits;
  int scale = 0;
};

// The number a quantity is printed with, and the exponent its suffix stands for: no factor of the base is left in the
// number, except that an exponent of ten is a multiple of three.
struct Canonical {
  std::string number;
  int exponent;
};

Canonical canonical_decimal(Decimal decimal) {
  int exponent = decimal.scale;
  for (;;) {
    auto tenth = decimal.digits;
    if (tenth.empty() || magnitude::divide(tenth, 10) != 0) break;
    decimal.digits = std::move(tenth);
    ++exponent;
  }
  const int above = ((exponent % 3) + 3) % 3;
  magnitude::multiply_power_of_ten(decimal.digits, above);
  return {base::cat(decimal.negative ? "-" : "", magnitude::to_decimal(std::move(decimal.digits))), exponent - above};
}

Canonical canonical_decimal(std::int64_t value, int scale) {
  int exponent = scale;
  while (value != 0 && value % 10 == 0) {
    value /= 10;
    ++exponent;
  }
  const int above = ((exponent % 3) + 3) % 3;
  if (const auto widened = scale_up(value, above)) return {base::cat(*widened), exponent - above};
  return canonical_decimal({value < 0, magnitude::from_uint64(magnitude_of(value)), exponent});
}

Canonical canonical_binary(Decimal whole) {
  int exponent = 0;
  for (;;) {
    auto part = whole.digits;
    if (part.empty() || magnitude::divide(part, 1024) != 0) break;
    whole.digits = std::move(part);
    exponent += 10;
  }
  return {base::cat(whole.negative ? "-" : "", magnitude::to_decimal(std::move(whole.digits))), exponent};
}

Canonical canonical_binary(std::int64_t value) {
  int exponent = 0;
  // Kubernetes leaves −2^63 as it is: it has no positive counterpart to divide.
  while (value != 0 && value != kMin && value % 1024 == 0) {
    value /= 1024;
    exponent += 10;
  }
  return {base::cat(value), exponent};
}

Decimal decimal_of(bool is_big, std::int64_t value, bool negative, const magnitude::Limbs& digits, int scale) {
  if (is_big) return {negative, digits, scale};
  return {value < 0, magnitude::from_uint64(magnitude_of(value)), scale};
}

int compare_decimals(Decimal a, Decimal b) {
  const int sign_a = a.digits.empty() ? 0 : a.negative ? -1 : 1;
  const int sign_b = b.digits.empty() ? 0 : b.negative ? -1 : 1;
  if (sign_a != sign_b) return sign_a < sign_b ? -1 : 1;
  const int scale = std::min(a.scale, b.scale);
  rescale(a.digits, a.scale, scale);
  rescale(b.digits, b.scale, scale);
  return sign_a * magnitude::compare(a.digits, b.digits);
}

std::unexpected<Error> refused(std::string_view text, std::string_view why) {
  return fail(ErrorKind::kInvalid, "wanted a quantity like 100m, 2Gi or 1e3, found ", base::in_quotes(text), ": ", why);
}

}  // namespace

Quantity Quantity::of(std::int64_t value, Format format) {
  return of_scaled(value, 0, format);
}

Quantity Quantity::of_milli(std::int64_t milli, Format format) {
  return of_scaled(milli, -3, format);
}

Quantity Quantity::of_scaled(std::int64_t value, int scale, Format format) {
  Quantity quantity;
  quantity.value_ = value;
  quantity.scale_ = scale;
  quantity.format_ = format;
  return quantity;
}

Result<Quantity> Quantity::parse(std::string_view text) {
  if (text.empty()) return refused(text, "it is empty");
  if (text.size() > kTextMax) return refused(text, base::cat("it is longer than ", kTextMax, " bytes"));
  const auto pieces = split(text);
  if (!pieces) return refused(text, "it is not a number with a suffix");
  const auto meaning = interpret(pieces->suffix);
  if (!meaning) return refused(text, base::cat("the suffix ", base::in_quotes(pieces->suffix), " is not known"));
  if (meaning->exponent > kExponentMax || meaning->exponent < -kExponentMax) {
    return refused(text, base::cat("the exponent is outside ±", kExponentMax));
  }

  Quantity quantity;
  quantity.format_ = meaning->format;
  const bool binary = meaning->format == Format::kBinarySI;
  const int exponent = meaning->exponent;
  const int digits = static_cast<int>(pieces->whole.size() + pieces->fraction.size());
  const int scale = (binary ? 0 : exponent) - static_cast<int>(pieces->fraction.size());

  // Most texts: the digits fit in 64 bits even after the suffix. Which ones do is Kubernetes' estimate, not an exact
  // test; it decides the rounding of negative values later on, so it is the same here.
  const bool fits = binary ? pieces->fraction.empty() && 15 - digits - exponent * 3 / 10 - 1 >= 0
                           : digits <= kInt64Digits && scale >= kNano;
  if (fits) {
    const std::string shifted = base::cat(pieces->whole, pieces->fraction);
    const std::int64_t number = *base::parse_int(shifted);
    std::int64_t scaled = 0;
    const std::int64_t factor = binary ? std::int64_t{1} << exponent : 1;
    if (!__builtin_mul_overflow(number, factor, &scaled)) {
      quantity.value_ = pieces->negative ? -scaled : scaled;
      quantity.scale_ = scale;
      // What already looks canonical is printed as it came.
      const bool keep = binary ? (number & 7) != 0 : scale % 3 == 0 && !shifted.ends_with("000") && shifted[0] != '0';
      if (keep) quantity.text_ = text;
      return quantity;
    }
  }

  if (std::none_of(pieces->number.begin(), pieces->number.end(), is_digit)) return refused(text, "it has no digits");
  quantity.is_big_ = true;
  quantity.digits_ = magnitude::from_decimal(base::cat(pieces->whole, pieces->fraction));
  quantity.scale_ = scale;
  for (int shifted = 0; binary && shifted < exponent; shifted += 10) magnitude::multiply(quantity.digits_, 1024);
  if (quantity.digits_.empty()) return quantity;

  rescale(quantity.digits_, scale, kNano);
  quantity.scale_ = kNano;
  if (binary) {
    const Decimal amount{false, quantity.digits_, kNano};
    if (compare_decimals(amount, {false, magnitude::from_uint64(static_cast<std::uint64_t>(kMax)), 0}) > 0) {
      quantity.digits_ = magnitude::from_uint64(static_cast<std::uint64_t>(kMax));
      quantity.scale_ = 0;
    } else if (compare_decimals(amount, {false, magnitude::from_uint64(1), 0}) < 0) {
      quantity.format_ = Format::kDecimalSI;  // "0.5Ki" is 512, but "0.0001Ki" is below one and has no binary suffix
    }
  }
  quantity.big_negative_ = pieces->negative;
  return quantity;
}

Result<Quantity> Quantity::from_json(const base::Json& value) {
  if (value.is_null()) return Quantity();
  if (const auto text = value.get_string()) return parse(base::trim(*text));
  if (value.is_number()) return parse(value.dump());
  return fail(ErrorKind::kInvalid, "wanted a quantity (a string or a number), found ", base::in_quotes(value.dump()));
}

Result<Quantity> Quantity::from_json_text(std::string_view raw) {
  if (raw == "null") return Quantity();
  if (raw.size() >= 2 && raw.front() == '"' && raw.back() == '"') raw = raw.substr(1, raw.size() - 2);
  return parse(base::trim(raw));
}

std::string Quantity::to_string() const {
  return text_.empty() ? canonical() : text_;
}

std::string Quantity::canonical() const {
  if (is_zero()) return "0";
  Decimal whole = decimal_of(is_big_, value_, big_negative_, digits_, scale_);
  const Canonical plain = is_big_ ? canonical_decimal(whole) : canonical_decimal(value_, scale_);

  // Below one Ki, or where a fraction would be lost, a binary quantity is printed like a decimal one.
  if (format_ == Format::kBinarySI && (compare(of(-1024)) <= 0 || compare(of(1024)) >= 0)) {
    const auto small = is_big_ || scale_ < 0 ? std::nullopt : scale_up(value_, scale_);
    if (rescale(whole.digits, whole.scale, 0)) {
      whole.scale = 0;
      const Canonical binary = small ? canonical_binary(*small) : canonical_binary(std::move(whole));
      return base::cat(binary.number, suffix_text(kBinarySuffixes, binary.exponent));
    }
  }
  if (format_ == Format::kDecimalExponent) {
    return plain.exponent == 0 ? plain.number : base::cat(plain.number, "e", plain.exponent);
  }
  return base::cat(plain.number, suffix_text(kDecimalSuffixes, plain.exponent));
}

std::int64_t Quantity::scaled_value(int scale) const {
  if (!is_big_) {
    if (scale_ < scale) return scale_down(value_, scale - scale_).value;
    return scale_up(value_, scale_ - scale).value_or(overflown(value_, scale_ - scale));
  }
  const int down = scale - scale_;
  const std::int64_t low = wrap(magnitude::low64(digits_), big_negative_);
  if (down == 0) return low;
  if (down < 0) {
    const std::int64_t factor = -down > kInt64Digits ? kMin : kPowersOfTen[static_cast<std::size_t>(-down)];
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) * static_cast<std::uint64_t>(factor));
  }
  const bool below_max = big_negative_ || magnitude::compare(digits_, magnitude::from_uint64(kMax)) < 0;
  if (below_max && down <= kInt64Digits) {
    const std::int64_t divisor = kPowersOfTen[static_cast<std::size_t>(down)];
    return low / divisor + (low % divisor != 0 ? 1 : 0);
  }
  auto quotient = digits_;
  const bool lost = magnitude::divide_power_of_ten(quotient, down);
  if (lost && !big_negative_) magnitude::increment(quotient);
  return wrap(magnitude::low64(quotient), big_negative_);
}

std::int64_t Quantity::scaled_value_saturated(int scale) const {
  if (!is_big_) {
    if (scale_ < scale) return scale_down(value_, scale - scale_).value;
    return scale_up(value_, scale_ - scale).value_or(value_ > 0 ? kMax : kMin);
  }
  auto digits = digits_;
  rescale(digits, scale_, scale);
  const std::uint64_t low = magnitude::low64(digits);
  if (!magnitude::fits_uint64(digits) || low > static_cast<std::uint64_t>(kMax)) return big_negative_ ? kMin : kMax;
  return wrap(low, big_negative_);
}

int Quantity::sign() const {
  if (is_big_) return digits_.empty() ? 0 : big_negative_ ? -1 : 1;
  return value_ == 0 ? 0 : value_ < 0 ? -1 : 1;
}

int Quantity::compare(const Quantity& other) const {
  const int apart = scale_ - other.scale_;
  if (!is_big_ && !other.is_big_ && apart >= -kInt64Digits && apart <= kInt64Digits) {
    const Int128 a = Int128{value_} * (apart > 0 ? kPowersOfTen[static_cast<std::size_t>(apart)] : 1);
    const Int128 b = Int128{other.value_} * (apart < 0 ? kPowersOfTen[static_cast<std::size_t>(-apart)] : 1);
    return a < b ? -1 : a > b ? 1 : 0;
  }
  return compare_decimals(decimal_of(is_big_, value_, big_negative_, digits_, scale_),
                          decimal_of(other.is_big_, other.value_, other.big_negative_, other.digits_, other.scale_));
}

Quantity& Quantity::operator+=(const Quantity& other) {
  return add(other, false);
}
Quantity& Quantity::operator-=(const Quantity& other) {
  return add(other, true);
}

Quantity& Quantity::add(const Quantity& other, bool negate) {
  text_.clear();
  if (is_zero()) format_ = other.format_;

  if (!is_big_ && !other.is_big_ && !(negate && other.value_ == kMin)) {
    const std::int64_t addend = negate ? -other.value_ : other.value_;
    if (addend == 0) return *this;
    if (value_ == 0) {
      value_ = addend;
      scale_ = other.scale_;
      return *this;
    }
    const int scale = std::min(scale_, other.scale_);
    const auto a = scale_up(value_, scale_ - scale);
    const auto b = scale_up(addend, other.scale_ - scale);
    std::int64_t sum = 0;
    if (a && b && !__builtin_add_overflow(*a, *b, &sum)) {
      value_ = sum;
      scale_ = scale;
      return *this;
    }
  }

  Decimal a = decimal_of(is_big_, value_, big_negative_, digits_, scale_);
  Decimal b = decimal_of(other.is_big_, other.value_, other.big_negative_, other.digits_, other.scale_);
  if (negate) b.negative = !b.negative;
  const int scale = std::min(a.scale, b.scale);
  rescale(a.digits, a.scale, scale);
  rescale(b.digits, b.scale, scale);
  is_big_ = true;
  scale_ = scale;
  value_ = 0;
  if (a.negative == b.negative) {
    digits_ = magnitude::add(a.digits, b.digits);
    big_negative_ = a.negative;
  } else {
    const bool a_larger = magnitude::compare(a.digits, b.digits) >= 0;
    digits_ = a_larger ? magnitude::subtract(a.digits, b.digits) : magnitude::subtract(b.digits, a.digits);
    big_negative_ = a_larger ? a.negative : b.negative;
  }
  if (digits_.empty()) big_negative_ = false;
  return *this;
}

Quantity Quantity::operator-() const {
  Quantity negated = *this;
  negated.text_.clear();
  if (is_big_) {
    negated.big_negative_ = !big_negative_ && !digits_.empty();
  } else if (value_ == kMin) {
    negated = Quantity();
    negated -= *this;
  } else {
    negated.value_ = -value_;
  }
  return negated;
}

bool Quantity::round_up(int scale) {
  if (!is_big_) {
    if (scale_ >= scale) return true;
    const Rounded rounded = scale_down(value_, scale - scale_);
    value_ = rounded.value;
    scale_ = scale;
    text_.clear();
    return rounded.exact;
  }
  text_.clear();
  const bool exact = rescale(digits_, scale_, scale);
  scale_ = scale;
  return exact;
}

}  // namespace tidemark::model
