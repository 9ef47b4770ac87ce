// A server with a handler and a client toward it, on loopback, for tests of both.
#pragma once

#include <stdlib.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "base/log.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/testing/certificates.h"
#include "net/testing/loop.h"

namespace tidemark::net::testing {

enum class Wire { kClear, kUnix, kHttp2 };

inline HttpRequest get_request(std::string target) {
  HttpRequest request;
  request.target = std::move(target);
  return request;
}
inline HttpRequest post_request(std::string target, std::string body) {
  HttpRequest request;
  request.method = "POST";
  request.target = std::move(target);
  request.body = std::move(body);
  return request;
}

class HttpPair {
 public:
  static constexpr base::Duration kLimit = std::chrono::seconds(30);

  explicit HttpPair(Wire wire) : wire_(wire), authority(clock.wall()) {
    char made[] = "/tmp/tidemark-http-XXXXXX";
    folder_ = mkdtemp(made);
    server_config.listen = wire == Wire::kUnix ? "unix:" + folder_ + "/s" : "127.0.0.1:0";
    if (wire == Wire::kHttp2) {
      server_config.tls = authority.server_config();
      client_config.tls = authority.client_config();
    }
  }
  ~HttpPair() {
    client.reset();
    server.reset();
    rmdir(folder_.c_str());
  }
  HttpPair(const HttpPair&) = delete;
  HttpPair& operator=(const HttpPair&) = delete;

  // After the configs were changed as the test needs.
  void begin(HttpHandler handler) {
    client.reset();
    server.reset();
    auto made = HttpServer::listen(loop, log, server_config, std::move(handler));
    if (!made) throw std::runtime_error(made.error().message);
    server = std::move(*made);
    client_config.url.scheme = wire_ == Wire::kHttp2 ? "https" : wire_ == Wire::kUnix ? "unix" : "http";
    client_config.url.host = wire_ == Wire::kUnix ? folder_ + "/s" : "127.0.0.1";
    client_config.url.port = server->port();
    client = std::make_unique<HttpClient>(loop, nullptr, client_config);
  }

  Result<HttpResponse> fetch(HttpRequest request, base::Duration limit = kLimit) {
    return run_task(loop, client->fetch(std::move(request), limit));
  }
  Result<std::unique_ptr<HttpStream>> open(HttpRequest request, base::Duration limit = kLimit) {
    return run_task(loop, client->open(std::move(request), limit));
  }
  Result<std::optional<std::string>> read(HttpStream& stream, base::Duration limit = kLimit) {
    return run_task(loop, stream.read(limit));
  }
  // At least `bytes` of a stream.
  std::string read_some(HttpStream& stream, std::size_t bytes) {
    std::string got;
    while (got.size() < bytes) {
      auto piece = read(stream);
      if (!piece || !*piece) break;
      got += **piece;
    }
    return got;
  }
  template <class Condition>
  bool until(Condition&& condition) {
    return run_real_until(loop, std::forward<Condition>(condition));
  }

 private:
  Wire wire_;
  std::string folder_;

 public:
  base::SystemClock clock;
  EventLoop loop{clock};
  std::string lines;  // of the log
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
  TestAuthority authority;
  HttpServerConfig server_config;
  HttpClientConfig client_config;
  std::unique_ptr<HttpServer> server;
  std::unique_ptr<HttpClient> client;
};

}  // namespace tidemark::net::testing
