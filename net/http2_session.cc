#include "net/http2_session.h"

#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/limits.h"
#include "base/text.h"
#include "net/http2_stream.h"
#include "net/http_fields.h"

namespace tidemark::net {
namespace {

constexpr std::uint32_t kEnhanceYourCalm = NGHTTP2_ENHANCE_YOUR_CALM;
constexpr std::size_t kContinuationsMax = 8;    // frames of one header block after the first
constexpr std::size_t kSettingsMax = 32;        // entries of one SETTINGS frame
constexpr std::size_t kOutboundAcksMax = 1000;  // acknowledgements that wait to go out
constexpr std::size_t kWindowSteps = 16;        // WINDOW_UPDATEs for one connection window
constexpr std::size_t kOutboundFramesPerStream = 8;
constexpr std::size_t kOutboundFramesSpare = 4096;
constexpr std::uint8_t kDrainPing[8] = {'d', 'r', 'a', 'i', 'n', 0, 0, 1};
constexpr std::uint8_t kAlivePing[8] = {'a', 'l', 'i', 'v', 'e', 0, 0, 1};

template <class T, void (*Delete)(T*)>
struct Deleter {
  void operator()(T* pointer) const { Delete(pointer); }
};
using CallbacksPtr =
    std::unique_ptr<nghttp2_session_callbacks, Deleter<nghttp2_session_callbacks, nghttp2_session_callbacks_del>>;
using OptionPtr = std::unique_ptr<nghttp2_option, Deleter<nghttp2_option, nghttp2_option_del>>;
using SessionPtr = std::unique_ptr<nghttp2_session, Deleter<nghttp2_session, nghttp2_session_del>>;

std::string_view text(const std::uint8_t* bytes, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes), length};
}

// Reason of a GOAWAY; "" if there is no error.
std::string words(const nghttp2_goaway& frame) {
  if (frame.error_code == NGHTTP2_NO_ERROR) return {};
  std::string out(http2_error_name(frame.error_code));
  if (frame.opaque_data_len > 0) out += base::cat(" ", base::in_quotes(text(frame.opaque_data, frame.opaque_data_len)));
  return out;
}

class Fields {
 public:
  void add(std::string_view name, std::string_view value) {
    fields_.push_back({reinterpret_cast<std::uint8_t*>(const_cast<char*>(name.data())),
                       reinterpret_cast<std::uint8_t*>(const_cast<char*>(value.data())), name.size(), value.size(),
                       NGHTTP2_NV_FLAG_NONE});
  }
  // Views: `headers` must outlive this.
  void add(const Headers& headers) {
    for (const auto& [name, value] : headers) {
      if (!is_connection_field(name) && name != "host") add(name, value);
    }
  }
  const nghttp2_nv* data() const { return fields_.data(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<nghttp2_nv> fields_;
};

}  // namespace

std::string_view http2_error_name(std::uint32_t error_code) {
  return nghttp2_http2_strerror(error_code);
}

struct Http2Session::Impl {
  using Stream = Http2Stream;

  Config config;
  Events& events;
  SessionPtr session;
  std::unordered_map<std::int32_t, std::unique_ptr<Stream>> streams;
  base::TokenBucket resets;
  base::TokenBucket control_frames;
  base::MonotonicTime now;
  std::size_t owed = 0;        // consumed, and not yet returned to the connection's window
  std::string* out = nullptr;  // during take()
  std::size_t out_max = 0;
  std::string last_words;  // a GOAWAY that the library is no longer asked to send
  std::string reason;
  std::string farewell;
  bool dead = false;
  bool goaway_seen = false;
  bool goaway_sent = false;
  bool settings_seen = false;

  Impl(Config given, Events& listener)
      : config(given),
        events(listener),
        resets(given.resets_per_second, std::max(kResetBurstMin, static_cast<std::int64_t>(given.streams_max))),
        control_frames(given.control_frames_per_second, kControlBurst) {}

