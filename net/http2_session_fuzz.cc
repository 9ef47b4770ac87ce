// A peer that speaks HTTP/2 well enough to be let in, and then anything: no crash, no endless work, memory bounded, and
// a session that has refused its peer stays silent. Half of the inputs are bytes, half are well-formed frames of random
// kind.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>

#include "base/check.h"
#include "net/http2_session.h"

using namespace tidemark::net;
using tidemark::base::Duration;
using tidemark::base::MonotonicTime;

namespace {

struct Listener : Http2Session::Events {
  Http2Session* session = nullptr;
  std::set<std::int32_t> open;
  std::size_t unread = 0;
  std::size_t held_max = 0;

  void on_request(std::int32_t id, HttpRequest) override {
    TM_CHECK(open.insert(id).second, "a stream begins once");
    if (id % 4 == 1) session->respond(id, 200, {}, false);
    if (id % 4 == 1) session->send(id, make_buffer(std::string(1000, 'x')));
    if (id % 8 == 1) session->end(id);
  }
  void on_response(std::int32_t id, HttpResponseHead head) override {
    TM_CHECK(open.contains(id) && head.status >= 200, "an answer belongs to a question");
  }
  void on_data(std::int32_t id, std::string_view bytes) override {
    TM_CHECK(open.contains(id), "data belongs to an open stream");
    if (id % 3 == 0) {
      session->consume(id, bytes.size());
    } else {
      unread += bytes.size();
      held_max = std::max(held_max, unread);
    }
  }
  void on_end(std::int32_t id) override { TM_CHECK(open.contains(id), "only an open stream ends"); }
  void on_closed(std::int32_t id, Http2Session::Closed) override { TM_CHECK(open.erase(id) == 1, "closed once"); }
};

std::string frames(std::string_view bytes) {
  std::string out;
  while (bytes.size() > 4) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(bytes[at]); };
    const std::size_t length = std::min<std::size_t>(byte(3) % 64, bytes.size() - 4);
    out.append({0, 0, static_cast<char>(length), static_cast<char>(byte(0) % 11), bytes[1], 0, 0, 0,
                static_cast<char>(byte(2) % 16)});
    out.append(bytes.substr(4, length));
    bytes.remove_prefix(4 + length);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  constexpr std::int32_t kWindow = 70'000;
  Http2Session::Config config;
  config.side = (data[0] & 1) != 0 ? Http2Session::Side::kServer : Http2Session::Side::kClient;
  config.streams_max = 20;
  config.limits.header_bytes_max = 2000;
  config.stream_window_bytes = kWindow;
  config.connection_window_bytes = kWindow;
  Listener listener;
  Http2Session session(config, listener);
  listener.session = &session;

  std::string input((data[0] & 1) != 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "");
  input.append({0, 0, 0, 4, 0, 0, 0, 0, 0});  // SETTINGS
  input += (data[0] & 2) != 0 ? frames(rest) : std::string(rest);
  if (config.side == Http2Session::Side::kClient) {
    for (int i = 0; i < 5; ++i) {
      if (const auto id = session.submit({}, "https", "h", make_buffer(std::string(i * 1000, 'b'))))
        listener.open.insert(*id);
    }
  }
  MonotonicTime now{};
  const std::size_t piece = 1 + data[1];
  std::string out;
  bool refused = false;
  for (std::size_t at = 0; at < input.size(); at += piece) {
    now = now + std::chrono::milliseconds(1);
    const bool fine = session.feed(std::string_view(input).substr(at, piece), now).has_value();
    TM_CHECK(!(refused && fine), "a refusal is final");
    refused = refused || !fine;
    out.clear();
    if ((at / piece) % 3 == 0) session.take(out, 1 << 16);
    TM_CHECK(out.size() <= (1 << 16) + (1 << 15), "take keeps to its measure");
    if (at % 5 == 0) session.reset(static_cast<std::int32_t>(at % 16), Http2Session::kCancel);
    if (at % 5 == 0) listener.open.erase(static_cast<std::int32_t>(at % 16));
  }
  TM_CHECK(listener.held_max <= static_cast<std::size_t>(kWindow), "no more is held than the window lets in");
  return 0;
}
