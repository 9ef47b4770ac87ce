// A generator and a server of two lines on one loop, whose clock is moved by hand: sockets are real, time is not.
#include "demo/open_load.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/testing/clock.h"
#include "net/connection.h"
#include "net/http1_codec.h"
#include "net/testing/loop.h"

namespace tidemark::demo {
namespace {

using base::Duration;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Answers what is asked, or holds it back while `stalled`.
class Server {
 public:
  Server(net::EventLoop& loop, const base::Log& log) {
    auto made = net::listen_on(loop, log, "127.0.0.1:0",
                               [this](std::unique_ptr<net::Connection> connection) { take(std::move(connection)); },
                               {.tls = nullptr, .handshake_limit = seconds(1), .connections_max = 1000});
    EXPECT_TRUE(made) << made.error().message;
    listener_ = std::move(*made);
  }

  net::Url url() const { return {"http", "127.0.0.1", listener_->port(), "/page"}; }
  void stall() { stalled_ = true; }
  void go_on() {
    stalled_ = false;
    for (const auto& client : clients_) answer(*client);
  }
  void cut_all() { clients_.clear(); }
  void deny() { status_ = "503 Service Unavailable"; }
  std::size_t clients() const { return clients_.size(); }

 private:
  struct Client {
    std::unique_ptr<net::Connection> connection;
    net::Http1Reader reader{net::Http1Reader::Kind::kRequests, net::HttpLimits()};
    int owed = 0;
  };

  void take(std::unique_ptr<net::Connection> connection) {
    auto client = std::make_unique<Client>();
    client->connection = std::move(connection);
    client->connection->set_callbacks({.on_data =
                                           [this, mine = client.get()](std::string_view bytes) {
                                             using Step = net::Http1Reader::Step;
                                             for (auto step = mine->reader.next(bytes); step != Step::kNeedMore;
                                                  step = mine->reader.next(bytes)) {
                                               if (step == Step::kEnd) ++mine->owed;
                                             }
                                             if (!stalled_) answer(*mine);
                                             return true;
                                           },
                                       .on_drained = [] {},
                                       .on_end = [](const std::optional<Error>&) {}});
    clients_.push_back(std::move(client));
  }

  void answer(Client& client) {
    for (; client.owed > 0; --client.owed) {
      client.connection->write(
          std::string_view("HTTP/1.1 " + status_ + "\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"));
    }
  }

