#include "kerberos/service.h"

#include <utility>

#include "kerberos/renewal.h"

namespace tidemark::kerberos {
namespace {

using hadoop::HelperAnswer;
using hadoop::HelperRequest;

HelperAnswer refusal(std::uint64_t number, Error why) {
  HelperAnswer out;
  out.number = number;
  out.done = fail(std::move(why));
  return out;
}

HelperAnswer stepped(std::uint64_t number, Result<Step> step) {
  if (!step) return refusal(number, std::move(step).error());
  HelperAnswer out;
  out.number = number;
  out.bytes = std::move(step->token);
  out.flag = step->complete;
  return out;
}

}  // namespace

class Service::Keeper {
 public:
  Keeper(const base::Clock& clock, TicketOptions options) : clock_(clock), options_(std::move(options)) {}

  // Uses existing tickets while they are valid, else logs in. A cache that is not ours may have been renewed by another
  // program.
  Look look() {
    const bool ours = !options_.keytab.empty();
    if (ours && tickets_ && tickets_->holds_at(clock_.wall())) return {tickets_, false};
    // Repeated requests get the last result for a moment, which limits the load on a KDC.
    if (failed_ && clock_.monotonic() - failed_at_ < kLoginsApart) return {fail(*failed_), false};
    return log_in();
  }

  Look log_in() {
    auto got = kerberos::log_in(options_);
    if (!got) {
      failed_ = got.error();
      failed_at_ = clock_.monotonic();
      return {std::move(got), false};
    }
    failed_.reset();
    const bool others = tickets_ == nullptr || tickets_->end_s() != (*got)->end_s() || !options_.keytab.empty();
    tickets_ = *got;
    return {std::move(got), others};
  }

