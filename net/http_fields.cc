#include "net/http_fields.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::net {
namespace {

constexpr std::size_t kContentLengthDigitsMax = 18;

bool is_token_char(char c) {
  if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9')) return true;
  return c != '\0' && std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

}  // namespace

bool is_token(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_token_char);
}

bool is_field_value(std::string_view value) {
  return std::ranges::all_of(value, [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte == '\t' || (byte >= 0x20 && byte != 0x7f);
  });
}

bool is_request_target(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_connection_field(std::string_view name) {
  constexpr std::string_view kNames[] = {"connection", "keep-alive", "proxy-connection", "te",
                                         "trailer",    "upgrade",    "transfer-encoding"};
  return std::ranges::find(kNames, name) != std::end(kNames);
}

bool list_has(std::string_view list, std::string_view lower_word) {
  return std::ranges::any_of(base::split(list, ','),
                             [&](std::string_view word) { return base::lower(base::trim(word)) == lower_word; });
}

std::optional<std::uint64_t> parse_content_length(std::string_view value) {
  if (value.empty() || value.size() > kContentLengthDigitsMax) return std::nullopt;
  std::uint64_t length = 0;
  for (const char c : value) {
    if (c < '0' || c > '9') return std::nullopt;
    length = length * 10 + static_cast<std::uint64_t>(c - '0');
  }
  return length;
}

Result<void> check_fields(const Headers& headers) {
  for (const auto& [name, value] : headers) {
    if (!is_token(name)) return fail(ErrorKind::kInvalid, "header name ", base::in_quotes(name), " is not a token");
    if (!is_field_value(value)) {
      return fail(ErrorKind::kInvalid, "header ", name, ": its value has control characters");  // it may be a secret
    }
  }
  return {};
}

Result<void> check_request(const HttpRequest& request) {
  if (!is_token(request.method) || request.method == "CONNECT") {
    return fail(ErrorKind::kInvalid, "method ", base::in_quotes(request.method), " cannot be sent");
  }
  if (!is_request_target(request.target) || !request.target.starts_with('/')) {
    return fail(ErrorKind::kInvalid, "request target ", base::in_quotes(request.target),
                " must begin with / and be percent-encoded");
  }
  return check_fields(request.headers);
}

}  // namespace tidemark::net
