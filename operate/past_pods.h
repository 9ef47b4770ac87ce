// Asks managers and agents of a cluster for what they recorded (journal/past_server.h): through the API server's proxy
// of pods, so it works wherever the API server can be reached, and needs the right to `get` pods/proxy in the
// namespace. The bearer of the caller goes to the API server only; the pods get a token that is good for this alone.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/task.h"

namespace tidemark::operate {

struct PastPodsOptions {
  std::string ns;                        // of the pods
  std::string account;                   // the ServiceAccount there that a token is requested for
  std::function<std::string()> token{};  // in place of that: the token; "": none
};

struct PodAnswer {
  std::string pod;
  Result<std::string> body;
};

class PastPods {
 public:
  static constexpr base::Duration kAnswerLimit = std::chrono::seconds(10);
  static constexpr base::Duration kTokenLife = std::chrono::minutes(10);  // the shortest that the API server gives
  static constexpr base::Duration kTokenUsed = std::chrono::minutes(5);

  // `transport` and `bearer` lead to the API server; `client`, to the same one, may write and is not audited: an audit
  // line would have the token.
  PastPods(net::EventLoop& loop, net::HttpTransport& transport, std::function<std::string()> bearer,
           kube::Client& client, PastPodsOptions options);

  // `what`: path and query, "/past/offer?node=n1&at=1700000000". All managers that run; an error if there is none, or
  // they cannot be found.
  net::Task<Result<std::vector<PodAnswer>>> ask_managers(std::string what);
  net::Task<Result<std::string>> ask_agent(std::string node, std::string what);

 private:
  struct Pod {
    std::string name;
    int port = 0;  // 0: it serves nothing
  };
  net::Task<Result<std::vector<Pod>>> pods(std::string component, std::string node);
  net::Task<Result<std::string>> token();
  net::Task<Result<std::string>> ask(Pod pod, std::string what);

  net::EventLoop& loop_;
  net::HttpTransport& transport_;
  std::function<std::string()> bearer_;
  kube::Client& client_;
  PastPodsOptions options_;
  std::string token_;
  base::MonotonicTime token_made_;
};

}  // namespace tidemark::operate
