#include "yarn_operator/at_once.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "net/testing/loop.h"

namespace tidemark::yarn_operator {
namespace {

using namespace std::chrono_literals;

class AtOnceTest : public ::testing::Test {
 protected:
  net::Task<void> work(std::size_t at) {
    begun.push_back(at);
    most = std::max(most, ++running);
    co_await loop.sleep(at == 0 ? 10s : 1s);
    --running;
    ++done;
  }
  base::Duration run(std::size_t count, std::size_t at_a_time) {
    const base::MonotonicTime begin = clock.monotonic();
    net::testing::run_task(loop, clock, at_once(loop, count, at_a_time, [this](std::size_t at) { return work(at); }));
    return clock.monotonic() - begin;
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::vector<std::size_t> begun;
  int running = 0, most = 0, done = 0;
};

TEST_F(AtOnceTest, RunsAllInOrderWithinTheLimit) {
  EXPECT_EQ(run(7, 3), 10s) << "a slow job must not delay the others";
  EXPECT_EQ(begun, (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(most, 3);
  EXPECT_EQ(done, 7);
}

TEST_F(AtOnceTest, HandlesFewerThanTheLimitAndNone) {
  EXPECT_EQ(run(2, 8), 10s);
  EXPECT_EQ(most, 2);
  EXPECT_EQ(run(0, 8), 0s);
}

}  // namespace
}  // namespace tidemark::yarn_operator
