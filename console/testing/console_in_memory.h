// A console without its socket, on an API server in memory, with no manager there.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "console/api.h"
#include "console/guard.h"
#include "console/orders.h"
#include "console/settings_api.h"
#include "console/stream.h"
#include "kube/memory/local_transport.h"
#include "operate/testing/orders.h"

namespace tidemark::console::testing {

class ConsoleInMemory : public operate::testing::Orders {
 protected:
  // The parts of a console, without its socket.
  struct Served {
    Served(ConsoleInMemory& test, bool write)
        : view(test.loop, test.client, test.log, metrics, base::Random(3), {}),
          stream(test.loop, metrics, "run", [] { return std::string("{}"); }),
          orders(test.loop, test.log, view, metrics, base::Random(4), {}),
          settings(test.loop, test.log, test.client, base::Random(5), {}),
          api({test.loop,
               test.client,
               view,
               stream,
               orders,
               settings,
               metrics,
               {},
               "a test",
               write ? std::optional(Person{"ann", std::shared_ptr<kube::Client>(&test.client, [](kube::Client*) {})})
                     : std::nullopt}),
          transport(test.loop, [this](net::HttpExchange& exchange) { return api.handle(exchange); }, "browser") {
      view.start();
    }
    base::Registry metrics;
    View view;
    Stream stream;
    console::Orders orders;
    SettingsApi settings;
    Api api;
    kube::memory::LocalTransport transport;
  };

  void serve(bool write = true) {
    served = std::make_unique<Served>(*this, write);
    EXPECT_TRUE(net::testing::run_until(
        loop, clock, [&] { return served->view.known().tasks && served->view.known().settings; },
        std::chrono::seconds(10)));
    net::testing::run_for(loop, clock, std::chrono::seconds(2));
  }
  net::HttpResponse send(net::HttpRequest request) {
    request.headers.set("host", "127.0.0.1:8090");
    auto answer =
        net::testing::run_task(loop, clock, served->transport.fetch(std::move(request), std::chrono::seconds(60)));
    EXPECT_TRUE(answer);
    return answer ? std::move(*answer) : net::HttpResponse{};
  }
  // A write as the page sends it.
  static net::HttpRequest request_of(std::string_view method, std::string_view path, std::string body) {
    net::HttpRequest request;
    request.method = method;
    request.target = path;
    request.body = std::move(body);
    request.headers.set("content-type", "application/json");
    request.headers.set(kWriteHeader, "1");
    return request;
  }
  net::HttpResponse post(std::string body, std::string_view key = "k1", std::string_view path = "/api/v1/orders") {
    auto request = request_of("POST", path, std::move(body));
    if (!key.empty()) request.headers.set("idempotency-key", key);
    return send(std::move(request));
  }
  net::HttpResponse get(std::string_view path) {
    net::HttpRequest request;
    request.target = path;
    return send(std::move(request));
  }
  Json read_api(std::string_view path) {
    const auto answer = get(path);
    EXPECT_EQ(answer.status, 200) << answer.body;
    return Json::parse(answer.body).value_or(Json());
  }
  static Json body_of(const net::HttpResponse& answer) { return Json::parse(answer.body).value_or(Json()); }
  static std::int64_t number(const Json& value, auto... path) {
    const Json* found = value.at(path...);
    return found == nullptr ? -1 : found->get_int().value_or(-1);
  }

  std::unique_ptr<Served> served;
};

}  // namespace tidemark::console::testing
