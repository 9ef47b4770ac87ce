#include "kube/plugin_transport.h"

#include <utility>

#include "base/text.h"

namespace tidemark::kube {
namespace {

constexpr int kUnauthorized = 401;

// Keeps the transport as long as the stream.
class KeptStream final : public net::HttpStream {
 public:
  KeptStream(std::shared_ptr<net::HttpTransport> transport, std::unique_ptr<net::HttpStream> stream)
      : transport_(std::move(transport)), stream_(std::move(stream)) {}
  const net::HttpResponseHead& head() const override { return stream_->head(); }
  net::Task<Result<std::optional<std::string>>> read(base::Duration limit) override { return stream_->read(limit); }

 private:
  std::shared_ptr<net::HttpTransport> transport_;
  std::unique_ptr<net::HttpStream> stream_;
};

net::HttpRequest authorized(net::HttpRequest request, const Credential& credential) {
  if (!credential.token.empty()) request.headers.set("authorization", "Bearer " + credential.token);
  return request;
}

int status_of(const net::HttpResponse& response) {
  return response.status;
}
int status_of(const std::unique_ptr<net::HttpStream>& stream) {
  return stream->head().status;
}

}  // namespace

PluginTransport::PluginTransport(net::EventLoop& loop, CredentialPlugin plugin, PluginHost host, Connect connect,
                                 base::Random random)
    : loop_(loop),
      plugin_(std::move(plugin)),
      host_(std::move(host)),
      connect_(std::move(connect)),
      pauses_({.initial = kPluginPauseInitial, .max = kPluginPauseMax}, random),
      done_(loop),
      scope_(loop) {}

std::string PluginTransport::token() const {
  return login_ == nullptr ? std::string() : login_->credential.token;
}

bool PluginTransport::is_interactive() const {
  return host_.terminal && plugin_.interactive != InteractiveMode::kNever;
}

bool PluginTransport::is_outdated(const Login& login) const {
  if (loop_.clock().monotonic() - login.since < kPluginRunsApart) return false;
  return login.refused || (login.credential.expires && loop_.clock().wall() >= *login.credential.expires);
}

net::Task<Result<PluginTransport::LoginPtr>> PluginTransport::log_in_by_plugin() {
  TM_CO_TRY(PluginCommand command, plugin_command(plugin_, host_.terminal));
  const base::Duration limit = command.interactive ? kInteractivePluginLimit : kPluginLimit;
  TM_CO_TRY(const PluginEnd end, co_await host_.run(std::move(command), limit));
  auto login = std::make_shared<Login>();
  TM_CO_TRY(login->credential, read_credential(plugin_, end));
  for (const char c : login->credential.token) {
    if (c <= ' ' || c > '~') co_return fail(ErrorKind::kInvalid, "the token has a character that no token has");
  }
  login->transport = connect_(login->credential);
  login->since = loop_.clock().monotonic();
  co_return login;
}

net::Task<void> PluginTransport::run() {
  auto login = co_await log_in_by_plugin();
  if (login) {
    login_ = std::move(*login);
    failure_.reset();
    pauses_.reset();
  } else {
    failure_ = plugin_failed(plugin_, login.error());
    paused_until_ = loop_.clock().monotonic() + pauses_.next();
  }
  running_ = false;
  done_.set();
}

net::Task<Result<PluginTransport::LoginPtr>> PluginTransport::log_in(base::Duration limit) {
  if (login_ != nullptr && !is_outdated(*login_)) co_return login_;
  if (!running_) {
    if (failure_ && loop_.clock().monotonic() < paused_until_) co_return fail(*failure_);
    running_ = true;
    done_.clear();
    scope_.spawn(run());
  }
  if (!co_await done_.wait_for(is_interactive() ? kInteractivePluginLimit : limit)) {
    co_return fail(ErrorKind::kDeadline, "the credential plugin ", base::in_quotes(plugin_.command),
                   " gave no credential within ", base::format_go_duration(limit));
  }
  if (failure_) co_return fail(*failure_);
  co_return login_;
}

net::Task<Result<PluginTransport::LoginPtr>> PluginTransport::log_in_until(base::MonotonicTime& deadline) {
  const base::MonotonicTime begun = loop_.clock().monotonic();
  auto login = co_await log_in(deadline - begun);
  if (is_interactive()) deadline = deadline + (loop_.clock().monotonic() - begun);
  co_return login;
}

net::Task<Result<Credential>> PluginTransport::credential(base::Duration limit) {
  TM_CO_TRY(const LoginPtr login, co_await log_in(limit));
  co_return login->credential;
}

// True: send the request once more.
bool PluginTransport::renew_after_401(const LoginPtr& used) {
  used->refused = true;
  return used != login_ || is_outdated(*used);
}

net::Task<Result<net::HttpResponse>> PluginTransport::fetch(net::HttpRequest request, base::Duration limit) {
  base::MonotonicTime deadline = loop_.clock().monotonic() + limit;
  for (bool again = false;; again = true) {
    TM_CO_TRY(const LoginPtr login, co_await log_in_until(deadline));
    auto response =
        co_await login->transport->fetch(authorized(request, login->credential), deadline - loop_.clock().monotonic());
    if (again || !response || status_of(*response) != kUnauthorized || !renew_after_401(login)) co_return response;
  }
}

net::Task<Result<std::unique_ptr<net::HttpStream>>> PluginTransport::open(net::HttpRequest request,
                                                                          base::Duration limit) {
  base::MonotonicTime deadline = loop_.clock().monotonic() + limit;
  for (bool again = false;; again = true) {
    TM_CO_TRY(const LoginPtr login, co_await log_in_until(deadline));
    auto stream =
        co_await login->transport->open(authorized(request, login->credential), deadline - loop_.clock().monotonic());
    if (!stream) co_return stream;
    if (!again && status_of(*stream) == kUnauthorized && renew_after_401(login)) continue;
    co_return std::make_unique<KeptStream>(login->transport, std::move(*stream));
  }
}

}  // namespace tidemark::kube