  std::unique_ptr<net::Listener> listener_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::string status_ = "200 OK";
  bool stalled_ = false;
};

class OpenLoadTest : public testing::Test {
 protected:
  LoadOptions options() {
    return {.url = server_.url(),
            .rate = 1000,
            .length = seconds(4),
            .warm_up = seconds(1),
            .patience = seconds(2),
            .connections = 4,
            .seed = 3};
  }
  // Steps of a millisecond: what the sockets carry arrives within one.
  void run_for(Duration time) {
    for (Duration passed{0}; passed < time; passed += milliseconds(1))
      net::testing::run_for(loop_, clock_, milliseconds(1));
  }
  void start(LoadOptions options) {
    load_ = std::make_unique<OpenLoad>(loop_, std::move(options), [this](int second, const LoadCounts& counts) {
      EXPECT_EQ(second, static_cast<int>(seconds_.size()));
      seconds_.push_back(counts);
    });
    scope_.spawn([](OpenLoadTest& self) -> net::Task<void> { self.all_ = co_await self.load_->run(); }(*this));
    EXPECT_TRUE(net::testing::run_real_until(loop_, [&] { return all_ || server_.clients() == 4; }));
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  Server server_{loop_, base::Log(clock_, {})};
  std::vector<LoadCounts> seconds_;
  std::optional<Result<LoadCounts>> all_;
  std::unique_ptr<OpenLoad> load_;
  net::Scope scope_{loop_};
};

TEST_F(OpenLoadTest, AsksAtItsRateAndCountsAnswers) {
  start(options());
  const base::MonotonicTime begun = clock_.monotonic();
  run_for(seconds(6));
  ASSERT_TRUE(all_ && *all_);
  const LoadCounts& all = **all_;
  EXPECT_GE(load_->counts_from() - begun, seconds(1)) << "the warm-up";
  EXPECT_LE(load_->counts_from() - begun, seconds(1) + milliseconds(10));
  EXPECT_NEAR(static_cast<double>(all.answers), 4000, 250);  // four deviations of Poisson
  EXPECT_EQ(all.failures + all.unanswered, 0U);
  EXPECT_EQ(all.latencies.count(), all.answers);
  EXPECT_LE(all.latencies.percentile(1), milliseconds(2));
  ASSERT_EQ(seconds_.size(), 4U);
  std::uint64_t together = 0;
  for (const LoadCounts& second : seconds_) together += second.answers;
  EXPECT_EQ(together, all.answers);
}

TEST_F(OpenLoadTest, CountsDelayedRequestsFromTheirDueTime) {
  start(options());
  run_for(seconds(2));
  server_.stall();
  run_for(milliseconds(500));
  server_.go_on();
  run_for(seconds(4));
  ASSERT_TRUE(all_ && *all_);
  // Four connections: a generator that waits for answers would have seen four slow requests, and this one about 500,
  // evenly from 0 to 500 ms. 500 of 4000: the slowest 12.5 %.
  const Latencies& latencies = (*all_)->latencies;
  EXPECT_EQ((*all_)->answers, latencies.count());
  EXPECT_LE(latencies.percentile(0.80), milliseconds(5));
  EXPECT_NEAR(static_cast<double>(latencies.percentile(0.9375).count()), 250e6, 60e6);
  EXPECT_NEAR(static_cast<double>(latencies.percentile(1).count()), 500e6, 20e6);
  EXPECT_GE((*all_)->late.percentile(0.95), milliseconds(100));  // they waited for a connection
}

TEST_F(OpenLoadTest, CountsUnansweredRequestsWithTheirWaitingTime) {
  start(options());
  run_for(seconds(4));
  server_.stall();
  run_for(seconds(4));
  ASSERT_TRUE(all_ && *all_);
  EXPECT_NEAR(static_cast<double>((*all_)->unanswered), 1000, 130);
  EXPECT_EQ((*all_)->latencies.count(), (*all_)->answers + (*all_)->unanswered);
  EXPECT_GE((*all_)->latencies.percentile(1), seconds(2));
  EXPECT_EQ(seconds_.size(), 4U);
}

TEST_F(OpenLoadTest, ACutConnectionIsAFailureAndIsMadeAgain) {
  start(options());
  run_for(seconds(2));
  server_.stall();
  run_for(milliseconds(10));
  server_.cut_all();
  server_.go_on();
  EXPECT_TRUE(net::testing::run_real_until(loop_, [&] { return server_.clients() == 4; }));
  run_for(seconds(5));
  ASSERT_TRUE(all_ && *all_);
  EXPECT_EQ((*all_)->failures, 4U);
  EXPECT_EQ((*all_)->unanswered, 0U);
  EXPECT_NEAR(static_cast<double>((*all_)->answers), 4000, 250);
}

TEST_F(OpenLoadTest, AnotherStatusIsAFailure) {
  server_.deny();
  start(options());
  run_for(seconds(6));
  ASSERT_TRUE(all_ && *all_);
  EXPECT_EQ((*all_)->answers, 0U);
  EXPECT_NEAR(static_cast<double>((*all_)->failures), 4000, 250);
}

TEST_F(OpenLoadTest, TheSameSeedAsksAtTheSameTimes) {
  start(options());
  run_for(seconds(6));
  const std::uint64_t first = (**all_).answers;
  all_.reset();
  seconds_.clear();
  load_.reset();
  server_.cut_all();
  start(options());
  run_for(seconds(6));
  EXPECT_EQ((**all_).answers, first);
}

TEST_F(OpenLoadTest, ReportsAMissingServer) {
  LoadOptions nobody = options();
  nobody.url.port = 1;
  start(nobody);
  ASSERT_TRUE(all_ && !*all_);
  EXPECT_NE((*all_).error().message.find("127.0.0.1:1"), std::string::npos) << (*all_).error().message;
}

}  // namespace
}  // namespace tidemark::demo
