// What every answer of the console's server has in common: which requests are refused, security headers, errors as
// RFC 9457 says, and ETags.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "net/http.h"
#include "net/http_server.h"

namespace tidemark::console {

struct Refusal {
  int status = 403;
  std::string_view id;  // of the kind of problem: "host"
  std::string detail;
};

// The addresses of the console.
struct Site {
  std::vector<std::string> hosts{};  // its names beside those of this machine, in lower case, without port
  bool tls = false;
};

// Why a request is not answered. A page of another site can reach a server on loopback: by a name that it makes point
// here (its `Host` is that name), or by a request from its own page (`Sec-Fetch-Site`, `Origin`). Both are refused.
//
// A write (POST, PUT) must be JSON, carry kWriteHeader and, if a browser sent it, come from the console's own page. A
// page of another site cannot set that header without a preflight request, and OPTIONS is refused.
inline constexpr std::string_view kWriteHeader = "x-tidemark-console";
std::optional<Refusal> refuse(const net::HttpRequest& request, const Site& site = {});

// For every answer; `cache` is the value of cache-control.
net::Headers answer_headers(std::string_view content_type, std::string_view cache);

// {"type":"urn:tidemark:problem:ID","title":…,"status":…,"detail":…,"field":…} as application/problem+json. `field`:
// the query parameter, header or member of the body that is wrong; empty: none. `more`: further members.
void respond_problem(net::HttpExchange& exchange, int status, std::string_view id, std::string_view detail,
                     std::string_view field = {}, const Json& more = {});
// 405 with the header Allow.
void respond_method(net::HttpExchange& exchange, std::string_view path, std::string_view allowed);
void respond_error(net::HttpExchange& exchange, const Error& error, std::string_view field = {});

// With an ETag of the content; 304 if the client has it already.
bool accepts(const net::HttpRequest& request, std::string_view coding);  // the header Accept-Encoding
// Compressed with gzip if the client accepts it and it is worth it.
void respond_json(net::HttpExchange& exchange, std::string body);

}  // namespace tidemark::console
