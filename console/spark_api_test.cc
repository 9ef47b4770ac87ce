#include "console/spark_api.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "kube/memory/local_transport.h"
#include "net/testing/loop.h"

namespace tidemark::console {
namespace {

class SparkApiTest : public ::testing::Test {
 protected:
  // What the page gets; `header`: the token that it gives.
  Json ask(const std::string& query, const std::string& header, bool with_gateway = true) {
    kube::memory::LocalTransport gateway(loop_, [this](net::HttpExchange& exchange) { return answer(exchange); }, "");
    SparkGateway to;
    if (with_gateway) to.transport = &gateway;
    if (!own_token_.empty()) to.token = [this] { return own_token_; };
    kube::memory::LocalTransport page(
        loop_,
        [&](net::HttpExchange& exchange) {
          return show_spark_runs(exchange, *net::parse_target(exchange.head().target), to, Price{30'000, "EUR"});
        },
        "");
    net::HttpRequest request;
    request.target = "/api/v1/spark" + query;
    if (!header.empty()) request.headers.add(kGatewayTokenHeader, header);
    const auto response = net::testing::run_task(loop_, page.fetch(std::move(request), std::chrono::seconds(10)));
    EXPECT_TRUE(response);
    status_ = response ? response->status : 0;
    return response ? *Json::parse(response->body) : Json();
  }

  net::Task<void> answer(net::HttpExchange& exchange) {
    asked_ = exchange.head().target;
    const bool known = exchange.head().headers.get("authorization") == "Bearer ann's";
    if (!known) {
      exchange.respond(401, "application/json", R"({"msg":"unknown token"})");
    } else {
      exchange.respond(200, "application/json", answer_);
    }
    co_return;
  }

  base::SystemClock clock_;
  net::EventLoop loop_{clock_};
  std::string own_token_, asked_, answer_ = R"({"from":0,"total":1,"runs":[{"id":7}]})";
  int status_ = 0;
};

TEST_F(SparkApiTest, GatewayAnswersByThePersonsOwnToken) {
  EXPECT_EQ(ask("", "ann's").text_at("price", "currency"), "EUR");
  EXPECT_EQ(ask("?size=5&from=2", "ann's").at("total")->as_int(), 1);
  EXPECT_EQ(asked_, "/tidemark/v1/runs?from=2&size=5");
  own_token_ = "ann's";
  EXPECT_EQ(ask("", "").at("total")->as_int(), 1);
  EXPECT_TRUE(ask("", "eve's").at("needsToken")->as_bool()) << "the token of the request decides";
}

TEST_F(SparkApiTest, RunsAreUnknownWithoutAnAnswer) {
  EXPECT_TRUE(ask("", "").at("needsToken")->as_bool());
  const Json none = ask("", "", false);
  EXPECT_FALSE(none.at("needsToken")->as_bool());
  EXPECT_TRUE(none.text_at("unknown").contains("--gateway"));
  answer_ = "<html>";
  EXPECT_TRUE(ask("", "ann's").text_at("unknown").contains("no list of runs"));
  EXPECT_EQ(status_, 200);
}

TEST_F(SparkApiTest, WrongNumberIsRefusedByItsField) {
  EXPECT_EQ(ask("?size=1001", "").text_at("field"), "size");
  EXPECT_EQ(status_, 400);
  EXPECT_EQ(ask("?from=x", "").text_at("field"), "from");
}

}  // namespace
}  // namespace tidemark::console
