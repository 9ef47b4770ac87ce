// Unsigned whole numbers without a limit, for the few quantities that exceed 64 bits. Not fast; Quantity::kTextMax
// limits the digits of input.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::model::magnitude {

// Base 2^32, lowest first, no zeros at the top; empty is 0.
using Limbs = std::vector<std::uint32_t>;

Limbs from_uint64(std::uint64_t value);
Limbs from_decimal(std::string_view digits);  // digits only
std::string to_decimal(Limbs value);

int compare(const Limbs& a, const Limbs& b);
Limbs add(const Limbs& a, const Limbs& b);
Limbs subtract(const Limbs& a, const Limbs& b);  // a ≥ b
void multiply(Limbs& value, std::uint32_t factor);
void multiply_power_of_ten(Limbs& value, int exponent);
std::uint32_t divide(Limbs& value, std::uint32_t divisor);  // truncates; returns the remainder
bool divide_power_of_ten(Limbs& value, int exponent);       // truncates; returns true if digits were lost
void increment(Limbs& value);

std::uint64_t low64(const Limbs& value);
bool fits_uint64(const Limbs& value);

}  // namespace tidemark::model::magnitude
