// A Hadoop RPC server for tests of clients: decodes connections and calls, and answers as the test requires, at once or
// later.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/log.h"
#include "base/testing/clock.h"
#include "hadoop/rpc_client.h"
#include "hadoop/rpc_frames.h"
#include "hadoop/sasl.h"
#include "hadoop/testing/gss.h"
#include "hadoop/wire.h"
#include "net/connection.h"
#include "net/loop.h"
#include "net/testing/endpoint.h"

namespace tidemark::hadoop::testing {

struct SeenCall {
  std::size_t connection = 0;
  std::int32_t id = 0;
  std::string client_id;
  std::string protocol;
  std::string method;
  std::string request;
};

struct SeenConnection {
  std::string head;  // the first seven bytes
  std::string client_id;
  std::string protocol;
  Identity identity;
};

// How a server with Kerberos begins, and what may be wrong with one.
struct SaslScript {
  std::vector<SaslMethod> methods = {{"TOKEN", "DIGEST-MD5", "", "default"},
                                     {"KERBEROS", "GSSAPI", "rm", "host.example"}};
  std::string proof = "ap-rep";
  std::string layers = std::string("\x07\x01\x00\x00", 4);
  bool simple_only = false;  // answers that nothing is needed
  bool silent = false;
  bool in_the_clear = false;  // protects nothing, whatever was agreed on
  bool weaker = false;        // wraps for integrity what was to be private
};

class RpcServer {
 public:
  // Answers with the response's bytes, or a refusal, or not now.
  using Reply = std::optional<std::variant<std::string, Refusal>>;
  using Handler = std::function<Reply(const SeenCall&)>;

  RpcServer(net::EventLoop& loop, Handler handler, std::uint16_t port = 0) : loop_(loop), handler_(std::move(handler)) {
    auto listener = net::listen_on(loop_, log_, base::cat("127.0.0.1:", port),
                                   [this](std::unique_ptr<net::Connection> made) { accept(std::move(made)); });
    if (!listener) throw std::runtime_error(listener.error().message);
    listener_ = std::move(*listener);
  }

  SaslScript sasl;
  const std::string& chosen_layer() const { return chosen_; }              // what the last client chose
  const std::vector<SaslMethod>& initiated() const { return initiated_; }  // the methods that clients named

  Address address() const { return {"127.0.0.1", listener_->port()}; }
  const std::vector<SeenCall>& calls() const { return calls_; }
  const std::vector<SeenConnection>& connections() const { return seen_; }

  void answer(const SeenCall& call, std::string_view response) {
    std::string header;
    WireWriter(header).number(1, call.id).number(2, 0).number(3, 9).bytes(7, call.client_id);
    send(call, header, response);
  }
  void refuse(const SeenCall& call, const Refusal& refusal) {
    std::string header;
    WireWriter(header)
        .number(1, static_cast<std::uint32_t>(call.id))
        .number(2, refusal.fatal ? 2 : 1)
        .bytes(4, refusal.exception)
        .bytes(5, refusal.message)
        .number(6, refusal.detail);
    send(call, header, std::nullopt);
  }
  void send_raw(std::size_t connection, std::string_view bytes) { line(connection).end.connection->write(bytes); }
  void close(std::size_t connection) { line(connection).end.connection.reset(); }

 private:
  struct Line {
    std::size_t number;
    bool begun = false;
    FrameReader frames;
    FrameReader inner;  // of what was protected
    bool secure = false;
    int round = 0;
    bool wraps = false;
    std::uint64_t opened = 0, wrapped = 0;
    net::testing::Endpoint end;
  };

  Line& line(std::size_t number) {
    for (Line& each : lines_) {
      if (each.number == number) return each;
    }
    throw std::runtime_error("no such connection");
  }

  void accept(std::unique_ptr<net::Connection> made) {
    Line& mine = lines_.emplace_back();
    mine.number = lines_.size() - 1;
    mine.end.on_data = [this, &mine](std::string_view bytes) {
      read(mine, bytes);
      return true;
    };
    mine.end.attach(std::move(made));
  }

  void read(Line& mine, std::string_view bytes) {
    if (!mine.begun) {
      if (mine.end.got.size() < 7) return;
      seen_.emplace_back().head = mine.end.got.substr(0, 7);
      bytes = std::string_view(mine.end.got).substr(7);
      mine.begun = true;
      mine.secure = seen_.back().head == preamble(Authentication::kSasl);
    }
    mine.frames.append(bytes);
    while (mine.end.connection) {
      const auto frame = mine.frames.next();
      if (!frame) throw std::runtime_error(frame.error().message);
      if (!*frame) return;
      if (mine.secure && (mine.round < 4 || mine.wraps)) {
        take_sasl(mine, **frame);
      } else {
        take(mine, **frame);
      }
    }
  }

