// An amount with a suffix, as Kubernetes writes resources: "100m", "1536Mi", "12e3". It parses, compares, rounds, adds
// and prints as k8s.io/apimachinery's resource.Quantity does, to the character; tests/golden/quantity holds it to that.
//
// A Quantity is a decimal number value × 10^scale plus the family of suffixes it was written in. While the value fits
// in 64 bits that is all; beyond, the digits go on without a limit. Decisions do not calculate with it: they take
// milli-cores and bytes out of it (model/resources.h) and put results back.
//
// Traps that are Kubernetes' own and kept:
//   - "+", "-", "." and a bare suffix ("Ki", "e3") are zero; "Ei" alone is an error.
//   - What is finer than a nano unit becomes a nano unit; only BinarySI is capped at 2^63−1.
//   - A decimal of 10^21 and more prints without its suffix ("1000E" prints "1"): there is no suffix for it.
//   - to_string() of a value just parsed may be the text it came from ("+1", "1.500"); canonical() never is.
//   - value() and scaled_value() of what does not fit are 0 or wrap around. Use the saturating conversions of
//     model/resources.h for anything that must not go wild.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::base {
class Json;
}

namespace tidemark::model {

class Quantity {
 public:
  enum class Format : std::uint8_t { kDecimalSI, kBinarySI, kDecimalExponent };

  // Go has neither limit; past them a comparison takes memory without end. Nothing real comes near.
  static constexpr std::size_t kTextMax = 512;  // bytes
  static constexpr int kExponentMax = 1000;     // "1e1000"

  Quantity() = default;  // 0 in DecimalSI
  static Quantity of(std::int64_t value, Format format = Format::kDecimalSI);
  static Quantity of_milli(std::int64_t milli, Format format = Format::kDecimalSI);
  static Quantity of_scaled(std::int64_t value, int scale, Format format = Format::kDecimalSI);  // value × 10^scale

  static Result<Quantity> parse(std::string_view text);  // blanks are refused
  // A member of a JSON object: a string (blanks around it are allowed there) or a number; null is zero.
  static Result<Quantity> from_json(const base::Json& value);
  // The same for the bytes of one JSON value, as returned by JsonReader::raw().
  static Result<Quantity> from_json_text(std::string_view raw);

  std::string to_string() const;
  std::string canonical() const;

  std::int64_t value() const { return scaled_value(0); }  // whole units
  // This amount in units of 10^scale. Rounded up: away from zero if the value fits in 64 bits, otherwise towards
  // +infinity (Go's two representations differ here).
  std::int64_t scaled_value(int scale) const;
  // The same, always away from zero, and saturated at the ends of int64 instead of wrapping.
  std::int64_t scaled_value_saturated(int scale) const;

  bool is_zero() const { return sign() == 0; }
  int sign() const;
  Format format() const { return format_; }

  // A zero takes the format of the other operand.
  Quantity& operator+=(const Quantity& other);
  Quantity& operator-=(const Quantity& other);
  friend Quantity operator+(Quantity a, const Quantity& b) { return std::move(a += b); }
  friend Quantity operator-(Quantity a, const Quantity& b) { return std::move(a -= b); }
  Quantity operator-() const;
  // Coarsens to 10^scale, away from zero. Returns true if nothing was lost.
  bool round_up(int scale);

  // By amount; the format does not matter ("1Ki" == "1024").
  friend std::strong_ordering operator<=>(const Quantity& a, const Quantity& b) { return a.compare(b) <=> 0; }
  friend bool operator==(const Quantity& a, const Quantity& b) { return a.compare(b) == 0; }

 private:
  int compare(const Quantity& other) const;
  Quantity& add(const Quantity& other, bool negate);

  // The amount is value_ × 10^scale_ while is_big_ is false, otherwise ±digits_ × 10^scale_.
  std::int64_t value_ = 0;
  std::int32_t scale_ = 0;
  Format format_ = Format::kDecimalSI;
  bool is_big_ = false;
  bool big_negative_ = false;
  std::vector<std::uint32_t> digits_;  // magnitude, base 2^32, lowest first, no zeros at the top
  std::string text_;                   // the result of to_string(), if it is not canonical()
};

}  // namespace tidemark::model
