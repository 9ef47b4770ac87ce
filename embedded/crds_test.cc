#include "embedded/crds.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/testing/clock.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"

namespace tidemark::embedded {
namespace {

class CrdsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = kube::memory::Server::open(loop_, log_, {}, nullptr);
    ASSERT_TRUE(opened);
    server_ = std::move(*opened);
    transport_ = std::make_unique<kube::memory::LocalTransport>(
        loop_,
        [this](net::HttpExchange& exchange) {
          ++asked_[exchange.head().method];
          return server_->handler()(exchange);
        },
        "test");
    client_ = std::make_unique<kube::Client>(
        loop_, *transport_, [] { return std::string(); },
        kube::ClientConfig{.queries_per_second = 1e6, .burst = 1000, .user_agent = "test"}, base::Random(1));
  }
  void install() {
    asked_.clear();
    const auto installed = net::testing::run_task(loop_, clock_, install_crds(*client_, log_));
    ASSERT_TRUE(installed) << installed.error().message;
  }
  Json definition(const std::string& name) {
    const auto held = net::testing::run_task(
        loop_, clock_, client_->get(kube::kCustomResourceDefinitions, "", name, std::chrono::seconds(1)));
    return held ? *Json::parse(*held) : Json();
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  base::Log log_{clock_, {.write = [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server_;
  std::unique_ptr<kube::memory::LocalTransport> transport_;
  std::unique_ptr<kube::Client> client_;
  std::map<std::string, std::size_t> asked_;
};

TEST_F(CrdsTest, DoesNotWriteEqualCrd) {
  install();
  EXPECT_EQ(asked_["POST"], crd_manifests().size());
  EXPECT_EQ(asked_["PATCH"], 0u);
  install();
  EXPECT_EQ(asked_["GET"], crd_manifests().size());
  EXPECT_EQ(asked_["POST"] + asked_["PATCH"] + asked_["PUT"], 0u);
}

TEST_F(CrdsTest, UpdatesDifferentCrd) {
  install();
  const std::string name = "nodemetrics.slo.koordinator.sh";
  const Json good = definition(name);
  ASSERT_FALSE(good.is_null());
  for (const char* damage :
       {R"([{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/more","value":{"type":"string"}}])",
        R"([{"op":"remove","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec"}])"}) {
    ASSERT_TRUE(net::testing::run_task(loop_, clock_,
                                       client_->patch(kube::kCustomResourceDefinitions, name, kube::PatchType::kJson,
                                                      damage, {}, std::chrono::seconds(1))))
        << damage;
    ASSERT_NE(*definition(name).at("spec"), *good.at("spec"));
    install();
    EXPECT_EQ(asked_["PATCH"], 1u) << damage;
    EXPECT_EQ(*definition(name).at("spec"), *good.at("spec")) << damage;
  }
}

}  // namespace
}  // namespace tidemark::embedded
