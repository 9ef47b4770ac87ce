// Who a request is from, in the cluster form: login by a token of the API server, sessions in sealed cookies.
//
// A TokenReview by the console's own account says whose token it is. The person's own SelfSubjectAccessReview says
// whether the person may list nodes and pods: only then the console shows its data. Both are cached for kReviewLife by
// the hash of the token, so that a revoked token ends its session within that time. Writes go out with the token.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "console/orders.h"
#include "console/session.h"
#include "kube/client.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/seal.h"

namespace tidemark::console {

// Clients with the token of a person.
struct PersonClients {
  std::shared_ptr<kube::Client> asks;  // for access reviews; not audited
  std::shared_ptr<kube::Client> writes;
};
using ClientsOf = std::function<PersonClients(std::string token, const std::string& user)>;

class Login {
 public:
  static constexpr base::Duration kReviewLife = std::chrono::seconds(60);
  static constexpr std::size_t kReviewsKept = 1000;
  static constexpr std::size_t kLoginsAMinute = 10;  // of one address
  static constexpr std::size_t kAllLoginsAMinute = 300;
  static constexpr std::size_t kAddressesKept = 1000;

  // `reviewer` makes TokenReviews and is not audited: an audit line would have the token.
  Login(net::EventLoop& loop, const base::Log& log, kube::Client& reviewer, base::Registry& metrics, net::Sealer sealer,
        ClientsOf clients_of);

  net::Task<void> log_in(net::HttpExchange& exchange);   // {"token":…}
  void log_out(net::HttpExchange& exchange);             // ends the session of this browser
  net::Task<void> session(net::HttpExchange& exchange);  // the user of the session; renews the session

  // kDenied with code 401: no session, or its token is not valid any more; with code 403: no right to read.
  net::Task<Result<Person>> person(const net::HttpRequest& request);

 private:
  struct Reviewed {
    std::string user;
    PersonClients clients;
    base::MonotonicTime at;
  };
  net::Task<Result<Person>> review(std::string token);
  net::Task<Result<std::string>> user_of(std::string token);
  bool may_try(std::string_view address);

  net::EventLoop& loop_;
  base::Log log_;
  kube::Client& reviewer_;
  net::Sealer sealer_;
  ClientsOf clients_of_;
  base::Counter& logins_;
  base::Counter& refused_;
  std::map<std::string, Reviewed> reviewed_;                                   // by the hash of the token
  std::map<std::string, std::deque<base::MonotonicTime>, std::less<>> tries_;  // by address; "" is all
};

// For an error of person(): 401 with the id "login", else as respond_error().
void respond_login_error(net::HttpExchange& exchange, const Error& error);

}  // namespace tidemark::console
