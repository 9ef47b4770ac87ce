// Hadoop RPC, version 9, as bytes: what opens a connection, what a call is, what an answer says. No socket here.
//
//   connection   "hrpc" 9 0 AUTH | SASL where AUTH says so (hadoop/sasl.h)
//                | frame(header with call −3, IpcConnectionContextProto)
//   call         frame(header with the call's number, RequestHeaderProto, request)
//   answer       frame(RpcResponseHeaderProto, response or nothing)
//
// frame: four bytes of length, highest first, then the messages, each with a varint of its length before it. Answers
// come in any order; the call number identifies the call.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/random.h"
#include "base/result.h"

namespace tidemark::hadoop {

// The largest answer that is read; more is a broken stream or another protocol. 10,000 node reports are 5 MB.
inline constexpr std::size_t kAnswerBytesMax = 64 * 1024 * 1024;

// The caller. Hadoop takes it from the effective user. If only the real user is set, there is no caller, and a server
// without security runs the call as its own daemon's user, which every ACL allows: Koordinator's operator does this,
// and it is the default.
struct Identity {
  std::string real_user;
  std::string effective_user;  // empty: not sent
};

struct Method {
  std::string_view protocol;  // the Java interface: org.apache.hadoop.…PB
  std::string_view name;
  std::uint64_t version = 1;
};

// Sixteen bytes, the same as long as a client lives: with a call's number they name a call for ever.
std::string new_client_id(base::Random& random);

enum class Authentication : std::uint8_t { kSimple = 0, kSasl = 0xdf };
std::string preamble(Authentication authentication);
std::string connection_context(const Identity& identity, std::string_view protocol, std::string_view client_id);
void append_call(std::string& out, std::int32_t call_id, std::string_view client_id, const Method& method,
                 std::string_view request);

// A message outside of method calls, without a client id: SASL.
void append_message(std::string& out, std::int32_t call_id, std::string_view message);
void append_frame(std::string& out, std::string_view content);  // with its length before it

// What a server answers instead of a response. `exception` is the Java class.
struct Refusal {
  std::string exception;
  std::string message;
  std::int32_t detail = 0;  // RpcErrorCodeProto
  bool fatal = false;       // the server closes the connection
};

struct Answer {
  std::int32_t call_id = 0;  // negative: for the connection, not for a call
  std::optional<Refusal> refusal;
  std::string_view response;  // points into the frame; empty for a refusal
};
Result<Answer> read_answer(std::string_view frame);

// The refusal as an Error: its kind from the exception's class and the server's code, its message from both.
Error to_error(const Refusal& refusal);
// The server requires authentication and was called without.
bool wants_kerberos(const Error& error);

// Splits a stream into frames.
class FrameReader {
 public:
  void append(std::string_view bytes) { buffer_.append(bytes); }
  // The next whole frame without its length, valid until the next call of either; nullopt for more bytes.
  Result<std::optional<std::string_view>> next();

 private:
  std::string buffer_;
  std::size_t taken_ = 0;
};

}  // namespace tidemark::hadoop
