// A client and a transport whose answers are written down, for tests of what goes over the wire and of what happens
// when it goes wrong. That a real server agrees is the contract suite's business.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/clock.h"
#include "kube/client.h"
#include "net/testing/loop.h"

namespace tidemark::kube::testing {

using namespace std::chrono_literals;

struct Answer {
  int status = 200;
  std::string body = "{}";
  std::string retry_after{};
  base::Duration delay{0};
  std::optional<Error> error{};  // instead of an answer
  // For streams: pieces, then the end; `hangs`: then silence.
  std::vector<std::string> pieces{};
  bool hangs = false;
  bool unsent = false;  // the transport says that nothing of it left
};

struct Sent {
  net::HttpRequest request;
  base::MonotonicTime at;
};

inline WriteOptions in(std::string_view ns) {
  WriteOptions options;
  options.ns = ns;
  return options;
}

inline const Answer kExpired{.status = 410,
                             .body = R"({"kind":"Status","code":410,"reason":"Expired","message":"too old"})"};

class ScriptedTransport final : public net::HttpTransport {
 public:
  explicit ScriptedTransport(net::EventLoop& loop) : loop_(loop) {}

  std::deque<Answer> answers;  // the last one is repeated
  std::vector<Sent> sent;

  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override {
    bool* const unsent = request.unsent;
    const Answer answer = take(std::move(request));
    if (unsent != nullptr) *unsent = answer.unsent;
    if (answer.delay > limit) {
      co_await loop_.sleep(limit);
      co_return base::fail(ErrorKind::kDeadline, "no answer in time");
    }
    if (answer.delay > 0s) co_await loop_.sleep(answer.delay);
    if (answer.error) co_return base::fail(*answer.error);
    co_return net::HttpResponse{answer.status, headers(answer), answer.body};
  }

  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration) override {
    const Answer answer = take(std::move(request));
    if (answer.error) co_return base::fail(*answer.error);
    co_return std::make_unique<Stream>(loop_, answer);
  }

 private:
  class Stream final : public net::HttpStream {
   public:
    Stream(net::EventLoop& loop, Answer answer) : loop_(loop), answer_(std::move(answer)) {
      head_ = {answer_.status, headers(answer_)};
      if (answer_.pieces.empty() && answer_.status >= 300) answer_.pieces.push_back(answer_.body);
    }
    const net::HttpResponseHead& head() const override { return head_; }
    net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override {
      if (next_ < answer_.pieces.size()) co_return std::optional(answer_.pieces[next_++]);
      if (!answer_.hangs) co_return std::nullopt;
      co_await loop_.sleep(limit);
      co_return base::fail(ErrorKind::kDeadline, "nothing to read in time");
    }

   private:
    net::EventLoop& loop_;
    Answer answer_;
    net::HttpResponseHead head_;
    std::size_t next_ = 0;
  };

  static net::Headers headers(const Answer& answer) {
    net::Headers made;
    if (!answer.retry_after.empty()) made.add("retry-after", answer.retry_after);
    return made;
  }

  Answer take(net::HttpRequest request) {
    sent.push_back({std::move(request), loop_.clock().monotonic()});
    TM_CHECK(!answers.empty(), "the script has no answer");
    Answer answer = answers.front();
    if (answers.size() > 1) answers.pop_front();
    return answer;
  }

  net::EventLoop& loop_;
};

class ClientTest : public ::testing::Test {
 protected:
  ClientTest() { make({}); }
  void make(ClientConfig config) {
    client = std::make_unique<Client>(loop, transport, [this] { return token; }, std::move(config), base::Random(1));
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop, clock, std::move(task));
  }
  const net::HttpRequest& request(std::size_t i = 0) { return transport.sent.at(i).request; }
  base::Duration between(std::size_t a, std::size_t b) { return transport.sent.at(b).at - transport.sent.at(a).at; }
  Result<std::string> get(base::Duration limit = 30s) { return run(client->get(kPods, "default", "a", limit)); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  ScriptedTransport transport{loop};
  std::string token;
  std::unique_ptr<Client> client;
};

}  // namespace tidemark::kube::testing
