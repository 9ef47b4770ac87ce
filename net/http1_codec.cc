#include "net/http1_codec.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "net/http_fields.h"

namespace tidemark::net {
namespace {

constexpr int kChunkDigitsMax = 15;  // 2^60: sums stay far from overflow

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::size_t count(const Headers& headers, std::string_view name) {
  return static_cast<std::size_t>(
      std::ranges::count_if(headers, [&](const auto& field) { return field.first == name; }));
}

bool connection_names(const Headers& headers, std::string_view word) {
  return std::ranges::any_of(
      headers, [&](const auto& field) { return field.first == "connection" && list_has(field.second, word); });
}

bool never_has_body(int status) {
  return status == 204 || status == 304 || (status >= 100 && status < 200);
}

}  // namespace

Http1Reader::Step Http1Reader::refuse(int status, std::string_view why) {
  const bool request = kind_ == Kind::kRequests;
  error_ = Error{status == 431 ? ErrorKind::kExhausted : ErrorKind::kInvalid,
                 base::cat(request ? "HTTP/1.1 request: " : "HTTP/1.1 response: ", why), request ? status : 0, 0};
  state_ = State::kFailed;
  return Step::kFailed;
}

Http1Reader::Step Http1Reader::cut(std::string_view where) {
  refuse(400, base::cat("the connection ended in the middle of its ", where));
  error_->kind = ErrorKind::kUnavailable;
  return Step::kFailed;
}

// Answers a line without its CRLF, or false: either more input is needed, or the reader has failed.
bool Http1Reader::take_line(std::string_view& input, std::size_t bytes_max, std::string_view& line) {
  const std::size_t newline = input.find('\n');
  const std::size_t taken = newline == std::string_view::npos ? input.size() : newline + 1;
  if (partial_.size() + taken > bytes_max) {
    if (state_ == State::kChunkSize) {
      refuse(400, "a chunk's size line is too long");
    } else {
      refuse(431, base::cat("its head is longer than ", limits_.header_bytes_max, " bytes"));
    }
    return false;
  }
  std::string_view whole = input.substr(0, taken);
  input.remove_prefix(taken);
  if (newline == std::string_view::npos || !partial_.empty()) {
    partial_.append(whole);
    if (newline == std::string_view::npos) return false;
    joined_.swap(partial_);
    partial_.clear();
    whole = joined_;
  }
  if (whole.size() < 2 || whole[whole.size() - 2] != '\r') {
    refuse(400, "a line ends in a bare LF");
    return false;
  }
  line = whole.substr(0, whole.size() - 2);
  return true;
}

bool Http1Reader::take_head_line(std::string_view& input, std::string_view& line) {
  if (!take_line(input, limits_.header_bytes_max - head_bytes_, line)) return false;
  head_bytes_ += line.size() + 2;
  return true;
}

void Http1Reader::begin_message() {
  head_ = Http1Head{};
  trailers_ = Headers{};
  authority_.clear();
  head_bytes_ = 0;
  field_count_ = 0;
  blank_line_seen_ = false;
}

Http1Reader::Step Http1Reader::next(std::string_view& input) {
  for (;;) {
    std::string_view line;
    switch (state_) {
      case State::kStartLine: {
        if (input.empty()) return Step::kNeedMore;
        // Binary noise (a TLS hello, say) has no line end to wait for.
        if (partial_.empty() && input.front() != '\r' && !is_token(input.substr(0, 1))) {
          return refuse(400, "it does not begin like HTTP");
        }
        if (head_bytes_ == 0) begin_message();
        if (!take_head_line(input, line)) break;
        if (line.empty()) {
          // One empty line before a message is what old clients send after a body (RFC 9112 section 2.2).
          if (blank_line_seen_ || kind_ == Kind::kResponses) return refuse(400, "empty lines before the start line");
          blank_line_seen_ = true;
          continue;
        }
        const bool fine = kind_ == Kind::kRequests ? request_line(line) : status_line(line);
        if (!fine) return Step::kFailed;
        state_ = State::kFields;
        continue;
      }
      case State::kFields:
        if (!take_head_line(input, line)) break;
        if (!line.empty()) {
          if (!field(line, head_.headers)) return Step::kFailed;
          continue;
        }
        if (!finish_head()) return Step::kFailed;
        if (kind_ == Kind::kResponses && head_.status < 200) {
          if (++interim_ > kInterimMax) return refuse(502, "too many interim responses");
          head_bytes_ = 0;
          state_ = State::kStartLine;
          continue;
        }
        interim_ = 0;
        return Step::kHead;
      case State::kLength:
      case State::kChunkData:
      case State::kUntilClose:
        if (input.empty()) return Step::kNeedMore;
        return piece(input);
      case State::kChunkSize:
        if (!take_line(input, kChunkLineMax, line)) break;
        if (!chunk_size(line)) return Step::kFailed;
        continue;
      case State::kChunkEnd:
        if (!take_line(input, 2, line)) {
          // Whatever is longer than CRLF or ends otherwise has been refused with a word that does not fit here.
          if (state_ == State::kFailed) return refuse(400, "a chunk is longer than its size says");
          return Step::kNeedMore;
        }
        state_ = State::kChunkSize;
        continue;
      case State::kTrailers:
        if (!take_head_line(input, line)) break;
        if (!line.empty()) {
          if (!field(line, trailers_)) return Step::kFailed;
          continue;
        }
        state_ = State::kEnding;
        continue;
      case State::kEnding:
        state_ = State::kStartLine;
        head_bytes_ = 0;
        return Step::kEnd;
      case State::kFailed:
        return Step::kFailed;
    }
    // A line was wanted and is not complete.
    return state_ == State::kFailed ? Step::kFailed : Step::kNeedMore;
  }
}

Http1Reader::Step Http1Reader::finish() {
  switch (state_) {
    case State::kUntilClose:
    case State::kEnding:
      state_ = State::kStartLine;
      head_bytes_ = 0;
      return Step::kEnd;
    case State::kStartLine:
      return idle() ? Step::kNeedMore : cut("head");
    case State::kFields:
      return cut("head");
    case State::kFailed:
      return Step::kFailed;
    default:
      return cut("body");
  }
}

Http1Reader::Step Http1Reader::piece(std::string_view& input) {
  std::size_t taken = input.size();
  if (state_ != State::kUntilClose) {
    taken = static_cast<std::size_t>(std::min<std::uint64_t>(taken, remaining_));
    remaining_ -= taken;
    if (remaining_ == 0) state_ = state_ == State::kLength ? State::kEnding : State::kChunkEnd;
  }
  body_ = input.substr(0, taken);
  input.remove_prefix(taken);
  return Step::kBody;
}

bool Http1Reader::request_line(std::string_view line) {
  const std::size_t first = line.find(' ');
  const std::size_t last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    refuse(400, "its first line is not METHOD TARGET VERSION");
    return false;
  }
  const std::string_view method = line.substr(0, first);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  const std::string_view version = line.substr(last + 1);
  if (!is_token(method)) {
    refuse(400, "its method is not a token");
    return false;
  }
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    const bool other = version.size() == 8 && version.starts_with("HTTP/") && version[6] == '.';
    refuse(other ? 505 : 400, "its version is neither HTTP/1.1 nor HTTP/1.0");
    return false;
  }
  if (method == "CONNECT") {
    refuse(501, "CONNECT is for proxies");
    return false;
  }
  head_.minor_version = version.back() - '0';
  head_.method = method;
  return request_target(target);
}

