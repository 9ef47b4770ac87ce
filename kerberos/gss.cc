#include "kerberos/gss.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kerberos/context.h"
#include "kerberos/renewal.h"
#include "kerberos/tickets.h"
#include "net/deadline.h"

namespace tidemark::kerberos {
namespace {

constexpr std::size_t kWaitingMax = 1000;  // for a worker
constexpr std::string_view kSlow = "a request to a KDC or DNS";

}  // namespace

// The result of one check for tickets.
struct MitGss::Checked {
  Result<std::shared_ptr<const Tickets>> tickets;
  bool is_new = false;  // by a login, or by another program in a cache that is not ours
};

struct MitGss::Begun {
  std::unique_ptr<Context> context;
  Step step;
};

// Lives on the worker: one thread, one job at a time.
class MitGss::Login {
 public:
  Login(const base::Clock& clock, hadoop::KerberosOptions options) : clock_(clock), options_(std::move(options)) {}

  // Uses existing tickets while they are valid, else logs in. A cache that is not ours may have been renewed by another
  // program.
  Checked check() {
    const bool ours = !options_.keytab.empty();
    if (ours && tickets_ && tickets_->holds_at(clock_.wall())) return {tickets_, false};
    // Repeated requests get the last result for a moment, which limits the load on a KDC.
    if (failed_ && clock_.monotonic() - failed_at_ < kLoginsApart) return {fail(*failed_), false};
    return log_in();
  }

  Checked log_in() {
    const base::MonotonicTime begin = clock_.monotonic();
    auto got = kerberos::log_in(options_);
    if (!got) {  // the process may be ending: the clock is not read any more
      failed_ = got.error();
      failed_at_ = begin;
      return {std::move(got), false};
    }
    failed_.reset();
    const bool is_new = tickets_ == nullptr || tickets_->end_s() != (*got)->end_s() || !options_.keytab.empty();
    tickets_ = *got;
    return {std::move(got), is_new};
  }

 private:
  const base::Clock& clock_;
  const hadoop::KerberosOptions options_;
  std::shared_ptr<const Tickets> tickets_;
  std::optional<Error> failed_;
  base::MonotonicTime failed_at_;
};

// The first step makes the context on the worker; later calls use it on the loop.
class MitGss::Connection : public hadoop::GssContext {
 public:
  Connection(MitGss& of, std::string server) : of_(of), server_(std::move(server)) {}

  net::Task<Result<hadoop::GssStep>> step(std::string token) override {
    if (!std::exchange(begun_, true)) {
      auto begun = co_await net::within(of_.loop_, of_.begin(server_, std::move(token)), of_.config_.answer_limit,
                                        std::string(kSlow));
      if (!begun) co_return fail(std::move(begun).error().within("kerberos"));
      context_ = std::move(begun->context);
      co_return hadoop::GssStep{std::move(begun->step.token), begun->step.complete};
    }
    TM_CO_TRY_VOID(ready());
    auto step = context_->step(token);
    if (!step) co_return fail(std::move(step).error().within("kerberos"));
    co_return hadoop::GssStep{std::move(step->token), step->complete};
  }

  net::Task<Result<std::string>> wrap(std::string bytes, bool confidential) override {
    TM_CO_TRY_VOID(ready());
    auto token = context_->wrap(bytes, confidential);
    if (!token) co_return fail(std::move(token).error().within("kerberos"));
    co_return std::move(*token);
  }

  net::Task<Result<hadoop::GssOpened>> unwrap(std::string token) override {
    TM_CO_TRY_VOID(ready());
    auto opened = context_->unwrap(token);
    if (!opened) co_return fail(std::move(opened).error().within("kerberos"));
    co_return hadoop::GssOpened{std::move(opened->bytes), opened->confidential};
  }

  net::Task<Result<std::uint32_t>> wrap_max(std::uint32_t token_max, bool confidential) override {
    TM_CO_TRY_VOID(ready());
    auto size = context_->wrap_max(token_max, confidential);
    if (!size) co_return fail(std::move(size).error().within("kerberos"));
    co_return *size;
  }

 private:
  Result<void> ready() const {
    if (context_) return {};
    return fail(ErrorKind::kInvalid, "kerberos: the first step with ", server_, " is not complete");
  }

