// A copilot on a unix socket, as the peer's answers: what it says is what a test puts into it.
#pragma once

#include <gtest/gtest.h>

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/log.h"
#include "base/text.h"
#include "copilot/container.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::agent::testing {

class Copilot {
 public:
  Copilot(net::EventLoop& loop, base::Log log, std::string socket)
      : loop_(loop), log_(std::move(log)), socket_(std::move(socket)) {
    start();
  }

  std::string name = "yarn";
  std::vector<copilot::Container> containers;
  bool fails = false;  // 400 to all but health
  bool hangs = false;
  std::string nonsense;  // beside its containers, as it is
  int lists = 0;         // that were asked for
  // As our own copilot's, where it is not empty: what it says of its limits.
  std::string limits_say;
  std::vector<std::string> permits;  // that it received

  const std::string& socket() const { return socket_; }

  // Valid until the next one runs.
  copilot::Container& run(std::string id, std::string_view parent) {
    copilot::Container& made = containers.emplace_back();
    made.name = made.uid = id;
    made.ns = name;
    made.priority = 1;
    made.group = base::cat(parent, "/", id);
    made.requests.native = made.limits.native = {model::CpuMilli{2000}, model::MemoryBytes{2147483648}};
    return made;
  }

  void start() {
    net::HttpServerConfig config;
    config.listen = base::cat("unix:", socket_);
    auto made = net::HttpServer::listen(loop_, log_, std::move(config),
                                        [this](net::HttpExchange& exchange) { return answer(exchange); });
    ASSERT_TRUE(made) << made.error().message;
    server_ = *std::move(made);
  }
  void stop() { server_.reset(); }

 private:
  net::Task<void> answer(net::HttpExchange& exchange) {
    const std::string target = exchange.head().target;
    if (target == "/v1/containers") ++lists;
    if (hangs) co_await loop_.sleep(std::chrono::hours(1));
    if (fails) {
      exchange.respond(400, "application/json", "{}");
      co_return;
    }
    std::string body;
    base::JsonWriter writer(body);
    if (target == "/information") {
      writer.begin_object().member("name", name).member("version", "v1").end_object();
    } else if (target == "/v1/containers") {
      writer.begin_array();
      for (const auto& each : containers) copilot::write(writer, each);
      if (!nonsense.empty()) writer.raw(nonsense);
      writer.end_array();
    } else if (target == "/tidemark/v1/permit" && !limits_say.empty()) {
      const auto told = co_await exchange.body(1024);
      permits.emplace_back(Json::parse(told.value_or("{}")).value_or(Json()).text_at("permit"));
      writer.begin_object().member("says", limits_say).end_object();
    } else {
      exchange.respond(404, "text/plain", "404 page not found");
      co_return;
    }
    exchange.respond(200, "application/json", std::move(body));
  }

  net::EventLoop& loop_;
  base::Log log_;
  std::string socket_;
  std::unique_ptr<net::HttpServer> server_;
};

}  // namespace tidemark::agent::testing
