// Login by an issuer of OpenID Connect: authorization code with PKCE (RFC 7636). The outcome is an ID token, which the
// caller presents to the API server: the API server must trust the same issuer.
//
// With a refresh token the issuer gives further ID tokens, so that a session outlives its first one.
//
// State, nonce and verifier of a login are in a sealed cookie of the browser that began it, so any replica can finish
// it, and a link with the code of another person is refused.
#pragma once

#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "console/id_token.h"
#include "net/http.h"
#include "net/http_client.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "net/seal.h"

namespace tidemark::console {

// A transport to one origin: scheme, host and port of the URL.
using TransportOf = std::function<std::unique_ptr<net::HttpTransport>(const net::Url& origin)>;

struct OidcOptions {
  std::string issuer;  // as its tokens name it: "https://accounts.example.com"
  std::string client_id;
  std::string client_secret;  // "": a public client
  std::vector<std::string> scopes = {"openid", "email", "profile"};
  TransportOf transport_of;
};

// `id` is for the page, `detail` for the log.
struct OidcFailure {
  // "state": begin again; "issuer": it refused or did not answer; "token": its token is not good; "ended": it does not
  // accept the refresh token
  std::string_view id;
  std::string detail;
};

struct IssuerTokens {
  std::string id_token;
  std::string refresh_token;  // "": the issuer gave none
};

class OidcLogin {
 public:
  static constexpr base::Duration kLoginMax = std::chrono::minutes(10);       // from begin to finish
  static constexpr base::Duration kDocumentLife = std::chrono::hours(1);      // of discovery and keys
  static constexpr base::Duration kKeysAgain = std::chrono::minutes(1);       // at the earliest, for an unknown key
  static constexpr base::Duration kDiscoveryAgain = std::chrono::seconds(5);  // after a failure
  static constexpr base::Duration kRefreshKept = std::chrono::seconds(10);
  static constexpr std::size_t kRefreshesKept = 1000;
  static constexpr std::string_view kCookie = "__Host-tidemark-login";
  static constexpr std::string_view kBeginPath = "/login/oidc";
  static constexpr std::string_view kCallbackPath = "/login/callback";

  OidcLogin(net::EventLoop& loop, net::Sealer sealer, OidcOptions options);

  std::string_view issuer() const { return options_.issuer; }

  // Where to send the browser, and the cookie that it gets. `host`: of the request, a name of the console.
  struct Beginning {
    std::string location, cookie;
  };
  net::Task<std::expected<Beginning, OidcFailure>> begin(std::string host);
  // `request` is that of kCallbackPath.
  net::Task<std::expected<IssuerTokens, OidcFailure>> finish(const net::HttpRequest& request);
  // A new ID token for the person of `subject`. An issuer may accept a refresh token once only, so pages of one browser
  // that come at the same time get one answer, which is kept for kRefreshKept.
  net::Task<std::expected<IssuerTokens, OidcFailure>> refresh(std::string refresh_token, std::string subject);
  // Lets the issuer end a refresh token (RFC 7009), if it can. Returns at once: a person who logs out does not wait for
  // the issuer, and a browser that leaves does not cancel it. `done` gets the error, or none.
  void revoke(std::string refresh_token, std::function<void(const Result<void>&)> done);
  static std::string ended_cookie();

 private:
  template <class Value>
  struct Kept {
    Value value;
    base::MonotonicTime at;
  };
  net::Task<Result<Discovery>> discovery();
  net::Task<Result<std::vector<SigningKey>>> keys(base::Duration life);
  struct Refresh {
    explicit Refresh(net::EventLoop& loop) : done(loop) {}
    net::Event done;
    std::optional<std::expected<IssuerTokens, OidcFailure>> outcome;
    base::MonotonicTime at;
  };
  net::Task<void> run_refresh(std::shared_ptr<Refresh> refresh, std::string refresh_token, std::string subject);
  net::Task<std::expected<IssuerTokens, OidcFailure>> refresh_once(std::string refresh_token, std::string subject);
  net::Task<Result<IssuerTokens>> tokens_for(std::string grant);
  net::Task<Result<void>> revoke_once(std::string refresh_token);
  net::Task<void> run_revoke(std::string refresh_token, std::function<void(const Result<void>&)> done);
  // A POST with this body and what proves that it comes from the client.
  net::HttpRequest of_client(const Discovery& document, std::string body) const;
  // For a key that is not known the keys are read again.
  net::Task<std::expected<void, OidcFailure>> check(std::string token, std::optional<std::string> nonce,
                                                    std::string subject);
  net::Task<Result<std::string>> fetch(std::string url, net::HttpRequest request);

  net::EventLoop& loop_;
  net::Sealer sealer_;
  OidcOptions options_;
  std::optional<Kept<Discovery>> discovery_;
  std::optional<Kept<Error>> no_discovery_;  // the last failure
  std::optional<Kept<std::vector<SigningKey>>> keys_;
  std::map<std::string, std::shared_ptr<Refresh>> refreshes_;              // by the hash of the refresh token
  std::map<std::string, std::unique_ptr<net::HttpTransport>> transports_;  // by origin
  net::Scope scope_;  // the last: what runs in it uses all the others
};

}  // namespace tidemark::console
