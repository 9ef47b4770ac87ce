// Who a request is from, in the cluster form: login by a token of the API server, or by an issuer of OpenID Connect
// whose ID tokens the API server accepts; sessions in sealed cookies.
//
// A TokenReview by the console's own account says whose token it is. SelfSubjectAccessReviews with the token say what
// the person may read: without the right to list nodes and pods the console shows nothing, and further kinds are asked
// for where they are shown. All are cached for kReviewLife by the hash of the token, so that a revoked token ends its
// session within that time. Writes go out with the token.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "console/oidc.h"
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

// Something that a person must be allowed to read.
struct ReadAccess {
  std::string_view verb, group, resource;  // group "": core
  std::string ns, name;                    // "": all
};

class Login {
 public:
  static constexpr base::Duration kReviewLife = std::chrono::seconds(60);
  static constexpr base::Duration kRefusalLife = std::chrono::seconds(10);  // of a token that is not valid any more
  static constexpr std::size_t kReviewsKept = 1000;
  static constexpr base::Duration kRefreshLead = std::chrono::minutes(10);  // before the token ends
  static constexpr base::Duration kAskMax = std::chrono::minutes(5);        // until the page asks again
  static constexpr base::Duration kAskMin = std::chrono::seconds(5);
  static constexpr std::size_t kLoginsAMinute = 10;  // of one address
  static constexpr std::size_t kAllLoginsAMinute = 300;
  static constexpr std::size_t kAddressesKept = 1000;

  // `reviewer` makes TokenReviews and is not audited: an audit line would have the token.
  // `oidc`: nullopt: no login by an issuer.
  Login(net::EventLoop& loop, const base::Log& log, kube::Client& reviewer, base::Registry& metrics, net::Sealer sealer,
        ClientsOf clients_of, std::optional<OidcOptions> oidc = std::nullopt);

  net::Task<void> log_in(net::HttpExchange& exchange);   // {"token":…}
  void log_out(net::HttpExchange& exchange);             // ends the session of this browser, and its refresh token
  net::Task<void> session(net::HttpExchange& exchange);  // the user of the session; renews the session and its token

  // Whether a browser opens `path` to log in by the issuer; then the answer is a redirect.
  bool is_of_issuer(std::string_view path) const;
  net::Task<void> log_in_by_issuer(net::HttpExchange& exchange, std::string path);

  // kDenied with code 401: no session, or its token is not valid any more; with code 403: no right to read.
  net::Task<Result<Person>> person(const net::HttpRequest& request);
  // kDenied with code 403: the person may not read it. After person().
  net::Task<Result<void>> check_read(const net::HttpRequest& request, ReadAccess access);

 private:
  struct Reviewed {
    std::string user;
    PersonClients clients;
    base::MonotonicTime at;
    std::map<std::string, bool> may_read{};  // by kind, namespace and name
  };
  struct Entered {
    std::string user, cookie;
  };
  net::Task<Result<Entered>> enter(IssuerTokens tokens, std::string address);
  // Exchanges tokens that end soon. false: the issuer ended the session.
  net::Task<bool> refresh(Session& session);
  net::Task<void> finish_by_issuer(net::HttpExchange& exchange);
  void refuse(std::string_view address, std::string_view why);
  net::Task<Result<Person>> review(std::string token);
  net::Task<Result<std::string>> user_of(std::string token);
  bool may_try(std::string_view address);

  net::EventLoop& loop_;
  base::Log log_;
  kube::Client& reviewer_;
  net::Sealer sealer_;
  ClientsOf clients_of_;
  std::unique_ptr<OidcLogin> oidc_;  // null: none
  base::Counter& logins_;
  base::Counter& refused_;
  std::map<std::string, Reviewed> reviewed_;                                   // by the hash of the token
  std::map<std::string, base::MonotonicTime> not_valid_;                       // the same; when it was refused
  std::map<std::string, std::deque<base::MonotonicTime>, std::less<>> tries_;  // by address; "" is all
};

// For an error of person(): 401 with the id "login", else as respond_error().
void respond_login_error(net::HttpExchange& exchange, const Error& error);

}  // namespace tidemark::console
