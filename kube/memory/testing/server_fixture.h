// The server under a simulated clock, spoken to by its in-process transport. For the tests beside it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/testing/clock.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"

namespace tidemark::kube::memory::testing {

class ServerFixture : public ::testing::Test {
 protected:
  struct Reply {
    int status = 0;
    Json body;
    net::Headers headers;
    std::string text;
    std::string_view message() const { return body.text_at("message"); }
  };

  void start(ServerConfig config = {}) {
    transport_.reset();
    server_.reset();
    auto opened =
        Server::open(loop_, base::Log(clock_, {.write = [](std::string_view) {}}), std::move(config), nullptr);
    ASSERT_TRUE(opened) << opened.error().message;
    server_ = std::move(*opened);
    transport_ = std::make_unique<LocalTransport>(loop_, server_->handler(), "test");
  }
  void SetUp() override { start(); }

  // Runs until the task is done; time moves only where nothing else does.
  template <class T>
  T wait(net::Task<T> task) {
    net::Scope scope(loop_);
    std::optional<T> value;
    scope.spawn([](net::Task<T> inner, std::optional<T>& out) -> net::Task<void> { out.emplace(co_await inner); }(
                                                                  std::move(task), value));
    for (int i = 0; i < 10'000 && !value; ++i) {
      loop_.run_ready();
      if (value) break;
      const auto next = loop_.next_timer();
      if (!next) break;
      clock_.advance(*next - clock_.monotonic());
    }
    EXPECT_TRUE(value.has_value()) << "nothing left to wait for";
    return std::move(*value);
  }

  Reply call(std::string method, std::string target, std::string body = "", std::string type = "application/json",
             std::string accept = "") {
    net::HttpRequest request;
    request.method = std::move(method);
    request.target = std::move(target);
    request.body = std::move(body);
    if (!request.body.empty()) request.headers.set("content-type", type);
    if (!accept.empty()) request.headers.set("accept", accept);
    auto response = wait(transport_->fetch(std::move(request), std::chrono::hours(24)));
    Reply reply;
    if (!response) {
      ADD_FAILURE() << response.error().message;
      return reply;
    }
    reply.status = response->status;
    reply.headers = response->headers;
    reply.text = response->body;
    if (auto parsed = Json::parse(response->body)) reply.body = std::move(*parsed);
    return reply;
  }
  Reply get(std::string target) { return call("GET", std::move(target)); }
  Reply post(std::string target, std::string body) { return call("POST", std::move(target), std::move(body)); }
  Reply merge(std::string target, std::string body) {
    return call("PATCH", std::move(target), std::move(body), "application/merge-patch+json");
  }

  // The next line of a watch, or null when none came.
  Json next_line(net::HttpStream& stream, std::string& buffer) {
    for (;;) {
      if (const std::size_t end = buffer.find('\n'); end != std::string::npos) {
        auto line = Json::parse(std::string_view(buffer).substr(0, end));
        buffer.erase(0, end + 1);
        return line ? std::move(*line) : Json();
      }
      auto piece = wait(stream.read(std::chrono::milliseconds(1)));
      if (!piece || !*piece) return {};
      buffer += **piece;
    }
  }
  std::unique_ptr<net::HttpStream> watch(std::string target) {
    net::HttpRequest request;
    request.target = std::move(target);
    auto stream = wait(transport_->open(std::move(request), std::chrono::seconds(10)));
    EXPECT_TRUE(stream) << (stream ? "" : stream.error().message);
    return stream ? std::move(*stream) : nullptr;
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  std::unique_ptr<Server> server_;
  std::unique_ptr<LocalTransport> transport_;
};

}  // namespace tidemark::kube::memory::testing
