// The server of a process's records: over TLS, for those whose token is accepted.
#include "journal/past_server.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/text.h"
#include "net/http_client.h"
#include "net/testing/loop.h"

namespace tidemark::journal {
namespace {

class PastServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto made = PastServer::listen(
        loop, log, "127.0.0.1:0", [this](std::string token) { return check(std::move(token)); },
        {{"/past/offer",
          [](const net::Target& target) -> Result<std::string> { return base::cat("offer of ", target.get("node")); }},
         {"/past/none",
          [](const net::Target&) -> Result<std::string> { return fail(ErrorKind::kNotFound, "it begins at 12:00"); }},
         {"/past/much",
          [](const net::Target&) -> Result<std::string> { return std::string(kPastAnswerMax + 1, 'x'); }}});
    ASSERT_TRUE(made) << made.error().message;
    server = *std::move(made);
    net::HttpClientConfig config;
    config.url = *net::parse_url(base::cat("https://", server->address()));
    config.tls.skip_verification = true;  // as the API server's proxy
    client = std::make_unique<net::HttpClient>(loop, nullptr, config);
  }

  net::Task<Result<void>> check(std::string token) {
    checked.push_back(token);
    if (token.starts_with("slow")) co_await loop.sleep(std::chrono::milliseconds(200));
    if (token.empty()) co_return std::unexpected(Error{ErrorKind::kDenied, "a token is needed", 401, 0});
    if (token == "ann") co_return std::unexpected(Error{ErrorKind::kDenied, "ann may not", 403, 0});
    co_return Result<void>();
  }
  net::HttpRequest request(std::string target, std::string_view token) {
    net::HttpRequest out;
    out.target = std::move(target);
    if (!token.empty()) out.headers.set(kPastToken, token);
    return out;
  }
  net::HttpResponse get(std::string target, std::string_view token = "good") {
    return net::testing::run_task(loop, client->fetch(request(std::move(target), token), net::testing::kRealGuard))
        .value();
  }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {.level = base::LogLevel::kError, .write = [](std::string_view) {}}};
  std::vector<std::string> checked;
  std::unique_ptr<PastServer> server;
  std::unique_ptr<net::HttpClient> client;
};

TEST_F(PastServerTest, AnswersAnAcceptedToken) {
  const auto answer = get("/past/offer?node=n%201");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.body, "offer of n 1");
  EXPECT_EQ(checked, std::vector<std::string>{"good"});
}

TEST_F(PastServerTest, RefusesWithTheReasonOfTheCheck) {
  EXPECT_EQ(get("/past/offer", "").status, 401);
  EXPECT_EQ(get("/past/offer", "").body, "a token is needed\n");
  EXPECT_EQ(get("/past/offer", "ann").status, 403);
  EXPECT_EQ(get("/past/offer", "ann").body, "ann may not\n");
  EXPECT_EQ(get("/past/unknown", "ann").status, 403) << "what is there is not told to all";
}

TEST_F(PastServerTest, SaysWhatItDoesNotHave) {
  EXPECT_EQ(get("/past/unknown").status, 404);
  EXPECT_EQ(get("/past/none").status, 404);
  EXPECT_EQ(get("/past/none").body, "it begins at 12:00\n");
}

TEST_F(PastServerTest, OnlyReads) {
  auto write = request("/past/offer", "good");
  write.method = "POST";
  EXPECT_EQ(net::testing::run_task(loop, client->fetch(std::move(write), net::testing::kRealGuard))->status, 405);
  EXPECT_TRUE(checked.empty());
}

TEST_F(PastServerTest, BoundsAnswersAndRequestsAtOnce) {
  const auto much = get("/past/much");
  EXPECT_EQ(much.status, 429);
  EXPECT_TRUE(much.body.contains("ask for less time")) << much.body;

  std::vector<int> statuses;
  net::Scope scope(loop);
  const auto one = [&]() -> net::Task<void> {
    const auto answer = co_await client->fetch(request("/past/offer", "slow"), net::testing::kRealGuard);
    statuses.push_back(answer ? answer->status : 0);
  };
  for (std::size_t i = 0; i < PastServer::kAtOnce + 2; ++i) scope.spawn(one());
  ASSERT_TRUE(net::testing::run_real_until(loop, [&] { return statuses.size() == PastServer::kAtOnce + 2; }));
  EXPECT_EQ(std::ranges::count(statuses, 200), static_cast<std::ptrdiff_t>(PastServer::kAtOnce));
  EXPECT_EQ(std::ranges::count(statuses, 429), 2);
}

}  // namespace
}  // namespace tidemark::journal