  bool server() const { return config.side == Side::kServer; }

  Stream* find(std::int32_t id) const {
    const auto at = streams.find(id);
    return at == streams.end() ? nullptr : at->second.get();
  }

  Stream& make(std::int32_t id) {
    auto& stream = streams[id];
    stream = std::make_unique<Stream>();
    stream->id = id;
    return *stream;
  }

  void close(std::int32_t id, Closed how) {
    const auto at = streams.find(id);
    if (at == streams.end()) return;
    const auto stream = std::move(at->second);
    streams.erase(at);
    if (!how.error) how.error = stream->over_limit;
    const bool told = !server() || stream->head_told;
    if (!stream->silent && told) events.on_closed(id, std::move(how));
  }

  // The peer misbehaves: no library call after this, only a GOAWAY made by hand.
  int breach(std::string_view why) {
    if (dead) return NGHTTP2_ERR_CALLBACK_FAILURE;
    reason = why;
    die(kEnhanceYourCalm);
    return NGHTTP2_ERR_CALLBACK_FAILURE;
  }

  void die(std::uint32_t error_code) {
    dead = true;
    const auto last = static_cast<std::uint32_t>(server() ? nghttp2_session_get_last_proc_stream_id(session.get()) : 0);
    last_words.assign({0, 0, 8, NGHTTP2_GOAWAY, 0, 0, 0, 0, 0});
    for (const std::uint32_t word : {last, error_code}) {
      for (int shift = 24; shift >= 0; shift -= 8) last_words.push_back(static_cast<char>(word >> shift & 0xff));
    }
  }

  // --- nghttp2 callbacks
  // ----------------------------------------------------------------------------------------------

  int begin_frame(const nghttp2_frame_hd& head) {
    const bool control = head.type == NGHTTP2_PING || head.type == NGHTTP2_SETTINGS || head.type == NGHTTP2_PRIORITY ||
                         (head.type == NGHTTP2_DATA && head.length == 0 && (head.flags & NGHTTP2_FLAG_END_STREAM) == 0);
    if (control && !control_frames.try_take(now)) return breach("too many control or empty frames");
    return 0;
  }

  int begin_headers(const nghttp2_frame& frame) {
    if (find(frame.hd.stream_id) != nullptr) return 0;  // a response, interim or final, or trailers
    if (!server()) return 0;
    make(frame.hd.stream_id);
    return 0;
  }

  int header(const nghttp2_frame& frame, std::string_view name, std::string_view value) {
    Stream* stream = find(frame.hd.stream_id);
    if (stream == nullptr || stream->silent) return 0;
    stream->take_field(server(), config.limits, name, value);
    return 0;
  }

  void request_complete(Stream& stream) {
    if (const int refused = stream.refusal(); refused != 0) {
      stream.silent = true;
      respond(stream.id, refused, {}, true);
      return;
    }
    stream.head_told = true;
    events.on_request(stream.id, std::move(stream.request));
  }

  int response_complete(Stream& stream) {
    if (stream.over_limit) {
      give_up(stream);
    } else if (stream.response.status < 200) {
      stream.response = HttpResponseHead{};
      if (++stream.interim > kInterimMax) return breach("too many interim responses");
    } else {
      stream.head_told = true;
      events.on_response(stream.id, std::move(stream.response));
    }
    return 0;
  }

  // A message passed a limit of ours: its owner hears so, the peer gets RST_STREAM.
  void give_up(Stream& stream) {
    nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, stream.id, kCancel);
    if (!stream.silent)
      events.on_closed(stream.id, {.error_code = kCancel, .unprocessed = false, .error = stream.over_limit});
    stream.silent = true;
  }

