// Every parsed text prints as text that parses again, and no conversion leaves its range.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "model/quantity.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using tidemark::model::Quantity;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto quantity = Quantity::parse(text);
  if (!quantity) return 0;
  // Beyond, there is no suffix to print it with; see the header.
  const Quantity limit = Quantity::of_scaled(1, 21);
  if (*quantity < limit && -*quantity < limit) {
    TM_CHECK(Quantity::parse(quantity->to_string()) == *quantity, "what is printed reads back as the same amount");
    TM_CHECK(Quantity::parse(quantity->canonical()) == *quantity, "and so does its canonical form");
  }
  TM_CHECK(quantity->scaled_value_saturated(0) >= 0 || quantity->sign() < 0, "saturation keeps the sign");
  TM_CHECK((*quantity - *quantity).is_zero(), "a quantity less itself is nothing");
  return 0;
}
