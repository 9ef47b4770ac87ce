#include "kube/memory/local_transport.h"

#include <gtest/gtest.h>

#include "base/testing/clock.h"

namespace tidemark::kube::memory {
namespace {

using net::Task;

class LocalTransportTest : public ::testing::Test {
 protected:
  template <class T>
  T wait(Task<T> task) {
    net::Scope scope(loop_);
    std::optional<T> value;
    scope.spawn([](Task<T> inner, std::optional<T>& out) -> Task<void> { out.emplace(co_await inner); }(std::move(task),
                                                                                                        value));
    for (int i = 0; i < 1000 && !value; ++i) {
      loop_.run_ready();
      if (value) break;
      const auto next = loop_.next_timer();
      if (!next) break;
      clock_.advance(*next - clock_.monotonic());
    }
    EXPECT_TRUE(value.has_value());
    return std::move(*value);
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
};

TEST_F(LocalTransportTest, AnswersAndPassesTheUser) {
  LocalTransport transport(
      loop_,
      [](net::HttpExchange& exchange) -> Task<void> {
        auto body = co_await exchange.body(100);
        exchange.respond(201, "text/plain",
                         base::cat(*exchange.peer().certificate_common_name, " ", exchange.head().target, " ", *body));
      },
      "me");
  net::HttpRequest request;
  request.target = "/x";
  request.body = "hello";
  const auto response = wait(transport.fetch(request, std::chrono::seconds(1)));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 201);
  EXPECT_EQ(response->body, "me /x hello");
  EXPECT_EQ(response->headers.get("content-type"), "text/plain");
}

TEST_F(LocalTransportTest, AHandlerWithoutAnAnswerIs500) {
  LocalTransport transport(loop_, [](net::HttpExchange&) -> Task<void> { co_return; }, "");
  const auto response = wait(transport.fetch({}, std::chrono::seconds(1)));
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 500);
}

TEST_F(LocalTransportTest, SlowReaderBlocksTheWriterUpToItsLimit) {
  bool gave_up = false;
  LocalTransport transport(
      loop_,
      [&](net::HttpExchange& exchange) -> Task<void> {
        exchange.start(200, {});
        for (;;) {
          const auto sent =
              co_await exchange.write(net::make_buffer(std::string(10'000, 'x')), std::chrono::seconds(5));
          if (!sent) {
            gave_up = true;
            co_return;
          }
        }
      },
      "");
  const auto stream = wait(transport.open({}, std::chrono::seconds(1)));
  ASSERT_TRUE(stream);
  loop_.run_ready();
  EXPECT_FALSE(gave_up);
  clock_.advance(std::chrono::seconds(6));
  loop_.run_ready();
  EXPECT_TRUE(gave_up);
}

TEST_F(LocalTransportTest, ClosedStreamEndsTheHandler) {
  struct Guard {
    bool& ended;
    ~Guard() { ended = true; }
  };
  bool ended = false;
  LocalTransport transport(
      loop_,
      [&](net::HttpExchange& exchange) -> Task<void> {
        Guard guard{ended};
        exchange.start(200, {});
        co_await loop_.sleep(std::chrono::hours(1));
      },
      "");
  {
    const auto stream = wait(transport.open({}, std::chrono::seconds(1)));
    ASSERT_TRUE(stream);
    EXPECT_FALSE(ended);
  }
  EXPECT_TRUE(ended);
}

TEST_F(LocalTransportTest, LateAnswerIsADeadlineError) {
  LocalTransport transport(
      loop_, [&](net::HttpExchange&) -> Task<void> { co_await loop_.sleep(std::chrono::hours(1)); }, "");
  const auto response = wait(transport.fetch({}, std::chrono::seconds(2)));
  ASSERT_FALSE(response);
  EXPECT_EQ(response.error().kind, ErrorKind::kDeadline);
}

}  // namespace
}  // namespace tidemark::kube::memory