  int frame_received(const nghttp2_frame& frame) {
    Stream* stream = frame.hd.stream_id != 0 ? find(frame.hd.stream_id) : nullptr;
    const bool ends = (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    switch (frame.hd.type) {
      case NGHTTP2_HEADERS:
        if (stream == nullptr) return 0;
        if (stream->head_told) {  // trailers
          if (stream->over_limit && !stream->silent) give_up(*stream);
        } else if (server()) {
          request_complete(*stream);
        } else if (const int failed = response_complete(*stream); failed != 0) {
          return failed;
        }
        if (ends && !stream->silent) events.on_end(stream->id);
        return 0;
      case NGHTTP2_DATA:
        if (stream != nullptr && ends && !stream->silent) events.on_end(stream->id);
        return 0;
      case NGHTTP2_RST_STREAM:
        return resets.try_take(now) ? 0 : breach("streams are reset too fast");
      case NGHTTP2_GOAWAY:
        goaway_seen = true;
        farewell = words(frame.goaway);
        return 0;
      case NGHTTP2_SETTINGS:
        settings_seen = true;
        return 0;
      case NGHTTP2_PING:
        if ((frame.hd.flags & NGHTTP2_FLAG_ACK) != 0 && std::ranges::equal(frame.ping.opaque_data, kDrainPing)) {
          nghttp2_submit_goaway(session.get(), NGHTTP2_FLAG_NONE,
                                nghttp2_session_get_last_proc_stream_id(session.get()), kNoError, nullptr, 0);
        }
        return 0;
      default:
        return 0;
    }
  }

  int data(std::int32_t id, std::string_view bytes) {
    Stream* stream = find(id);
    if (stream == nullptr || stream->silent || !stream->head_told) {
      consume(id, bytes.size());  // no reader will return the window of the connection
      return 0;
    }
    events.on_data(id, bytes);
    return 0;
  }

  // The library would update the peer only after half of the connection's window, so idle readers that hold that half
  // would block all others. So we return the connection's part in smaller steps.
  void consume(std::int32_t id, std::size_t bytes) {
    nghttp2_session_consume_stream(session.get(), id, bytes);
    owed += bytes;
    if (owed < static_cast<std::size_t>(config.connection_window_bytes) / kWindowSteps) return;
    nghttp2_submit_window_update(session.get(), NGHTTP2_FLAG_NONE, 0, static_cast<std::int32_t>(owed));
    owed = 0;
  }

  int frame_sent(const nghttp2_frame& frame) {
    if (frame.hd.type == NGHTTP2_GOAWAY) {
      goaway_sent = true;
      if (reason.empty()) reason = words(frame.goaway);
    }
    if (!server()) return 0;
    // Our own resets count when it was the peer that made them necessary (CVE-2025-8671).
    if (frame.hd.type == NGHTTP2_RST_STREAM && frame.rst_stream.error_code != kNoError &&
        frame.rst_stream.error_code != kCancel && frame.rst_stream.error_code != kInternalError &&
        !resets.try_take(now)) {
      return breach("streams must be reset too often");
    }
    // An answer may be complete before the request is: the rest of that is not wanted (RFC 9113 section 8.1).
    const bool ends = (frame.hd.type == NGHTTP2_HEADERS || frame.hd.type == NGHTTP2_DATA) &&
                      (frame.hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
    if (ends && nghttp2_session_get_stream_remote_close(session.get(), frame.hd.stream_id) == 0) {
      nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, frame.hd.stream_id, kNoError);
    }
    return 0;
  }

  void frame_not_sent(const nghttp2_frame& frame, int error) {
    if (frame.hd.type != NGHTTP2_HEADERS) return;
    if (!server()) {
      Closed how{.error_code = kRefusedStream, .unprocessed = true, .error = std::nullopt};
      if (error != NGHTTP2_ERR_START_STREAM_NOT_ALLOWED && error != NGHTTP2_ERR_SESSION_CLOSING) {
        how.unprocessed = false;
        how.error = Error{ErrorKind::kInvalid,
                          base::cat("HTTP/2: the request cannot be sent: ", nghttp2_strerror(error)), 0, 0};
      }
      close(frame.hd.stream_id, std::move(how));
    } else if (error != NGHTTP2_ERR_STREAM_CLOSED && error != NGHTTP2_ERR_STREAM_CLOSING) {
      nghttp2_submit_rst_stream(session.get(), NGHTTP2_FLAG_NONE, frame.hd.stream_id, kInternalError);
    }
  }

  ssize_t read_body(std::int32_t id, std::size_t length, std::uint32_t& flags) {
    Stream* stream = find(id);
    if (stream == nullptr) return NGHTTP2_ERR_DEFERRED;
    if (stream->queued == 0) {
      if (stream->end_wanted) {
        flags |= NGHTTP2_DATA_FLAG_EOF;
        return 0;
      }
      stream->deferred = true;
      return NGHTTP2_ERR_DEFERRED;
    }
    const std::size_t taken = std::min(length, stream->queued);
    flags |= NGHTTP2_DATA_FLAG_NO_COPY;
    if (taken == stream->queued && stream->end_wanted) flags |= NGHTTP2_DATA_FLAG_EOF;
    return static_cast<ssize_t>(taken);
  }

  int send_body(const nghttp2_frame& frame, const std::uint8_t* frame_head, std::size_t length) {
    constexpr std::size_t kFrameHeadBytes = 9;
    TM_CHECK(frame.data.padlen == 0, "no padding was asked for");
    out->append(text(frame_head, kFrameHeadBytes));
    Stream* stream = find(frame.hd.stream_id);
    if (stream == nullptr) return NGHTTP2_ERR_CALLBACK_FAILURE;
    stream->pop(length, *out);
    if (!stream->silent) events.on_sent(stream->id, length);
    return out->size() >= out_max ? NGHTTP2_ERR_PAUSE : 0;
  }

  void respond(std::int32_t id, int status, const Headers& headers, bool ends) {
    const std::string code = base::cat(status);
    Fields fields;
    fields.add(":status", code);
    fields.add(headers);
    const nghttp2_data_provider body = provider();
    nghttp2_submit_response(session.get(), id, fields.data(), fields.size(), ends ? nullptr : &body);
  }

  nghttp2_data_provider provider() {
    nghttp2_data_provider body{};
    body.source.ptr = this;
    body.read_callback = [](nghttp2_session*, std::int32_t id, std::uint8_t*, std::size_t length, std::uint32_t* flags,
                            nghttp2_data_source*,
                            void* self) { return static_cast<Impl*>(self)->read_body(id, length, *flags); };
    return body;
  }

  void start();
};

void Http2Session::Impl::start() {
  nghttp2_session_callbacks* raw_callbacks = nullptr;
  TM_CHECK(nghttp2_session_callbacks_new(&raw_callbacks) == 0, "out of memory");
  const CallbacksPtr callbacks(raw_callbacks);
  nghttp2_session_callbacks_set_on_begin_frame_callback(raw_callbacks,
                                                        [](nghttp2_session*, const nghttp2_frame_hd* head, void* self) {
                                                          return static_cast<Impl*>(self)->begin_frame(*head);
                                                        });
  nghttp2_session_callbacks_set_on_begin_headers_callback(raw_callbacks,
                                                          [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
                                                            return static_cast<Impl*>(self)->begin_headers(*frame);
                                                          });
  nghttp2_session_callbacks_set_on_header_callback(
      raw_callbacks, [](nghttp2_session*, const nghttp2_frame* frame, const std::uint8_t* name, std::size_t name_length,
                        const std::uint8_t* value, std::size_t value_length, std::uint8_t, void* self) {
        return static_cast<Impl*>(self)->header(*frame, text(name, name_length), text(value, value_length));
      });
  // By default a malformed field is passed over; we refuse its message (RFC 9113 section 8.1.1).
  nghttp2_session_callbacks_set_on_invalid_header_callback(
      raw_callbacks,
      [](nghttp2_session*, const nghttp2_frame*, const std::uint8_t*, std::size_t, const std::uint8_t*, std::size_t,
         std::uint8_t, void*) { return static_cast<int>(NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE); });
  nghttp2_session_callbacks_set_on_frame_recv_callback(raw_callbacks,
                                                       [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
                                                         return static_cast<Impl*>(self)->frame_received(*frame);
                                                       });
  nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
      raw_callbacks, [](nghttp2_session*, std::uint8_t, std::int32_t id, const std::uint8_t* bytes, std::size_t length,
                        void* self) { return static_cast<Impl*>(self)->data(id, text(bytes, length)); });
  nghttp2_session_callbacks_set_on_stream_close_callback(
      raw_callbacks, [](nghttp2_session*, std::int32_t id, std::uint32_t error_code, void* self) {
        static_cast<Impl*>(self)->close(
            id, {.error_code = error_code, .unprocessed = error_code == NGHTTP2_REFUSED_STREAM, .error = std::nullopt});
        return 0;
      });
  nghttp2_session_callbacks_set_on_frame_send_callback(raw_callbacks,
                                                       [](nghttp2_session*, const nghttp2_frame* frame, void* self) {
                                                         return static_cast<Impl*>(self)->frame_sent(*frame);
                                                       });
  nghttp2_session_callbacks_set_on_frame_not_send_callback(
      raw_callbacks, [](nghttp2_session*, const nghttp2_frame* frame, int error, void* self) {
        static_cast<Impl*>(self)->frame_not_sent(*frame, error);
        return 0;
      });
  nghttp2_session_callbacks_set_send_data_callback(
      raw_callbacks,
      [](nghttp2_session*, nghttp2_frame* frame, const std::uint8_t* head, std::size_t length, nghttp2_data_source*,
         void* self) { return static_cast<Impl*>(self)->send_body(*frame, head, length); });
  nghttp2_session_callbacks_set_error_callback2(
      raw_callbacks, [](nghttp2_session*, int, const char* message, std::size_t length, void* self) {
        static_cast<Impl*>(self)->reason = base::in_quotes({message, length}, 200);
        return 0;
      });

