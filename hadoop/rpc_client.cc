#include "hadoop/rpc_client.h"

#include <limits>
#include <utility>

#include "base/clock.h"

namespace tidemark::hadoop {

std::string Address::text() const {
  return host.find(':') == std::string::npos ? base::cat(host, ":", port) : base::cat("[", host, "]:", port);
}

RpcClient::RpcClient(net::EventLoop& loop, net::WorkerPool* workers, RpcConfig config, base::Random random)
    : loop_(loop),
      workers_(workers),
      config_(std::move(config)),
      random_(random),
      client_id_(new_client_id(random_)),
      backoff_(config_.reconnect, random_.fork()),
      settled_(loop),
      scope_(loop) {}

RpcClient::~RpcClient() = default;

net::Task<Result<std::string>> RpcClient::call(Method method, std::string request, base::Duration limit) {
  auto answer = co_await try_call(method, std::move(request), limit);
  if (!answer) co_return fail(std::move(answer).error().within(base::cat(method.name, " at ", config_.server.text())));
  co_return answer;
}

net::Task<Result<std::string>> RpcClient::try_call(Method method, std::string request, base::Duration limit) {
  const base::MonotonicTime begin = loop_.clock().monotonic();
  TM_CO_TRY_VOID(co_await connected(limit));
  // The process was stopped meanwhile: the caller may no longer be allowed to send.
  if (loop_.clock().monotonic() - begin >= limit) {
    co_return fail(ErrorKind::kDeadline, "not sent within ", base::format_go_duration(limit));
  }

  last_call_ = last_call_ == std::numeric_limits<std::int32_t>::max() ? 0 : last_call_ + 1;
  const std::int32_t id = last_call_;
  Waiting answer(loop_);
  struct Registered {
    std::map<std::int32_t, Waiting*>& all;
    std::int32_t id;
    ~Registered() { all.erase(id); }
  } const registered{on_their_way_, id};
  on_their_way_[id] = &answer;
  ++calls_made_;

  std::string frame;
  append_call(frame, id, client_id_, method, request);
  const base::MonotonicTime sent = loop_.clock().monotonic();
  connection_->write(std::string_view(frame));
  const net::Timer timer = loop_.after(limit - (sent - begin), [&] {
    if (answer.given()) return;
    Error late{ErrorKind::kDeadline, base::cat("no answer within ", base::format_go_duration(limit)), 0, 0};
    answer.give(fail(late));
    // The machine does not answer: it may be down, and the next call would wait as long.
    if (heard_ < sent) lost(std::move(late));
  });
  co_return co_await answer;
}

net::Task<Result<void>> RpcClient::connected(base::Duration limit) {
  if (connection_) co_return Result<void>();
  if (!connecting_) {
    const base::Duration wait = not_before_ - loop_.clock().monotonic();
    if (why_not_ && wait > base::Duration(0)) {
      co_return fail(ErrorKind::kUnavailable, why_not_->message, "; tried again in ",
                     base::format_go_duration(std::chrono::ceil<std::chrono::milliseconds>(wait)));
    }
    connecting_ = true;
    settled_.clear();
    scope_.spawn(connect());
  }
  if (!co_await settled_.wait_for(limit)) {
    co_return fail(ErrorKind::kDeadline, "not connected within ", base::format_go_duration(limit));
  }
  if (!connection_) co_return fail(*why_not_);
  co_return Result<void>();
}

net::Task<Result<std::unique_ptr<net::Connection>>> RpcClient::make_connection() {
  const base::MonotonicTime begin = loop_.clock().monotonic();
  net::Url url;
  url.scheme = "http";  // not under TLS; what is said over it is not HTTP
  url.host = config_.server.host;
  url.port = config_.server.port;
  TM_CO_TRY(auto made, co_await net::connect(loop_, workers_, url, nullptr, config_.connect_limit));
  if (!config_.security) {
    made->write(std::string_view(preamble(Authentication::kSimple)));
    co_return std::move(made);
  }
  co_return co_await secure(loop_, std::move(made), *config_.gss, *config_.security,
                            config_.connect_limit - (loop_.clock().monotonic() - begin));
}

// The caller: with Kerberos the ticket identifies it, and only a different effective user is sent.
Identity RpcClient::caller() const {
  if (!config_.security) return config_.identity;
  return {.real_user = "", .effective_user = config_.identity.effective_user};
}

net::Task<void> RpcClient::connect() {
  auto made = co_await make_connection();
  connecting_ = false;
  if (made) {
    ++connections_made_;
    connection_ = std::move(*made);
    frames_ = FrameReader();
    connection_->set_callbacks({
        .on_data = [this](std::string_view bytes) { return on_data(bytes); },
        .on_drained = [] {},
        .on_end =
            [this](std::optional<Error> why) {
              lost(why ? std::move(*why) : Error{ErrorKind::kUnavailable, "the server closed the connection", 0, 0});
            },
    });
    connection_->write(std::string_view(connection_context(caller(), config_.protocol, client_id_)));
  } else {
    lost(std::move(made).error());
  }
  settled_.set();
}

bool RpcClient::on_data(std::string_view bytes) {
  heard_ = loop_.clock().monotonic();
  frames_.append(bytes);
  while (connection_) {
    const auto frame = frames_.next();
    if (!frame) {
      lost(frame.error());
      return false;
    }
    if (!*frame) return true;
    const auto answer = read_answer(**frame);
    if (!answer) {
      lost(answer.error());
      return false;
    }
    on_answer(*answer);
  }
  return false;
}

void RpcClient::on_answer(const Answer& answer) {
  if (answer.refusal && (answer.refusal->fatal || answer.call_id < 0)) {
    Error error = to_error(*answer.refusal);
    if (!config_.security && wants_kerberos(error)) {
      error.message +=
          "; it wants Kerberos: set hadoop.security.authentication to kerberos in the core-site.xml that is read here";
    }
    const auto found = on_their_way_.find(answer.call_id);
    if (found != on_their_way_.end()) found->second->give(fail(error));
    lost(error);
    return;
  }
  backoff_.reset();  // not before: a server that takes a connection and says nothing is not asked at once again
  const auto found = on_their_way_.find(answer.call_id);
  if (found == on_their_way_.end()) return;  // its limit has passed
  if (answer.refusal) {
    found->second->give(fail(to_error(*answer.refusal)));
  } else {
    found->second->give(std::string(answer.response));
  }
}

void RpcClient::lost(Error why) {
  connection_.reset();
  frames_ = FrameReader();
  // An idle connection that its server closed says nothing bad of the server: calls made, all answered.
  const bool idle = on_their_way_.empty() && backoff_.attempts() == 0 && calls_made_ > 0;
  not_before_ = loop_.clock().monotonic() + (idle ? base::Duration(0) : backoff_.next());
  for (const auto& [id, waiting] : on_their_way_) waiting->give(fail(why));
  why_not_ = std::move(why);
}

}  // namespace tidemark::hadoop
