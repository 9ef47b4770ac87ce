#include "model/cpu_list.h"

#include <gtest/gtest.h>

#include "model/annotations.h"

namespace tidemark::model {
namespace {

using Cpus = std::vector<std::int32_t>;

TEST(CpuList, IsReadAscendingAndEachOnce) {
  EXPECT_EQ(parse_cpus("0"), Cpus{0});
  EXPECT_EQ(parse_cpus("8,0-3, 2"), (Cpus{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpus("65535"), Cpus{65535});
  for (const char* text : {"", "a", "3-1", "-1", "1,", "65536", "0-4294967295", "1-2-3"}) {
    EXPECT_FALSE(parse_cpus(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace tidemark::model
