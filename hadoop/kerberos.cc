#include "hadoop/kerberos.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tidemark::hadoop {

namespace {

// For a KDC or for DNS; the rest is answered at once.
bool waits(HelperRequest::Op op) {
  using enum HelperRequest::Op;
  return op == kStep || op == kOwnPrincipal || op == kCanonicalName;
}

}  // namespace

void declare_kerberos_flags(base::Flags& flags, KerberosOptions& options) {
  flags
      .text("kerberos-keytab", options.keytab,
            "keys of the caller, where hadoop.security.authentication is kerberos; empty: the ticket cache "
            "($KRB5CCNAME), as kinit fills it")
      .placeholder("FILE");
  flags
      .text("kerberos-principal", options.principal,
            "the caller, as in tidemark@EXAMPLE.COM or tidemark/_HOST@EXAMPLE.COM; empty: the only one in the keytab")
      .placeholder("PRINCIPAL");
  flags
      .text("kerberos-helper", options.helper,
            "the program that speaks Kerberos; empty: tidemark-kerberos beside this one")
      .placeholder("FILE");
}

// A context lives in one process, and with it: what is asked of it later is not for the next one.
class Kerberos::Context : public GssContext {
 public:
  Context(Kerberos& of, std::uint64_t number, std::string server)
      : of_(of), number_(number), server_(std::move(server)) {}
  ~Context() override {
    if (!begun_ || !of_.stream_ || of_.starts_ != start_) return;
    std::string frame;
    append_frame(frame, encode(HelperRequest{.op = HelperRequest::Op::kForget, .context = number_}));
    of_.stream_->write(std::string_view(frame));
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  net::Task<Result<GssStep>> step(std::string token) override {
    HelperRequest request = about(HelperRequest::Op::kStep);
    request.bytes = std::move(token);
    if (!begun_) {
      TM_CO_TRY_VOID(of_.running());
      request.server = server_;
      start_ = of_.starts_;
      begun_ = true;
    }
    TM_CO_TRY(HelperAnswer answer, co_await ask(std::move(request)));
    co_return GssStep{std::move(answer.bytes), answer.flag};
  }

  net::Task<Result<std::string>> wrap(std::string bytes, bool confidential) override {
    HelperRequest request = about(HelperRequest::Op::kWrap);
    request.bytes = std::move(bytes);
    request.confidential = confidential;
    TM_CO_TRY(HelperAnswer answer, co_await ask(std::move(request)));
    co_return std::move(answer.bytes);
  }

  net::Task<Result<GssOpened>> unwrap(std::string token) override {
    HelperRequest request = about(HelperRequest::Op::kUnwrap);
    request.bytes = std::move(token);
    TM_CO_TRY(HelperAnswer answer, co_await ask(std::move(request)));
    co_return GssOpened{std::move(answer.bytes), answer.flag};
  }

  net::Task<Result<std::uint32_t>> wrap_max(std::uint32_t token_max, bool confidential) override {
    HelperRequest request = about(HelperRequest::Op::kWrapMax);
    request.token_max = token_max;
    request.confidential = confidential;
    TM_CO_TRY(const HelperAnswer answer, co_await ask(std::move(request)));
    co_return answer.size;
  }

 private:
  HelperRequest about(HelperRequest::Op op) const { return {.op = op, .context = number_}; }
  net::Task<Result<HelperAnswer>> ask(HelperRequest request) {
    return of_.ask(std::move(request), start_, of_.config_.answer_limit);
  }

  Kerberos& of_;
  const std::uint64_t number_;
  const std::string server_;
  bool begun_ = false;
  std::uint64_t start_ = 0;
};

Kerberos::Kerberos(net::EventLoop& loop, base::Log log, StartHelper start, Config config, base::Random random)
    : loop_(loop),
      log_(std::move(log)),
      start_(std::move(start)),
      config_(config),
      backoff_(config_.restart, random),
      scope_(loop) {
  if (config_.metrics == nullptr) return;
  ticket_ends_ = &config_.metrics->gauge("tidemark_kerberos_ticket_end_seconds",
                                         "When the ticket of the last login ends, in seconds since 1970.");
  logins_ = &config_.metrics->counter("tidemark_kerberos_logins_total", "Logins at a KDC.");
  failed_logins_ = &config_.metrics->counter("tidemark_kerberos_failed_logins_total", "Logins that did not work.");
}

Kerberos::~Kerberos() = default;

std::unique_ptr<GssContext> Kerberos::context(std::string server_principal) {
  return std::make_unique<Context>(*this, ++last_context_, std::move(server_principal));
}

net::Task<Result<std::string>> Kerberos::own_principal(base::Duration limit) {
  TM_CO_TRY(HelperAnswer answer, co_await ask({.op = HelperRequest::Op::kOwnPrincipal}, std::nullopt,
                                              std::min(limit, config_.answer_limit)));
  co_return std::move(answer.bytes);
}

net::Task<Result<std::string>> Kerberos::canonical_name(std::string address) {
  HelperRequest request{.op = HelperRequest::Op::kCanonicalName};
  request.server = std::move(address);
  TM_CO_TRY(HelperAnswer answer, co_await ask(std::move(request), std::nullopt, config_.answer_limit));
  co_return std::move(answer.bytes);
}

// `of_start`: only of that process, counted from 1.
net::Task<Result<HelperAnswer>> Kerberos::ask(HelperRequest request, std::optional<std::uint64_t> of_start,
                                              base::Duration limit) {
  if (!of_start) {
    TM_CO_TRY_VOID(running());
  } else if (!stream_ || *of_start != starts_) {
    co_return fail(ErrorKind::kUnavailable, kHelperName, " restarted and lost its contexts");
  }
  TM_CO_TRY(HelperAnswer got, co_await ask_this_one(std::move(request), limit));
  if (!got.done) co_return fail(std::move(got.done).error().within("kerberos"));
  co_return got;
}

net::Task<Result<HelperAnswer>> Kerberos::ask_this_one(HelperRequest request, base::Duration limit) {
  request.number = ++last_request_;
  Waiting answer(loop_);
  struct Registered {
    std::map<std::uint64_t, Waiting*>& all;
    std::uint64_t number;
    ~Registered() { all.erase(number); }
  } const registered{on_their_way_, request.number};
  on_their_way_[request.number] = &answer;
  std::string frame;
  append_frame(frame, encode(request));
  stream_->write(std::string_view(frame));
  const bool waits_for_others = waits(request.op);
  const net::Timer timer = loop_.after(waits_for_others ? limit : std::min(limit, config_.at_once_limit), [&] {
    if (answer.given()) return;
    if (!waits_for_others) {
      if (stream_) lost("it does not answer", false);
      return;
    }
    answer.give(fail(ErrorKind::kDeadline, kHelperName, " has not answered within ", base::format_go_duration(limit),
                     ": does a KDC of the realm, or DNS, not answer?"));
    if (stream_ && !pinging_) scope_.spawn(ping());
  });
  co_return co_await answer;
}

// It waits for a KDC, or it hangs.
net::Task<void> Kerberos::ping() {
  if (!stream_ || std::exchange(pinging_, true)) co_return;
  co_await ask_this_one({.op = HelperRequest::Op::kPing}, config_.at_once_limit);
  pinging_ = false;
}

Result<void> Kerberos::running() {
  if (stream_) return {};
  const base::Duration wait = not_before_ - loop_.clock().monotonic();
  if (why_not_ && wait > base::Duration(0)) {
    return fail(ErrorKind::kUnavailable, why_not_->message, "; started again in ",
                base::format_go_duration(std::chrono::ceil<std::chrono::milliseconds>(wait)));
  }
  auto started = start_();
  if (!started) {
    not_before_ = loop_.clock().monotonic() + backoff_.next();
    why_not_ = started.error();
    log_.warn("kerberos cannot be used", {{"why", started.error().message}});
    return fail(std::move(started).error());
  }
  ++starts_;
  greeted_ = false;
  process_ = std::move(started->process);
  frames_ = FrameReader();
  stream_ = net::adopt(loop_, std::move(started->stream), std::string(kHelperName));
  stream_->set_callbacks({
      .on_data = [this](std::string_view bytes) { return on_data(bytes); },
      .on_drained = [] {},
      .on_end = [this](std::optional<Error> why) { lost(why ? why->message : "it closed its stream", true); },
  });
  return {};
}

bool Kerberos::on_data(std::string_view bytes) {
  frames_.append(bytes);
  while (stream_) {
    const auto frame = frames_.next();
    if (frame && !*frame) return true;
    auto answer = frame ? decode_answer(**frame) : Result<HelperAnswer>(fail(frame.error()));
    if (!answer) {
      lost(answer.error().message, false);
      return false;
    }
    if (answer->note != HelperAnswer::Note::kNone) {
      on_note(*answer);
      continue;
    }
    const auto found = on_their_way_.find(answer->number);
    if (found != on_their_way_.end()) found->second->give(std::move(*answer));
  }
  return false;
}

void Kerberos::on_note(const HelperAnswer& note) {
  switch (note.note) {
    case HelperAnswer::Note::kHello:
      if (note.version != kHelperVersion) {
        lost(base::cat("it is of another version (", note.version, ", wanted ", kHelperVersion, ")"), false);
        return;
      }
      greeted_ = true;
      why_not_.reset();
      break;
    case HelperAnswer::Note::kLoggedIn:
      backoff_.reset();
      if (logins_ != nullptr) logins_->add();
      if (ticket_ends_ != nullptr) ticket_ends_->set(static_cast<double>(note.until_s));
      log_.info("kerberos: logged in",
                {{"principal", note.principal},
                 {"until", base::format_rfc3339(base::WallTime{std::chrono::seconds(note.until_s)})}});
      break;
    case HelperAnswer::Note::kLoginFailed:
      if (failed_logins_ != nullptr) failed_logins_->add();
      if (!note.done) log_.warn("kerberos: not logged in", {{"why", note.done.error().message}});
      break;
    case HelperAnswer::Note::kNone:
      break;
  }
}

void Kerberos::lost(std::string why, bool by_itself) {
  stream_.reset();
  const base::Duration wait = backoff_.next();
  not_before_ = loop_.clock().monotonic() + wait;
  why_not_ = Error{ErrorKind::kUnavailable, base::cat(kHelperName, " ended: ", why), 0, 0};
  scope_.spawn(tell_how_it_ended({std::move(process_), std::move(why), last_request_, greeted_, by_itself, wait}));
}

// Then fails the pending requests: the exit code is a better error than that of the stream.
net::Task<void> Kerberos::tell_how_it_ended(Lost lost) {
  if (lost.by_itself && lost.process) {
    if (const std::string ended = co_await lost.process->how_it_ended(); !ended.empty()) lost.why = ended;
  }
  // A program that the loader does not start says so itself, to our standard error, and ends with 127.
  if (lost.by_itself && !lost.greeted)
    lost.why += "; it did not begin: are MIT Kerberos' libraries there (Debian: libgssapi-krb5-2)?";
  const Error error{ErrorKind::kUnavailable, base::cat(kHelperName, " ended: ", lost.why), 0, 0};
  if (!stream_) why_not_ = error;
  for (const auto& [number, waiting] : on_their_way_) {
    if (number <= lost.last_request) waiting->give(fail(error));
  }
  log_.warn("kerberos: tidemark-kerberos is lost, and connections that it protects with it",
            {{"why", lost.why}, {"again_in", base::format_go_duration(lost.wait)}});
}

}  // namespace tidemark::hadoop