  nghttp2_option* raw_option = nullptr;
  TM_CHECK(nghttp2_option_new(&raw_option) == 0, "out of memory");
  const OptionPtr option(raw_option);
  nghttp2_option_set_no_auto_window_update(raw_option, 1);
  nghttp2_option_set_no_closed_streams(raw_option, 1);  // they were kept for priorities that are history
  nghttp2_option_set_max_settings(raw_option, kSettingsMax);
  nghttp2_option_set_max_outbound_ack(raw_option, kOutboundAcksMax);
  nghttp2_option_set_max_continuations(raw_option, kContinuationsMax);
  nghttp2_option_set_peer_max_concurrent_streams(raw_option, kStreamsBeforeSettings);
  // The library has a guard of its own, with a burst that 2,000 cancelled watches would trip; ours takes its place.
  nghttp2_option_set_stream_reset_rate_limit(raw_option, UINT64_MAX / 2, UINT64_MAX / 2);

  nghttp2_session* raw_session = nullptr;
  const auto make_session = server() ? nghttp2_session_server_new2 : nghttp2_session_client_new2;
  TM_CHECK(make_session(&raw_session, raw_callbacks, this, raw_option) == 0, "out of memory");
  session.reset(raw_session);

  std::vector<nghttp2_settings_entry> settings = {
      {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, static_cast<std::uint32_t>(config.stream_window_bytes)},
      {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, static_cast<std::uint32_t>(config.limits.header_bytes_max)}};
  if (server()) {
    settings.push_back({NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, static_cast<std::uint32_t>(config.streams_max)});
  } else {
    settings.push_back({NGHTTP2_SETTINGS_ENABLE_PUSH, 0});
  }
  const bool fine =
      nghttp2_submit_settings(raw_session, NGHTTP2_FLAG_NONE, settings.data(), settings.size()) == 0 &&
      nghttp2_session_set_local_window_size(raw_session, NGHTTP2_FLAG_NONE, 0, config.connection_window_bytes) == 0;
  TM_CHECK(fine, "the settings are ours and valid");
}

