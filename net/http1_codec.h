// HTTP/1.1 as bytes, without a socket: a reader that turns bytes into heads, body pieces and ends, and writers.
//
// The reader is strict, because whatever two programs on a path read differently is a way to smuggle a request past one
// of them (RFC 9112 section 11.2): CRLF only, no folded lines, no blank before a colon, one Content-Length of digits,
// never Content-Length together with Transfer-Encoding, no transfer coding but chunked, exactly one Host.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace tidemark::net {

struct Http1Head {
  std::string method;  // of a request
  std::string target;  // origin form; an absolute-form target is reduced to it
  int status = 0;      // of a response
  int minor_version = 1;
  Headers headers;
  bool keep_alive = true;         // as far as this side has a say
  bool expects_continue = false;  // the client waits for "100 Continue" before it sends the body
  enum class Body { kNone, kLength, kChunked, kUntilClose };
  Body body = Body::kNone;
  std::uint64_t content_length = 0;  // with kLength
};

class Http1Reader {
 public:
  enum class Kind { kRequests, kResponses };
  enum class Step {
    kNeedMore,  // the input is used up
    kHead,      // head() is complete
    kBody,      // body() is the next piece, a view into the input given
    kEnd,       // the message is complete; the next call begins the next one
    kFailed,    // error(), for good; of a request its `code` is the status to answer with
  };
  static constexpr std::size_t kChunkLineMax = 256;  // bytes of a chunk's size with its extensions
  static constexpr int kInterimMax = 16;             // 1xx responses before the real one; they are passed over

  Http1Reader(Kind kind, const HttpLimits& limits) : kind_(kind), limits_(limits) {}

  // Takes bytes from the front of `input`, at most up to the next event.
  Step next(std::string_view& input);
  // The peer's stream ended: kEnd where that completes a body, kNeedMore between messages, kFailed (truncated) anywhere
  // else.
  Step finish();
  // Before each response: whether it answers a HEAD (and so has no body, whatever its fields say).
  void answers_head(bool yes) { answers_head_ = yes; }

  const Http1Head& head() const { return head_; }
  Http1Head take_head() { return std::move(head_); }
  std::string_view body() const { return body_; }
  const Error& error() const { return *error_; }
  // Between messages, with no byte of the next one seen.
  bool idle() const { return state_ == State::kStartLine && head_bytes_ == 0 && partial_.empty(); }

 private:
  enum class State {
    kStartLine,
    kFields,
    kLength,
    kChunkSize,
    kChunkData,
    kChunkEnd,
    kTrailers,
    kUntilClose,
    kEnding,
    kFailed
  };

  Step refuse(int status, std::string_view why);
  Step cut(std::string_view where);
  bool take_line(std::string_view& input, std::size_t bytes_max, std::string_view& line);
  bool take_head_line(std::string_view& input, std::string_view& line);
  void begin_message();
  bool request_line(std::string_view line);
  bool request_target(std::string_view target);
  bool status_line(std::string_view line);
  bool field(std::string_view line, Headers& into);
  bool finish_head();
  bool request_framing();
  bool response_framing();
  bool chunk_size(std::string_view line);
  Step piece(std::string_view& input);

  const Kind kind_;
  const HttpLimits limits_;
  State state_ = State::kStartLine;
  Http1Head head_;
  Headers trailers_;
  std::string_view body_;
  std::optional<Error> error_;
  std::string partial_;         // of a line whose end has not come yet
  std::string joined_;          // holds a line that came in parts while it is looked at
  std::size_t head_bytes_ = 0;  // start line, fields and trailers of this message so far
  std::size_t field_count_ = 0;
  std::uint64_t remaining_ = 0;  // of the body or chunk
  std::string authority_;        // of an absolute-form target
  bool answers_head_ = false;
  bool blank_line_seen_ = false;
  int interim_ = 0;
};

// Writers. What callers give must have passed check_request() or check_fields(); connection fields in it are left out.

// `host`: for the Host field. The body's length is written, the body is not.
void append_http1_request(std::string& out, const HttpRequest& head, std::string_view host, std::size_t body_bytes);

struct Http1Framing {
  Http1Head::Body body = Http1Head::Body::kNone;
  std::uint64_t content_length = 0;
  bool keep_alive = true;
};
void append_http1_response(std::string& out, int status, const Headers& headers, const Http1Framing& framing);
void append_chunk_size(std::string& out, std::size_t bytes);  // 1 or more; after the chunk's bytes comes kChunkEnd
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
inline constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace tidemark::net
