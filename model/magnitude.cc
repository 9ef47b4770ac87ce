#include "model/magnitude.h"

#include <algorithm>

#include "base/check.h"

namespace tidemark::model::magnitude {
namespace {

constexpr std::uint32_t kBillion = 1'000'000'000;
constexpr int kBillionDigits = 9;
constexpr std::uint32_t kSmallPowers[] = {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000, 10'000'000, 100'000'000};

void trim(Limbs& value) {
  while (!value.empty() && value.back() == 0) value.pop_back();
}

void add_small(Limbs& value, std::uint32_t addend) {
  std::uint64_t carry = addend;
  for (std::size_t i = 0; carry != 0; ++i) {
    if (i == value.size()) value.push_back(0);
    carry += value[i];
    value[i] = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
}

}  // namespace

Limbs from_uint64(std::uint64_t value) {
  Limbs limbs{static_cast<std::uint32_t>(value), static_cast<std::uint32_t>(value >> 32)};
  trim(limbs);
  return limbs;
}

Limbs from_decimal(std::string_view digits) {
  Limbs value;
  for (const char digit : digits) {
    TM_CHECK(digit >= '0' && digit <= '9', "the caller has split the number from its sign, point and suffix");
    multiply(value, 10);
    add_small(value, static_cast<std::uint32_t>(digit - '0'));
  }
  return value;
}

std::string to_decimal(Limbs value) {
  if (value.empty()) return "0";
  std::string reversed;
  while (!value.empty()) {
    std::uint32_t block = divide(value, kBillion);
    for (int i = 0; i < kBillionDigits && (block != 0 || !value.empty()); ++i, block /= 10) {
      reversed.push_back(static_cast<char>('0' + block % 10));
    }
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

int compare(const Limbs& a, const Limbs& b) {
  if (a.size() != b.size()) return a.size() < b.size() ? -1 : 1;
  for (std::size_t i = a.size(); i-- > 0;) {
    if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
  }
  return 0;
}

Limbs add(const Limbs& a, const Limbs& b) {
  Limbs sum;
  std::uint64_t carry = 0;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()) || carry != 0; ++i) {
    carry += (i < a.size() ? a[i] : 0ULL) + (i < b.size() ? b[i] : 0ULL);
    sum.push_back(static_cast<std::uint32_t>(carry));
    carry >>= 32;
  }
  return sum;
}

Limbs subtract(const Limbs& a, const Limbs& b) {
  TM_CHECK(compare(a, b) >= 0, "a magnitude has no sign: the caller subtracts the smaller one");
  Limbs difference = a;
  std::uint64_t borrow = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::uint64_t taken = (i < b.size() ? b[i] : 0ULL) + borrow;
    borrow = a[i] < taken ? 1 : 0;
    difference[i] = static_cast<std::uint32_t>((borrow << 32) + a[i] - taken);
  }
  trim(difference);
  return difference;
}

void multiply(Limbs& value, std::uint32_t factor) {
  std::uint64_t carry = 0;
  for (auto& limb : value) {
    carry += std::uint64_t{limb} * factor;
    limb = static_cast<std::uint32_t>(carry);
    carry >>= 32;
  }
  if (carry != 0) value.push_back(static_cast<std::uint32_t>(carry));
  trim(value);
}

void multiply_power_of_ten(Limbs& value, int exponent) {
  for (; exponent >= kBillionDigits; exponent -= kBillionDigits) multiply(value, kBillion);
  if (exponent > 0) multiply(value, kSmallPowers[exponent]);
}

std::uint32_t divide(Limbs& value, std::uint32_t divisor) {
  std::uint64_t rest = 0;
  for (std::size_t i = value.size(); i-- > 0;) {
    rest = (rest << 32) | value[i];
    value[i] = static_cast<std::uint32_t>(rest / divisor);
    rest %= divisor;
  }
  trim(value);
  return static_cast<std::uint32_t>(rest);
}

bool divide_power_of_ten(Limbs& value, int exponent) {
  bool lost = false;
  for (; exponent >= kBillionDigits && !value.empty(); exponent -= kBillionDigits) lost |= divide(value, kBillion) != 0;
  if (exponent > 0 && !value.empty()) lost |= divide(value, kSmallPowers[exponent]) != 0;
  return lost;
}

void increment(Limbs& value) {
  add_small(value, 1);
}

std::uint64_t low64(const Limbs& value) {
  std::uint64_t low = value.empty() ? 0 : value[0];
  if (value.size() > 1) low |= std::uint64_t{value[1]} << 32;
  return low;
}

bool fits_uint64(const Limbs& value) {
  return value.size() <= 2;
}

}  // namespace tidemark::model::magnitude
