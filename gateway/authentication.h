// Who a request is from:
//
//   Authorization: Bearer TOKEN             a token of the access file
//   Authorization: Basic base64(USER:TOKEN) the same; clients of Livy and Kyuubi have fields for user and password
//   Authorization: Negotiate TOKEN          Kerberos (SPNEGO), if the gateway has a keytab
//
// The access file is read again after a change. A file that is wrong is logged, and the last good one stays in force.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "gateway/access.h"
#include "hadoop/gss.h"
#include "kube/config.h"
#include "net/http_server.h"
#include "net/loop.h"

namespace tidemark::gateway {

class Authentication {
 public:
  static constexpr base::Duration kReadInterval = std::chrono::seconds(5);

  // Reads the access file. `acceptor` may be null.
  static Result<std::unique_ptr<Authentication>> open(net::EventLoop& loop, const base::Log& log,
                                                      base::Registry& metrics, kube::Files files, std::string file,
                                                      std::shared_ptr<hadoop::GssAcceptor> acceptor,
                                                      base::Duration read_interval = kReadInterval);

  struct Authenticated {
    Caller caller;
    std::string proof;  // of the gateway, for the header WWW-Authenticate of the answer; "" if there is none
  };
  // kDenied with code 401: it does not say, or the proof is wrong. With 403: a principal without a user.
  net::Task<Result<Authenticated>> authenticate(const net::HttpRequest& request);
  // The values of WWW-Authenticate in an answer 401.
  std::vector<std::string> challenges() const;
  std::shared_ptr<const AccessRules> rules() const { return rules_; }

 private:
  Authentication(net::EventLoop& loop, const base::Log& log, base::Registry& metrics, kube::Files files,
                 std::string file, std::shared_ptr<hadoop::GssAcceptor> acceptor, base::Duration read_interval);
  Result<void> read();
  void read_later();
  net::Task<Result<Authenticated>> check(std::string_view authorization);

  net::EventLoop& loop_;
  base::Log log_;
  kube::Files files_;
  const std::string file_;
  const std::shared_ptr<hadoop::GssAcceptor> acceptor_;
  const base::Duration read_interval_;
  base::Counter& refused_;
  std::shared_ptr<const AccessRules> rules_;
  std::string text_;  // of the file
  net::Timer timer_;
};

// An exchange whose answer carries the proof, which Kerberos clients check.
class AnswerWithProof final : public net::HttpExchange {
 public:
  AnswerWithProof(net::HttpExchange& exchange, std::string proof) : exchange_(exchange), proof_(std::move(proof)) {}

  const net::HttpRequest& head() const override { return exchange_.head(); }
  const net::Peer& peer() const override { return exchange_.peer(); }
  net::Task<Result<std::string>> body(std::size_t bytes_max) override { return exchange_.body(bytes_max); }
  using HttpExchange::respond;
  void respond(int status, net::Headers headers, net::Buffer body) override {
    exchange_.respond(status, with_proof(std::move(headers)), std::move(body));
  }
  void start(int status, net::Headers headers) override { exchange_.start(status, with_proof(std::move(headers))); }
  net::Task<Result<void>> write(net::Buffer piece, base::Duration limit) override {
    return exchange_.write(std::move(piece), limit);
  }
  void end_at_drain() override { exchange_.end_at_drain(); }
  void abort() override { exchange_.abort(); }

 private:
  net::Headers with_proof(net::Headers headers) const {
    if (!proof_.empty()) headers.add("www-authenticate", proof_);
    return headers;
  }

  net::HttpExchange& exchange_;
  const std::string proof_;
};

}  // namespace tidemark::gateway
