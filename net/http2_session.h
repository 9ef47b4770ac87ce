// One HTTP/2 connection as bytes, without a socket: what came in goes to feed(), what must go out comes from take().
// The framing, HPACK and stream states are nghttp2's; the limits, the flow control and the guards are ours:
//
//   flow control  only what the owner has consume()d is acknowledged. A stream's window bounds what one slow reader
//                 holds, the connection's window bounds all of them; it is many stream windows, so that a few readers
//                 that stand still do not stop the others.
//   guards        resets, pings, settings, priorities and empty frames come at a bounded rate (CVE-2023-44487,
//                 CVE-2019-9512 and its family); header blocks are bounded in bytes, fields and frames; frames that
//                 wait to go out are bounded as well. A peer that passes one gets GOAWAY with ENHANCE_YOUR_CALM and is
//                 closed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "net/http.h"

namespace tidemark::net {

class Http2Session {
 public:
  enum class Side { kClient, kServer };

  struct Config {
    Side side = Side::kClient;
    HttpLimits limits = {};
    std::size_t streams_max =
        2500;  // that a server lets its client have; that a client has open, if the server allows it
    std::int32_t stream_window_bytes = 1 << 20;
    std::int32_t connection_window_bytes = 32 << 20;
    double resets_per_second = 100;  // of the peer, after a first burst of streams_max or kResetBurstMin
    double control_frames_per_second = 200;
  };
  static constexpr std::int64_t kResetBurstMin = 1000;
  static constexpr std::int64_t kControlBurst = 2000;
  // Before the server's SETTINGS have come nothing is known; this is what RFC 9113 recommends every server to allow.
  static constexpr std::size_t kStreamsBeforeSettings = 100;
  static constexpr int kInterimMax = 16;  // 1xx responses on a stream

  // How a stream ended, when it did not end well.
  struct Closed {
    std::uint32_t error_code = 0;  // HTTP/2's; 0 for a proper end
    bool unprocessed = false;      // the server has not looked at the request: it may be sent again elsewhere
    std::optional<Error> error;    // a limit of ours that the message passed
  };

  // Called from inside feed() and take(). A listener stores the event and may call consume(), reset(), send() and
  // respond(), but not feed() or take().
  class Events {
   public:
    virtual ~Events() = default;
    virtual void on_request(std::int32_t /*stream*/, HttpRequest /*head*/) {}        // of a server
    virtual void on_response(std::int32_t /*stream*/, HttpResponseHead /*head*/) {}  // of a client
    virtual void on_data(std::int32_t stream, std::string_view bytes) = 0;
    virtual void on_end(std::int32_t stream) = 0;                            // the peer has said all
    virtual void on_sent(std::int32_t /*stream*/, std::size_t /*bytes*/) {}  // of what send() queued
    virtual void on_closed(std::int32_t stream, Closed how) = 0;             // the last word about a stream
  };

  Http2Session(Config config, Events& events);
  ~Http2Session();
  Http2Session(const Http2Session&) = delete;
  Http2Session& operator=(const Http2Session&) = delete;

  // An error is final: send what take() still has, then close.
  Result<void> feed(std::string_view bytes, base::MonotonicTime now);
  // Appends what may go out now, about `bytes_max` bytes of it; answers whether there is more.
  bool take(std::string& out, std::size_t bytes_max);
  // Both directions are done, by GOAWAY or by an error: send what was taken, then close.
  bool finished() const;
  std::string_view reason() const;    // what the peer did wrong, for people; "" where it did not
  std::string_view farewell() const;  // what the peer says that we did wrong

  // Client. The request must have passed check_request(). Only while there is room for another stream.
  std::size_t room() const;
  bool settled() const;     // the peer's limits are known
  bool going_away() const;  // GOAWAY was seen or sent: no new streams here
  Result<std::int32_t> submit(const HttpRequest& head, std::string_view scheme, std::string_view authority,
                              Buffer body);

  // Server. With `ends` there is no body; otherwise send() and end() follow.
  void respond(std::int32_t stream, int status, const Headers& headers, bool ends);
  void respond_continue(std::int32_t stream);
  void send(std::int32_t stream, Buffer piece);
  void end(std::int32_t stream);
  std::size_t queued(std::int32_t stream) const;  // bytes given to send() and not yet taken
  // GOAWAY in two steps (RFC 9113 section 6.8): a notice, and after a round trip the number of the last stream served.
  void drain();

  void consume(std::int32_t stream, std::size_t bytes);  // bytes of on_data() that were used
  // RST_STREAM; no further events of the stream. Received bytes must still be consumed.
  void reset(std::int32_t stream, std::uint32_t error_code);
  void ping();
  void goodbye();  // GOAWAY without an error, no stream after those known

  std::size_t streams() const;

  static constexpr std::uint32_t kNoError = 0;
  static constexpr std::uint32_t kInternalError = 2;
  static constexpr std::uint32_t kRefusedStream = 7;
  static constexpr std::uint32_t kCancel = 8;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

std::string_view http2_error_name(std::uint32_t error_code);

}  // namespace tidemark::net
