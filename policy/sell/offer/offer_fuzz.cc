#include <cstdint>
#include <span>

#include "base/check.h"
#include "policy/sell/offer/testing/life.h"

// Each input is the life of one node.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string wrong = policy::testing::Life({data, size}).live();
  TM_CHECK(wrong.empty(), wrong.c_str());
  return 0;
}
