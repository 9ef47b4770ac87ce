#include "kube/memory/answer.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;
using net::HttpExchange;

net::Headers headers_for(std::string_view content_type) {
  net::Headers headers;
  headers.set("content-type", content_type);
  headers.set("cache-control", "no-cache, private");
  return headers;
}

void answer_text(HttpExchange& exchange, int status, std::string_view content_type, std::string text) {
  exchange.respond(status, headers_for(content_type), net::make_buffer(std::move(text)));
}

void answer_json(HttpExchange& exchange, int status, const Json& body) {
  answer_text(exchange, status, kJson, body.dump());
}

void answer_error(HttpExchange& exchange, const ApiError& error) {
  net::Headers headers = headers_for(kJson);
  if (error.retry_after_s > 0) headers.set("retry-after", cat(error.retry_after_s));
  exchange.respond(error.code, std::move(headers), net::make_buffer(error.to_json().dump()));
}

ApiError body_refusal(const Error& error, std::size_t bytes_max) {
  if (error.kind == ErrorKind::kExhausted)
    return plain_error(413, "RequestEntityTooLarge", cat("Request entity too large: limit is ", bytes_max));
  if (error.kind == ErrorKind::kDeadline) return plain_error(408, "Timeout", error.message);
  return bad_request(error.message);
}

ApiError bare_error(int code, std::string_view reason, std::string_view message) {
  ApiError error = plain_error(code, reason, std::string(message));
  error.bare_details = true;
  return error;
}

ApiError unknown_resource() {
  return bare_error(404, "NotFound", "the server could not find the requested resource");
}

ApiError wrong_method() {
  return bare_error(405, "MethodNotAllowed", "the server does not allow this method on the requested resource");
}

void answer_unknown_path(HttpExchange& exchange, const KindTable& kinds, std::string_view path) {
  const auto parts = base::split(path, '/');  // the first is empty
  const std::string_view group = parts.size() > 2 && parts[1] == "apis" ? parts[2] : std::string_view();
  const bool built_in = parts.size() > 1 && (parts[1] == "api" || parts[1] == "apis") &&
                        std::any_of(kinds.all().begin(), kinds.all().end(),
                                    [&](const KindPtr& kind) { return !kind->custom && kind->group == group; });
  if (built_in)
    answer_error(exchange, unknown_resource());
  else
    answer_text(exchange, 404, "text/plain; charset=utf-8", "404 page not found\n");
}

}  // namespace tidemark::kube::memory
