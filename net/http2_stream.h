// One stream of an HTTP/2 connection, as far as framing has no part in it: the message that comes in, field by field,
// and the bytes that wait to go out. Internal to net/.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "net/http.h"

namespace tidemark::net {

struct Http2Stream {
  std::int32_t id = 0;
  bool silent = false;  // no further events

  // What comes in: a request of a client, or a response of a server.
  HttpRequest request;
  HttpResponseHead response;
  std::size_t header_bytes = 0;  // counted as RFC 9113 section 6.5.2 does
  std::size_t header_count = 0;
  std::optional<Error> over_limit;  // of ours, that the message passed
  bool head_told = false;
  int interim = 0;  // 1xx responses so far

  // One field of a head or of trailers. What is over a limit is dropped (HPACK is one state for the connection, so it
  // was decoded all the same) and noted.
  void take_field(bool of_request, const HttpLimits& limits, std::string_view name, std::string_view value);
  // The status that rejects a complete request head before the handler; 0: accepted.
  int refusal() const;

  // What goes out.
  std::deque<Buffer> queue;
  std::size_t offset = 0;  // into the first buffer
  std::size_t queued = 0;  // bytes
  bool end_wanted = false;
  bool deferred = false;  // the library got no data and waits to be resumed

  void push(Buffer piece);
  void pop(std::size_t bytes, std::string& out);  // from the front, no more than `queued`
  void drop_queue();
};

}  // namespace tidemark::net