bool Http1Reader::request_target(std::string_view target) {
  if (!is_request_target(target) || target.find('#') != std::string_view::npos) {
    refuse(400, "its target is not percent-encoded");
    return false;
  }
  if (target.starts_with('/') || (target == "*" && head_.method == "OPTIONS")) {
    head_.target = target;
    return true;
  }
  // Absolute form: a server must take it, and its authority outranks Host (RFC 9112 section 3.2.2).
  const std::size_t colon = target.find("://");
  const std::string scheme = base::lower(target.substr(0, colon == std::string_view::npos ? 0 : colon));
  if (scheme == "http" || scheme == "https") {
    const std::string_view rest = target.substr(colon + 3);
    const std::size_t end = rest.find_first_of("/?");
    authority_ = rest.substr(0, end);
    if (!authority_.empty() && authority_.find('@') == std::string::npos) {
      const std::string_view path = end == std::string_view::npos ? std::string_view() : rest.substr(end);
      head_.target = path.starts_with('/') ? std::string(path) : base::cat("/", path);
      return true;
    }
  }
  refuse(400, "its target has none of the known forms");
  return false;
}

bool Http1Reader::status_line(std::string_view line) {
  // HTTP/1.1 SP 3DIGIT SP [reason]; the blank after the status is often left out where there is no reason.
  const auto digit = [&](std::size_t at) { return line[at] >= '0' && line[at] <= '9'; };
  const bool fine = line.size() >= 12 && (line.starts_with("HTTP/1.1 ") || line.starts_with("HTTP/1.0 ")) && digit(9) &&
                    digit(10) && digit(11) && (line.size() == 12 || line[12] == ' ') && is_field_value(line.substr(12));
  if (!fine) {
    refuse(502, base::cat("its first line is no HTTP/1.1 status line: ", base::in_quotes(line)));
    return false;
  }
  head_.minor_version = line[7] - '0';
  head_.status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  if (head_.status < 100 || head_.status > 599) {
    refuse(502, base::cat("status ", head_.status, " is not in 100..599"));
    return false;
  }
  return true;
}

bool Http1Reader::field(std::string_view line, Headers& into) {
  if (is_blank(line.front())) {
    refuse(400, "a header line is folded");
    return false;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) {
    refuse(400, "a header line is not NAME: VALUE");
    return false;
  }
  const std::string_view value = trim_blanks(line.substr(colon + 1));
  if (!is_field_value(value)) {
    refuse(400, "a header value has control characters");
    return false;
  }
  if (++field_count_ > limits_.header_count_max) {
    refuse(431, base::cat("it has more than ", limits_.header_count_max, " header fields"));
    return false;
  }
  into.add(line.substr(0, colon), value);
  return true;
}

