// An HTTP transport that gets its credential from a credential plugin: before the first request, after the credential
// expired, and after the server answered 401. Requests that need a credential at the same time share one run.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/limits.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/credential_plugin.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::kube {

// Shortest time from a successful run to the next: a plugin may print a credential that has expired already, and a
// server may refuse each of them.
inline constexpr base::Duration kPluginRunsApart = std::chrono::seconds(5);
// Pauses after failed runs; meanwhile requests get the last error.
inline constexpr base::Duration kPluginPauseInitial = std::chrono::seconds(1);
inline constexpr base::Duration kPluginPauseMax = std::chrono::minutes(1);

class PluginTransport final : public net::HttpTransport {
 public:
  // Makes a transport that uses the credential's client certificate, if it has one. The token is set here.
  using Connect = std::function<std::shared_ptr<net::HttpTransport>(const Credential&)>;

  PluginTransport(net::EventLoop& loop, CredentialPlugin plugin, PluginHost host, Connect connect, base::Random random);

  // The current token, for other servers that accept it; "" before the first request, or without a token.
  std::string token() const;
  // Runs the plugin if there is no valid credential.
  net::Task<Result<Credential>> credential(base::Duration limit);

  // The time that a user needs to answer an interactive plugin is not part of `limit`.
  net::Task<Result<net::HttpResponse>> fetch(net::HttpRequest request, base::Duration limit) override;
  net::Task<Result<std::unique_ptr<net::HttpStream>>> open(net::HttpRequest request, base::Duration limit) override;

 private:
  struct Login {
    Credential credential;
    std::shared_ptr<net::HttpTransport> transport;  // requests keep it beyond the next login
    base::MonotonicTime since;
    bool refused = false;  // the server answered 401
  };
  using LoginPtr = std::shared_ptr<Login>;

  bool is_interactive() const;
  bool is_outdated(const Login& login) const;
  net::Task<Result<LoginPtr>> log_in(base::Duration limit);
  net::Task<Result<LoginPtr>> log_in_until(base::MonotonicTime& deadline);
  net::Task<void> run();
  net::Task<Result<LoginPtr>> log_in_by_plugin();
  bool renew_after_401(const LoginPtr& used);

  net::EventLoop& loop_;
  CredentialPlugin plugin_;
  PluginHost host_;
  Connect connect_;
  LoginPtr login_;  // null before the first success
  std::optional<Error> failure_;
  base::MonotonicTime paused_until_{};
  base::Backoff pauses_;
  bool running_ = false;
  net::Event done_;
  net::Scope scope_;  // last: its task uses the members above
};

}  // namespace tidemark::kube
