#include "cli/local/followed_transport.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <utility>

#include "base/testing/clock.h"
#include "net/testing/loop.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

class Answers final : public net::HttpTransport {
 public:
  explicit Answers(std::optional<ErrorKind> error) : error_(error) {}
  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest, base::Duration) override {
    if (error_) co_return fail(*error_, "connection refused");
    co_return net::HttpResponse();
  }
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest, base::Duration) override {
    co_return fail(error_.value_or(ErrorKind::kUnsupported), "no stream");
  }

 private:
  std::optional<ErrorKind> error_;
};

struct FollowedTransportTest : ::testing::Test {
  FollowedTransport followed(ErrorKind first, std::optional<std::optional<ErrorKind>> next) {
    return {std::make_unique<Answers>(first), [this, next]() -> Result<std::unique_ptr<net::HttpTransport>> {
              ++looked;
              if (!next) return fail(ErrorKind::kNotFound, "no kubeconfig");
              return std::make_unique<Answers>(*next);
            }};
  }
  bool answers(FollowedTransport& transport) {
    return net::testing::run_task(loop, clock, transport.fetch({}, 1s)).has_value();
  }
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  int looked = 0;
};

TEST_F(FollowedTransportTest, NextRequestAfterFailureUsesFoundServer) {
  FollowedTransport transport = followed(ErrorKind::kUnavailable, std::optional<ErrorKind>());
  EXPECT_FALSE(answers(transport)) << "none is sent twice";
  EXPECT_TRUE(answers(transport));
  EXPECT_TRUE(answers(transport));
  EXPECT_EQ(looked, 1);
}

TEST_F(FollowedTransportTest, FailedStreamSearchesServerAgain) {
  FollowedTransport transport = followed(ErrorKind::kUnavailable, std::optional<ErrorKind>());
  EXPECT_FALSE(net::testing::run_task(loop, clock, transport.open({}, 1s)));
  EXPECT_TRUE(answers(transport));
}

TEST_F(FollowedTransportTest, KeepsServerIfNoneIsFound) {
  FollowedTransport transport = followed(ErrorKind::kUnavailable, std::nullopt);
  EXPECT_FALSE(answers(transport));
  EXPECT_FALSE(answers(transport));
  EXPECT_EQ(looked, 2);
}

TEST_F(FollowedTransportTest, RefusalKeepsServer) {
  FollowedTransport transport = followed(ErrorKind::kDenied, std::optional<ErrorKind>());
  EXPECT_FALSE(answers(transport));
  EXPECT_EQ(looked, 0);
}

}  // namespace
}  // namespace tidemark::cli