 private:
  const base::Clock& clock_;
  const TicketOptions options_;
  std::shared_ptr<const Tickets> tickets_;
  std::optional<Error> failed_;
  base::MonotonicTime failed_at_;
};

Service::Service(net::EventLoop& loop, Fd stream, TicketOptions options)
    : loop_(loop),
      options_(std::move(options)),
      keeper_(std::make_shared<Keeper>(loop.clock(), options_)),
      stream_(net::adopt(loop, std::move(stream), "tidemark")),
      logins_(1, kWaitingMax),
      names_(1, kWaitingMax),
      scope_(loop) {
  stream_->set_callbacks({
      .on_data = [this](std::string_view bytes) { return on_data(bytes); },
      .on_drained = [] {},
      .on_end = [this](std::optional<Error>) { loop_.stop(); },
  });
  HelperAnswer hello;
  hello.note = HelperAnswer::Note::kHello;
  hello.version = hadoop::kHelperVersion;
  tell(hello);
  if (!options_.keytab.empty()) scope_.spawn(renew());
}

Service::~Service() = default;

void Service::tell(const HelperAnswer& answer) {
  std::string frame;
  hadoop::append_frame(frame, hadoop::encode(answer));
  stream_->write(std::string_view(frame));
}

bool Service::on_data(std::string_view bytes) {
  frames_.append(bytes);
  for (;;) {
    const auto frame = frames_.next();
    if (frame && !*frame) return true;
    auto request = frame ? hadoop::decode_request(**frame) : Result<HelperRequest>(fail(frame.error()));
    if (!request) {  // of another build, or broken: the parent starts another process
      loop_.stop();
      return false;
    }
    const std::uint64_t number = request->number;
    if (auto taken = take(std::move(*request)); !taken) tell(refusal(number, std::move(taken).error()));
  }
}

Result<void> Service::take(HelperRequest request) {
  switch (request.op) {
    case HelperRequest::Op::kOwnPrincipal:
      scope_.spawn(tell_own_principal(request.number));
      return {};
    case HelperRequest::Op::kCanonicalName:
      scope_.spawn(tell_canonical_name(std::move(request)));
      return {};
    case HelperRequest::Op::kPing: {
      HelperAnswer here;
      here.number = request.number;
      tell(here);
      return {};
    }
    case HelperRequest::Op::kForget:
      contexts_.erase(request.context);
      return {};
    default:
      break;
  }
  const auto found = contexts_.find(request.context);
  if (found == contexts_.end()) {
    if (request.op != HelperRequest::Op::kStep || request.server.empty()) {
      return fail(ErrorKind::kNotFound, "there is no such context");
    }
    if (contexts_.size() == kContextsMax) return fail(ErrorKind::kExhausted, "more than ", kContextsMax, " contexts");
    contexts_.emplace(request.context, nullptr);
    scope_.spawn(begin_context(std::move(request)));
    return {};
  }
  if (!found->second) return fail(ErrorKind::kConflict, "its first step is not answered yet");
  tell(answer_at_once(request));
  return {};
}

HelperAnswer Service::answer_at_once(const HelperRequest& request) {
  Context& context = *contexts_.at(request.context);
  if (request.op == HelperRequest::Op::kStep) return stepped(request.number, context.step(request.bytes));
  HelperAnswer out;
  out.number = request.number;
  if (request.op == HelperRequest::Op::kWrapMax) {
    const auto size = context.wrap_max(request.token_max, request.confidential);
    if (!size) return refusal(request.number, size.error());
    out.size = *size;
    return out;
  }
  if (request.op == HelperRequest::Op::kWrap) {
    auto token = context.wrap(request.bytes, request.confidential);
    if (!token) return refusal(request.number, std::move(token).error());
    out.bytes = std::move(*token);
    return out;
  }
  auto opened = context.unwrap(request.bytes);
  if (!opened) return refusal(request.number, std::move(opened).error());
  out.bytes = std::move(opened->bytes);
  out.flag = opened->confidential;
  return out;
}

net::Task<void> Service::begin_context(HelperRequest request) {
  auto begun = co_await logins_.run<std::shared_ptr<Begun>>(
      loop_, [keeper = keeper_, server = request.server, bytes = request.bytes] {
        auto out = std::make_shared<Begun>(Begun{keeper->look(), nullptr, fail(ErrorKind::kInternal, "not begun")});
        if (!out->look.tickets) {
          out->step = fail(out->look.tickets.error());
          return out;
        }
        auto made = Context::make(*out->look.tickets, server);
        if (!made) {
          out->step = fail(std::move(made).error());
          return out;
        }
        out->context = std::move(*made);
        out->step = out->context->step(bytes);
        return out;
      });
  const auto place = contexts_.find(request.context);
  const bool wanted = place != contexts_.end();
  if (!begun) {
    if (wanted) contexts_.erase(place);
    tell(refusal(request.number, std::move(begun).error()));
    co_return;
  }
  noted((*begun)->look);
  if (wanted && (*begun)->step) {
    place->second = std::move((*begun)->context);
  } else if (wanted) {
    contexts_.erase(place);
  }
  tell(stepped(request.number, std::move((*begun)->step)));
}

net::Task<void> Service::tell_own_principal(std::uint64_t number) {
  auto look = co_await logins_.run<Look>(loop_, [keeper = keeper_] { return keeper->look(); });
  if (!look) {
    tell(refusal(number, std::move(look).error()));
    co_return;
  }
  noted(*look);
  if (!look->tickets) {
    tell(refusal(number, look->tickets.error()));
    co_return;
  }
  HelperAnswer out;
  out.number = number;
  out.bytes = (*look->tickets)->principal();
  tell(out);
}

net::Task<void> Service::tell_canonical_name(HelperRequest request) {
  auto name = co_await names_.run<std::string>(loop_, [ip = request.server] { return canonical_name_of(ip); });
  if (!name) {
    tell(refusal(request.number, std::move(name).error()));
    co_return;
  }
  HelperAnswer out;
  out.number = request.number;
  out.bytes = std::move(*name);
  tell(out);
}

// Also at the start, so that an invalid keytab is reported then.
net::Task<void> Service::renew() {
  auto look = co_await logins_.run<Look>(loop_, [keeper = keeper_] { return keeper->log_in(); });
  if (!look) {  // others wait for logins
    renewal_ = loop_.after(until_retry(++failures_), [this] { scope_.spawn(renew()); });
    co_return;
  }
  noted(*look);
  if (look->tickets) co_return;
  HelperAnswer note;
  note.note = HelperAnswer::Note::kLoginFailed;
  note.done = fail(look->tickets.error());
  tell(note);
  renewal_ = loop_.after(until_retry(++failures_), [this] { scope_.spawn(renew()); });
}

void Service::noted(const Look& look) {
  if (!look.tickets || !look.logged_in) return;
  const Tickets& tickets = **look.tickets;
  failures_ = 0;
  HelperAnswer note;
  note.note = HelperAnswer::Note::kLoggedIn;
  note.principal = tickets.principal();
  note.until_s = tickets.end_s();
  tell(note);
  if (options_.keytab.empty()) return;
  renewal_ = loop_.after(until_renewal(tickets.begin_s(), tickets.end_s(), loop_.clock().wall()),
                         [this] { scope_.spawn(renew()); });
}

}  // namespace tidemark::kerberos
