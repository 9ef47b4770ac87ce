#include "gateway/gateway.h"

#include <gtest/gtest.h>

#include "gateway/testing/world.h"
#include "net/http_client.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using testing::World;

class GatewayTest : public ::testing::Test, public World {
 protected:
  Result<std::unique_ptr<Gateway>> make(const std::string& listen) {
    GatewayOptions gateway_options;
    gateway_options.data_dir = folder;
    gateway_options.listen = listen;
    end();  // one process uses the store
    Gateway::Rim rim;
    rim.yarn = rm->cluster();
    return Gateway::make(loop, std::move(rim), log, gateway_metrics_, base::Random(5), gateway_options);
  }
  int status(const std::string& address, const std::string& name, const std::string& value) {
    net::HttpClientConfig config;
    config.url = *net::parse_url(base::cat("http://", address));
    net::HttpClient browser(loop, nullptr, std::move(config));
    net::HttpRequest request;
    request.target = "/healthz";
    request.headers.set(name, value);
    const auto answer = run(browser.fetch(std::move(request), 10s));
    EXPECT_TRUE(answer) << (answer ? "" : answer.error().message);
    return answer ? answer->status : 0;
  }

  base::Registry gateway_metrics_;
};

TEST_F(GatewayTest, ServesOnlyThisMachine) {
  for (const char* listen : {"0.0.0.0:0", "10.0.0.1:8998", "[::]:0"}) {
    const auto refused = make(listen);
    ASSERT_FALSE(refused);
    EXPECT_TRUE(refused.error().message.contains("does not authenticate")) << refused.error().message;
  }
}

TEST_F(GatewayTest, RefusesPagesOfOtherSites) {
  const auto gateway = make("127.0.0.1:0");
  ASSERT_TRUE(gateway) << gateway.error().message;
  const std::string address = (*gateway)->address();
  EXPECT_EQ(status(address, "accept", "*/*"), 200);
  EXPECT_EQ(status(address, "origin", base::cat("http://", address)), 200);
  EXPECT_EQ(status(address, "origin", "https://example.com"), 403);
}

}  // namespace
}  // namespace tidemark::gateway
