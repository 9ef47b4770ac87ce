// Serves the records of this process to the console, over HTTPS and read-only. The console asks through the API
// server's proxy of pods, which verifies no certificate of a pod, so the certificate is self-signed. The bearer of the
// token in the header decides, not the network: `check` says whether it may read.
//
// Until the first question it is a listening socket, without certificate and thread. A worker makes the answers, one
// at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/result.h"
#include "net/http.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/task.h"
#include "net/worker.h"

namespace tidemark::journal {

inline constexpr std::string_view kPastToken = "tidemark-token";     // the header; the API server keeps `Authorization`
inline constexpr std::string_view kPastAudience = "tidemark-past";   // of the token
inline constexpr std::string_view kPastRight = "/tidemark/past";     // the nonResourceURL that its user may `get`
inline constexpr std::string_view kPastPort = "past";                // name of the container port
inline constexpr std::size_t kPastAnswerMax = std::size_t{8} << 20;  // bytes

// Called by a worker: it may wait for the disk, and owns what it uses.
using PastAnswer = std::function<Result<std::string>(const net::Target& target)>;
using PastAnswers = std::map<std::string, PastAnswer, std::less<>>;  // by path
using CheckToken = std::function<net::Task<Result<void>>(std::string token)>;

class PastServer {
 public:
  static constexpr std::size_t kAtOnce = 4;  // requests; one of them is answered

  static Result<std::unique_ptr<PastServer>> listen(net::EventLoop& loop, const base::Log& log,
                                                    const std::string& address, CheckToken check, PastAnswers answers);
  std::string address() const { return server_->address(); }

 private:
  PastServer(net::EventLoop& loop, CheckToken check, PastAnswers answers);
  net::Task<void> handle(net::HttpExchange& exchange);
  net::Task<Result<std::string>> answer(const net::HttpRequest& request);

  net::EventLoop& loop_;
  CheckToken check_;
  PastAnswers answers_;
  std::size_t requests_ = 0;
  std::unique_ptr<net::WorkerPool> worker_;  // null: before the first question
  std::unique_ptr<net::HttpServer> server_;  // last: its requests use the above
};

}  // namespace tidemark::journal
