#include "linux/proc/slice.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <thread>

namespace tidemark::linux {
namespace {

using namespace std::chrono_literals;

// In a thread of its own: those who come after it have what they had.
TEST(SliceOnMachine, IsKeptAsTheKernelTellsItOrByAnOlderOneNotAtAll) {
  const auto own = read_slice(0);
  ASSERT_TRUE(own) << own.error().message;
  std::string told;
  std::thread([&] {
    const auto set = set_own_slice(300us);
    EXPECT_TRUE(set) << set.error().message;
    EXPECT_EQ(read_slice(0).value_or(std::nullopt), *own ? std::optional<base::Duration>(300us) : std::nullopt);
    std::ifstream file("/proc/thread-self/sched");
    told.assign(std::istreambuf_iterator<char>(file), {});
  }).join();
  const auto at = told.find("se.slice");
  if (*own && at != std::string::npos) {  // where the kernel was built to tell
    const std::string line = told.substr(at, told.find('\n', at) - at);
    EXPECT_TRUE(line.ends_with(" 300000")) << line;
  }
  EXPECT_EQ(read_slice(0).value_or(std::nullopt), *own);
}

TEST(SliceOnMachine, WhoIsNotThereHasNone) {
  EXPECT_FALSE(read_slice(-1));
}

}  // namespace
}  // namespace tidemark::linux