Http2Session::Http2Session(Config config, Events& events) : impl_(std::make_unique<Impl>(config, events)) {
  impl_->start();
}

Http2Session::~Http2Session() {
  impl_->session.reset();  // it calls no one while it goes, but it holds a pointer to what goes with us
}

Result<void> Http2Session::feed(std::string_view bytes, base::MonotonicTime now) {
  Impl& self = *impl_;
  self.now = now;
  const auto broken = [&] { return fail(ErrorKind::kInvalid, "HTTP/2: ", self.reason); };
  if (self.dead) return broken();
  const ssize_t taken =
      nghttp2_session_mem_recv(self.session.get(), reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
  if (self.dead) return broken();
  if (taken < 0) {
    if (self.reason.empty()) self.reason = nghttp2_strerror(static_cast<int>(taken));
    const bool flood = taken == NGHTTP2_ERR_FLOODED || taken == NGHTTP2_ERR_TOO_MANY_CONTINUATIONS;
    self.die(flood ? kEnhanceYourCalm : static_cast<std::uint32_t>(NGHTTP2_PROTOCOL_ERROR));
    return broken();
  }
  // Whatever makes us answer with a frame can be sent faster than the peer takes the answers.
  if (nghttp2_session_get_outbound_queue_size(self.session.get()) >
      kOutboundFramesPerStream * self.config.streams_max + kOutboundFramesSpare) {
    self.breach("the peer asks for answers and does not read them");
    return broken();
  }
  return {};
}

bool Http2Session::take(std::string& out, std::size_t bytes_max) {
  Impl& self = *impl_;
  self.out = &out;
  self.out_max = bytes_max;
  while (!self.dead && out.size() < bytes_max) {
    const std::uint8_t* bytes = nullptr;
    const ssize_t length = nghttp2_session_mem_send(self.session.get(), &bytes);
    if (length < 0 && !self.dead) {
      self.reason = nghttp2_strerror(static_cast<int>(length));
      self.die(NGHTTP2_INTERNAL_ERROR);
    }
    if (length <= 0) break;
    out.append(text(bytes, static_cast<std::size_t>(length)));
  }
  self.out = nullptr;
  if (self.dead) {
    out.append(std::exchange(self.last_words, {}));
    return false;
  }
  return nghttp2_session_want_write(self.session.get()) != 0 && out.size() >= bytes_max;
}

bool Http2Session::finished() const {
  return impl_->dead || (nghttp2_session_want_read(impl_->session.get()) == 0 &&
                         nghttp2_session_want_write(impl_->session.get()) == 0);
}

std::string_view Http2Session::reason() const {
  return impl_->reason;
}

std::string_view Http2Session::farewell() const {
  return impl_->farewell;
}

bool Http2Session::going_away() const {
  return impl_->dead || impl_->goaway_seen || impl_->goaway_sent ||
         nghttp2_session_check_request_allowed(impl_->session.get()) == 0;
}

bool Http2Session::settled() const {
  return impl_->settings_seen;
}

std::size_t Http2Session::room() const {
  if (going_away()) return 0;
  const std::size_t allowed = impl_->settings_seen ? nghttp2_session_get_remote_settings(
                                                         impl_->session.get(), NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
                                                   : kStreamsBeforeSettings;
  const std::size_t most = std::min(allowed, impl_->config.streams_max);
  return most - std::min(most, impl_->streams.size());
}

Result<std::int32_t> Http2Session::submit(const HttpRequest& head, std::string_view scheme, std::string_view authority,
                                          Buffer body) {
  TM_CHECK(!impl_->server(), "only a client asks");
  Fields fields;
  fields.add(":method", head.method);
  fields.add(":scheme", scheme);
  fields.add(":authority", authority);
  fields.add(":path", head.target);
  const bool has_body = body != nullptr && !body->empty();
  const std::string length = has_body ? base::cat(body->size()) : std::string();
  for (const auto& [name, value] : head.headers) {
    if (!is_connection_field(name) && name != "host" && name != "content-length") fields.add(name, value);
  }
  if (has_body) fields.add("content-length", length);
  const nghttp2_data_provider provider = impl_->provider();
  const std::int32_t id = nghttp2_submit_request(impl_->session.get(), nullptr, fields.data(), fields.size(),
                                                 has_body ? &provider : nullptr, nullptr);
  if (id < 0) return fail(ErrorKind::kUnavailable, "HTTP/2: no new stream: ", nghttp2_strerror(id));
  Impl::Stream& stream = impl_->make(id);
  if (has_body) {
    stream.push(std::move(body));
    stream.end_wanted = true;
  }
  return id;
}

void Http2Session::respond(std::int32_t stream, int status, const Headers& headers, bool ends) {
  if (!impl_->dead && impl_->find(stream) != nullptr) impl_->respond(stream, status, headers, ends);
}

void Http2Session::respond_continue(std::int32_t stream) {
  if (impl_->dead || impl_->find(stream) == nullptr) return;
  Fields fields;
  fields.add(":status", "100");
  nghttp2_submit_headers(impl_->session.get(), NGHTTP2_FLAG_NONE, stream, nullptr, fields.data(), fields.size(),
                         nullptr);
}

void Http2Session::send(std::int32_t id, Buffer piece) {
  Impl::Stream* stream = impl_->find(id);
  if (impl_->dead || stream == nullptr || piece->empty()) return;
  TM_CHECK(!stream->end_wanted, "after end() nothing is sent");
  stream->push(std::move(piece));
  if (std::exchange(stream->deferred, false)) nghttp2_session_resume_data(impl_->session.get(), id);
}

void Http2Session::end(std::int32_t id) {
  Impl::Stream* stream = impl_->find(id);
  if (impl_->dead || stream == nullptr) return;
  stream->end_wanted = true;
  if (std::exchange(stream->deferred, false)) nghttp2_session_resume_data(impl_->session.get(), id);
}

std::size_t Http2Session::queued(std::int32_t id) const {
  const Impl::Stream* stream = impl_->find(id);
  return stream == nullptr ? 0 : stream->queued;
}

void Http2Session::drain() {
  if (impl_->dead) return;
  nghttp2_submit_shutdown_notice(impl_->session.get());
  nghttp2_submit_ping(impl_->session.get(), NGHTTP2_FLAG_NONE, kDrainPing);
}

void Http2Session::consume(std::int32_t stream, std::size_t bytes) {
  if (!impl_->dead && bytes > 0) impl_->consume(stream, bytes);
}

void Http2Session::reset(std::int32_t id, std::uint32_t error_code) {
  Impl::Stream* stream = impl_->find(id);
  if (impl_->dead || stream == nullptr || stream->silent) return;
  stream->silent = true;
  stream->end_wanted = false;
  stream->drop_queue();
  nghttp2_submit_rst_stream(impl_->session.get(), NGHTTP2_FLAG_NONE, id, error_code);
}

void Http2Session::ping() {
  if (!impl_->dead) nghttp2_submit_ping(impl_->session.get(), NGHTTP2_FLAG_NONE, kAlivePing);
}

void Http2Session::goodbye() {
  if (impl_->dead) return;
  nghttp2_session_terminate_session(impl_->session.get(), kNoError);
}

std::size_t Http2Session::streams() const {
  return impl_->streams.size();
}

}  // namespace tidemark::net