bool Http1Reader::finish_head() {
  const Headers& headers = head_.headers;
  head_.keep_alive = head_.minor_version == 1
                         ? !connection_names(headers, "close")
                         : connection_names(headers, "keep-alive") && !connection_names(headers, "close");
  const std::size_t lengths = count(headers, "content-length");
  const std::size_t encodings = count(headers, "transfer-encoding");
  if (lengths > 1) {
    refuse(400, "it has more than one Content-Length");
    return false;
  }
  if (lengths == 1 && encodings > 0) {
    refuse(400, "it has both Content-Length and Transfer-Encoding");
    return false;
  }
  if (encodings > 0) {
    if (head_.minor_version == 0) {
      refuse(400, "HTTP/1.0 knows no Transfer-Encoding");
      return false;
    }
    if (encodings > 1 || base::lower(headers.get("transfer-encoding")) != "chunked") {
      refuse(501, "it has a Transfer-Encoding other than chunked");
      return false;
    }
    head_.body = Http1Head::Body::kChunked;
  } else if (lengths == 1) {
    const auto length = parse_content_length(headers.get("content-length"));
    if (!length) {
      refuse(400, "its Content-Length is not a number");
      return false;
    }
    head_.body = Http1Head::Body::kLength;
    head_.content_length = *length;
  }
  if (!(kind_ == Kind::kRequests ? request_framing() : response_framing())) return false;

  remaining_ = head_.content_length;
  switch (head_.body) {
    case Http1Head::Body::kNone:
      state_ = State::kEnding;
      break;
    case Http1Head::Body::kLength:
      state_ = remaining_ == 0 ? State::kEnding : State::kLength;
      break;
    case Http1Head::Body::kChunked:
      state_ = State::kChunkSize;
      break;
    case Http1Head::Body::kUntilClose:
      state_ = State::kUntilClose;
      break;
  }
  return true;
}

bool Http1Reader::request_framing() {
  const std::size_t hosts = count(head_.headers, "host");
  if (hosts > 1 || (hosts == 0 && head_.minor_version == 1)) {
    refuse(400, "it must have exactly one Host");
    return false;
  }
  if (!authority_.empty()) head_.headers.set("host", authority_);
  if (const std::string_view expect = head_.headers.get("expect"); !expect.empty() && head_.minor_version == 1) {
    if (base::lower(expect) != "100-continue") {
      refuse(417, "it expects something other than 100-continue");
      return false;
    }
    head_.expects_continue = head_.body != Http1Head::Body::kNone;
  }
  return true;
}

bool Http1Reader::response_framing() {
  if (head_.status == 101) {
    refuse(502, "it switches to a protocol that was not requested");
    return false;
  }
  if (answers_head_ || never_has_body(head_.status)) {
    head_.body = Http1Head::Body::kNone;
    head_.content_length = 0;
  } else if (head_.body == Http1Head::Body::kNone) {
    head_.body = Http1Head::Body::kUntilClose;
    head_.keep_alive = false;
  }
  return true;
}

bool Http1Reader::chunk_size(std::string_view line) {
  const std::size_t semicolon = line.find(';');
  const std::string_view digits = line.substr(0, semicolon);
  std::uint64_t size = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size, 16);
  if (digits.empty() || digits.size() > kChunkDigitsMax || error != std::errc() ||
      end != digits.data() + digits.size() || !is_field_value(line)) {
    refuse(400, "a chunk's size is not a hexadecimal number");
    return false;
  }
  remaining_ = size;
  state_ = size == 0 ? State::kTrailers : State::kChunkData;
  return true;
}

namespace {

void append_field(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

void append_fields(std::string& out, const Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (is_connection_field(name) || name == "content-length" || name == "host") continue;
    append_field(out, name, value);
  }
}

}  // namespace

void append_http1_request(std::string& out, const HttpRequest& head, std::string_view host, std::size_t body_bytes) {
  out.append(head.method).append(" ").append(head.target).append(" HTTP/1.1\r\n");
  append_field(out, "host", host);
  append_fields(out, head.headers);
  // A method that usually has a body sends its length even if it is 0 (RFC 9110 section 8.6).
  const bool usual = head.method == "POST" || head.method == "PUT" || head.method == "PATCH";
  if (usual || body_bytes > 0) append_field(out, "content-length", base::cat(body_bytes));
  out.append("\r\n");
}

void append_http1_response(std::string& out, int status, const Headers& headers, const Http1Framing& framing) {
  out.append(base::cat("HTTP/1.1 ", status, " ", reason_phrase(status), "\r\n"));
  append_fields(out, headers);
  if (framing.body == Http1Head::Body::kLength) {
    append_field(out, "content-length", base::cat(framing.content_length));
  } else if (framing.body == Http1Head::Body::kChunked) {
    append_field(out, "transfer-encoding", "chunked");
  }
  if (!framing.keep_alive) append_field(out, "connection", "close");
  out.append("\r\n");
}

void append_chunk_size(std::string& out, std::size_t bytes) {
  TM_CHECK(bytes > 0, "an empty chunk would end the body");
  char digits[16];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, bytes, 16).ptr);
  out.append("\r\n");
}

}  // namespace tidemark::net
