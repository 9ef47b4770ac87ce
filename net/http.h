// The words of HTTP that client and server share. One form for HTTP/1.1 and HTTP/2: header names in lower case.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace tidemark::net {

// Shared and immutable, so that one serialised event goes to many connections without a copy.
using Buffer = std::shared_ptr<const std::string>;
inline Buffer make_buffer(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

class Headers {
 public:
  void add(std::string_view name, std::string_view value);  // the name is put in lower case
  void set(std::string_view name, std::string_view value);  // replaces all of that name
  std::string_view get(std::string_view lower_name) const;  // the first; "" where there is none
  bool has(std::string_view lower_name) const;
  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }

 private:
  std::vector<std::pair<std::string, std::string>> fields_;
};

struct HttpRequest {
  std::string method = "GET";
  std::string target = "/";  // path and query, still percent-encoded
  Headers headers;
  std::string body;
  // For callers that must know whether the server may have seen the request: true while no byte was sent. A transport
  // that does not know leaves it unchanged. It must outlive the request.
  bool* unsent = nullptr;
};

struct HttpResponseHead {
  int status = 0;
  Headers headers;
};

struct HttpResponse {
  int status = 0;
  Headers headers;
  std::string body;
};

struct HttpLimits {
  std::size_t header_bytes_max = 64 * 1024;  // all fields of a message together
  std::size_t header_count_max = 128;
  std::size_t body_bytes_max = 256 * 1024 * 1024;  // of a message read whole; streams have none
};

std::string_view reason_phrase(int status);

// Path and query helpers.
std::string percent_encode(std::string_view text);  // everything but unreserved characters
std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank = false);
struct Target {
  std::string path;  // decoded
  std::vector<std::pair<std::string, std::string>> query;
  std::string_view get(std::string_view key) const;  // "" where there is none
  bool has(std::string_view key) const;
};
std::optional<Target> parse_target(std::string_view target);

struct Url {
  std::string scheme;  // http, https, unix
  std::string host;    // for unix: the socket's path
  std::uint16_t port = 0;
  std::string path;  // prefix, without a trailing slash
};
Result<Url> parse_url(std::string_view text);

}  // namespace tidemark::net