  void say(Line& mine, const SaslMessage& message) {
    std::string frame;
    append_sasl(frame, message);
    std::string_view body = std::string_view(frame).substr(4);
    need(take_delimited(body, "header"));
    std::string header;
    WireWriter(header).number(1, kSaslCall).number(2, 0);
    std::string content;
    append_delimited(content, header);
    content += body;
    std::string out;
    append_frame(out, content);
    mine.end.connection->write(std::string_view(out));
  }

  void take_sasl(Line& mine, std::string_view frame) {
    need(take_delimited(frame, "RpcRequestHeaderProto"));
    const auto read = decode_sasl(need(take_delimited(frame, "RpcSaslProto")));
    if (!read) throw std::runtime_error(read.error().message);
    if (sasl.silent) return;
    const auto got = [&] { return opened(++mine.opened, read->token.value_or("")); };
    if (mine.round == 4) {
      const auto bytes = got();
      if (!bytes) throw std::runtime_error(bytes.error().message);
      mine.inner.append(bytes->bytes);
      for (auto each = mine.inner.next(); *each; each = mine.inner.next()) take(mine, **each);
      return;
    }
    switch (mine.round++) {
      case 0:
        return say(mine, sasl.simple_only ? SaslMessage{SaslState::kSuccess}
                                          : SaslMessage{SaslState::kNegotiate, std::nullopt, sasl.methods});
      case 1:
        initiated_.insert(initiated_.end(), read->methods.begin(), read->methods.end());
        return say(mine, {SaslState::kChallenge, sasl.proof});
      case 2:
        return say(mine, {SaslState::kChallenge, wrapped(++mine.wrapped, sasl.layers, false)});
      default:
        chosen_ = got()->bytes;
        mine.wraps = chosen_[0] != 1;
        return say(mine, {SaslState::kSuccess});
    }
  }

  void take(Line& mine, std::string_view frame) {
    SeenCall call;
    call.connection = mine.number;
    WireReader header(need(take_delimited(frame, "RpcRequestHeaderProto")));
    while (const auto field = header.next()) {
      if (field->number == 3) call.id = static_cast<std::int32_t>(field->zigzag());
      if (field->number == 4) call.client_id = field->text();
    }
    if (call.id == -3) {
      take_context(call, need(take_delimited(frame, "IpcConnectionContextProto")));
      return;
    }
    WireReader names(need(take_delimited(frame, "RequestHeaderProto")));
    while (const auto field = names.next()) {
      if (field->number == 1) call.method = field->text();
      if (field->number == 2) call.protocol = field->text();
    }
    call.request = need(take_delimited(frame, "the request"));
    calls_.push_back(call);
    const Reply reply = handler_(call);
    if (!reply) return;
    if (const auto* response = std::get_if<std::string>(&*reply)) answer(call, *response);
    if (const auto* refusal = std::get_if<Refusal>(&*reply)) refuse(call, *refusal);
  }

  void take_context(const SeenCall& call, std::string_view context) {
    SeenConnection& seen = seen_.back();
    seen.client_id = call.client_id;
    WireReader reader(context);
    while (const auto field = reader.next()) {
      if (field->number == 3) seen.protocol = field->text();
      if (field->number != 2) continue;
      WireReader user(field->text());
      while (const auto name = user.next()) {
        (name->number == 1 ? seen.identity.effective_user : seen.identity.real_user) = name->text();
      }
    }
  }

  void send(const SeenCall& call, std::string_view header, std::optional<std::string_view> response) {
    std::string content;
    append_delimited(content, header);
    if (response) append_delimited(content, *response);
    std::string frame;
    for (const int shift : {24, 16, 8, 0}) frame.push_back(static_cast<char>(content.size() >> shift & 0xff));
    send_frame(line(call.connection), frame + content);
  }

  void send_frame(Line& mine, const std::string& bytes) {
    if (!mine.wraps || sasl.in_the_clear) {
      mine.end.connection->write(std::string_view(bytes));
      return;
    }
    const bool confidential = chosen_[0] == 4 && !sasl.weaker;
    say(mine, {SaslState::kWrap, wrapped(++mine.wrapped, bytes, confidential)});
  }

  static std::string_view need(Result<std::string_view> read) {
    if (!read) throw std::runtime_error(read.error().message);
    return *read;
  }

  net::EventLoop& loop_;
  Handler handler_;
  base::SystemClock clock_;
  base::Log log_{clock_, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<net::Listener> listener_;
  std::list<Line> lines_;
  std::vector<SeenConnection> seen_;
  std::string chosen_;
  std::vector<SaslMethod> initiated_;
  std::vector<SeenCall> calls_;
};

}  // namespace tidemark::hadoop::testing