  MitGss& of_;
  const std::string server_;
  bool begun_ = false;
  std::unique_ptr<Context> context_;
};

MitGss::MitGss(net::EventLoop& loop, base::Log log, hadoop::KerberosOptions options, Config config)
    : loop_(loop),
      log_(std::move(log)),
      options_(std::move(options)),
      config_(config),
      login_(std::make_shared<Login>(loop.clock(), options_)),
      kdc_(1, kWaitingMax, net::WorkerPool::AtEnd::kAbandon),
      names_(1, kWaitingMax, net::WorkerPool::AtEnd::kAbandon),
      scope_(loop) {
  if (config_.metrics != nullptr) {
    ticket_end_ = &config_.metrics->gauge("tidemark_kerberos_ticket_end_seconds",
                                          "When the ticket of the last login ends, in seconds since 1970.");
    logins_ = &config_.metrics->counter("tidemark_kerberos_logins_total", "Logins at a KDC.");
    failed_logins_ = &config_.metrics->counter("tidemark_kerberos_failed_logins_total", "Logins that did not work.");
  }
  if (!options_.keytab.empty()) scope_.spawn(renew());
}

MitGss::~MitGss() = default;

std::unique_ptr<hadoop::GssContext> MitGss::context(std::string server_principal) {
  return std::make_unique<Connection>(*this, std::move(server_principal));
}

net::Task<Result<std::string>> MitGss::own_principal(base::Duration limit) {
  auto name =
      co_await net::within(loop_, log_in_for_principal(), std::min(limit, config_.answer_limit), std::string(kSlow));
  if (!name) co_return fail(std::move(name).error().within("kerberos"));
  co_return std::move(*name);
}

net::Task<Result<std::string>> MitGss::canonical_name(std::string address) {
  return net::within(loop_, names_.run<std::string>(loop_, [ip = std::move(address)] { return canonical_name_of(ip); }),
                     config_.answer_limit, std::string(kSlow));
}

net::Task<Result<std::string>> MitGss::log_in_for_principal() {
  TM_CO_TRY(const Checked checked, co_await kdc_.run<Checked>(loop_, [login = login_] { return login->check(); }));
  on_checked(checked);
  if (!checked.tickets) co_return fail(checked.tickets.error());
  co_return (*checked.tickets)->principal();
}

net::Task<Result<MitGss::Begun>> MitGss::begin(std::string server, std::string token) {
  struct Done {
    Checked checked;
    Result<Begun> begun;
  };
  const auto work = [login = login_, server = std::move(server), token = std::move(token)] {
    const auto out = std::make_shared<Done>(Done{login->check(), fail(ErrorKind::kInternal, "not begun")});
    out->begun = [&]() -> Result<Begun> {
      TM_TRY(auto tickets, out->checked.tickets);
      TM_TRY(auto made, Context::make(std::move(tickets), server));
      TM_TRY(auto first, made->step(token));
      return Begun{std::move(made), std::move(first)};
    }();
    return out;
  };
  TM_CO_TRY(const auto done, co_await kdc_.run<std::shared_ptr<Done>>(loop_, work));
  on_checked(done->checked);
  co_return std::move(done->begun);
}

net::Task<void> MitGss::renew() {
  const auto checked = co_await kdc_.run<Checked>(loop_, [login = login_] { return login->log_in(); });
  if (checked) on_checked(*checked);
  if (checked && checked->tickets) co_return;
  if (checked) {
    if (failed_logins_ != nullptr) failed_logins_->add();
    log_.warn("kerberos: not logged in", {{"why", checked->tickets.error().message}});
  }  // else other requests wait for logins
  renewal_ = loop_.after(until_retry(++failures_), [this] { scope_.spawn(renew()); });
}

void MitGss::on_checked(const Checked& checked) {
  if (!checked.tickets || !checked.is_new) return;
  const Tickets& tickets = **checked.tickets;
  failures_ = 0;
  if (logins_ != nullptr) logins_->add();
  if (ticket_end_ != nullptr) ticket_end_->set(static_cast<double>(tickets.end_s()));
  log_.info("kerberos: logged in",
            {{"principal", tickets.principal()},
             {"until", base::format_rfc3339(base::WallTime{std::chrono::seconds(tickets.end_s())})}});
  if (options_.keytab.empty()) return;
  renewal_ = loop_.after(until_renewal(tickets.begin_s(), tickets.end_s(), loop_.clock().wall()),
                         [this] { scope_.spawn(renew()); });
}

}  // namespace tidemark::kerberos
