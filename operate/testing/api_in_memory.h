// An API server in memory under simulated time, and a client of it: what the tests of commands run against.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/log.h"
#include "base/random.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "kube/client.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"
#include "operate/testing/failing_transport.h"

namespace tidemark::operate::testing {

class ApiInMemory : public ::testing::Test {
 protected:
  // `ns`: of the settings; it is there.
  explicit ApiInMemory(std::string_view ns = "koordinator-system", bool read_only = false)
      : client(
            loop, between, [] { return std::string(); },
            {.queries_per_second = 10'000, .burst = 10'000, .user_agent = "test", .read_only = read_only},
            base::Random(1)) {
    call("POST", "/api/v1/namespaces", base::cat(R"({"metadata":{"name":")", ns, R"("}})"));
  }

  // As another user than the command, without the failures of `between`. A PATCH is a merge.
  net::HttpResponse ask(std::string_view method, std::string_view target, std::string body = "") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    if (!request.body.empty()) {
      request.headers.set("content-type", method == "PATCH" ? "application/merge-patch+json" : "application/json");
    }
    auto response = net::testing::run_task(loop, clock, transport.fetch(std::move(request), std::chrono::seconds(10)));
    EXPECT_TRUE(response) << method << " " << target;
    return response ? std::move(*response) : net::HttpResponse{};
  }
  // The same where it has to succeed.
  Json call(std::string_view method, std::string_view target, std::string body = "") {
    const auto response = ask(method, target, std::move(body));
    EXPECT_LT(response.status, 300) << method << " " << target << ": " << response.body;
    auto answer = Json::parse(response.body);
    return answer ? std::move(*answer) : Json();
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
  kube::memory::LocalTransport transport{loop, server->handler(), "ann"};
  FailingTransport between{loop, transport};
  kube::Client client;
};

}  // namespace tidemark::operate::testing
