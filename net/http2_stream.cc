#include "net/http2_stream.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "net/http_fields.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kFieldOverheadBytes = 32;  // what RFC 9113 section 6.5.2 counts for each field beyond its text

void take_request_field(HttpRequest& request, std::string_view name, std::string_view value) {
  if (name == ":method") {
    request.method = value;
  } else if (name == ":path") {
    request.target = value;
  } else if (name == ":authority") {
    request.headers.set("host", value);
  } else if (name == "host") {
    if (!request.headers.has("host")) request.headers.add(name, value);
  } else if (!name.starts_with(':')) {
    request.headers.add(name, value);
  }
}

}  // namespace

void Http2Stream::take_field(bool of_request, const HttpLimits& limits, std::string_view name, std::string_view value) {
  header_bytes += name.size() + value.size() + kFieldOverheadBytes;
  ++header_count;
  if (header_bytes > limits.header_bytes_max || header_count > limits.header_count_max) {
    if (!over_limit) {
      over_limit = Error{ErrorKind::kExhausted,
                         base::cat("the header fields are more than ", limits.header_count_max, " or ",
                                   limits.header_bytes_max, " bytes"),
                         of_request ? 431 : 0, 0};
    }
    return;
  }
  if (head_told) return;  // trailers are ignored
  if (of_request) {
    take_request_field(request, name, value);
  } else if (name == ":status") {
    response.status = static_cast<int>(base::parse_uint(value).value_or(0));
  } else {
    response.headers.add(name, value);
  }
}

int Http2Stream::refusal() const {
  if (over_limit) return 431;
  if (request.method == "CONNECT") return 501;
  const bool plain = is_request_target(request.target) && request.target.find('#') == std::string::npos;
  return plain ? 0 : 400;
}

void Http2Stream::push(Buffer piece) {
  queued += piece->size();
  queue.push_back(std::move(piece));
}

void Http2Stream::pop(std::size_t bytes, std::string& out) {
  queued -= bytes;
  while (bytes > 0) {
    const std::string& front = *queue.front();
    const std::size_t part = std::min(bytes, front.size() - offset);
    out.append(front, offset, part);
    offset += part;
    bytes -= part;
    if (offset == front.size()) {
      queue.pop_front();
      offset = 0;
    }
  }
}

void Http2Stream::drop_queue() {
  queue.clear();
  queued = offset = 0;
}

}  // namespace tidemark::net
