#include "console/guard.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "console/gzip.h"
#include "net/loopback.h"

namespace tidemark::console {
namespace {

constexpr std::string_view kNoStore = "no-store";
constexpr std::size_t kCompressedFrom = 1024;  // bytes; a packet holds less anyway
// No inline script and no inline style attribute; nothing from another host; no other page may frame it.
constexpr std::string_view kContentSecurityPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

std::string_view title_of(int status) {
  return net::reason_phrase(status);
}

// 64 bits of FNV-1a: enough to tell two answers of one server apart.
std::string etag_of(std::string_view body) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : body) hash = (hash ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out = "\"";
  for (int shift = 60; shift >= 0; shift -= 4) out.push_back(kDigits[(hash >> shift) & 15]);
  out.push_back('"');
  return out;
}

// Whether the value of Host, with or without port, is a name of the site.
bool is_named(std::string_view host, const Site& site) {
  const std::string name = base::lower(host.substr(0, host.find(':')));
  return std::ranges::find(site.hosts, name) != site.hosts.end();
}

std::optional<Refusal> refuse_write(const net::HttpRequest& request) {
  const std::string_view site = request.headers.get("sec-fetch-site");
  if (!site.empty() && site != "same-origin") {
    return Refusal{403, "cross-site", "only the console's own page may write"};
  }
  if (request.headers.get(kWriteHeader).empty()) {
    return Refusal{403, "write-header", base::cat("a write needs the header ", kWriteHeader, ": 1")};
  }
  const std::string_view type = request.headers.get("content-type");
  if (base::trim(type.substr(0, type.find(';'))) != "application/json") {
    return Refusal{415, "content-type", "a write needs the content type application/json"};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> refuse(const net::HttpRequest& request, const Site& site) {
  const std::string_view host = request.headers.get("host");
  if (!net::is_loopback_host(host) && !is_named(host, site)) {
    if (!site.hosts.empty()) {
      return Refusal{421, "host",
                     base::cat("this console is not named ", base::in_quotes(host), "; its names are ",
                               base::join(site.hosts, ", "))};
    }
    return Refusal{421, "host",
                   base::cat("this console serves only this machine; the request is for ", base::in_quotes(host),
                             ". Open it as http://127.0.0.1 or http://localhost, if needed through a tunnel")};
  }
  const bool write = request.method == "POST" || request.method == "PUT";
  if (!write && request.method != "GET" && request.method != "HEAD") {
    return Refusal{405, "method",
                   base::cat("method ", base::in_quotes(request.method), " is not served; only GET, POST and PUT are")};
  }
  const std::string_view from = request.headers.get("sec-fetch-site");
  const bool document = request.headers.get("sec-fetch-mode") == "navigate";
  if (from == "cross-site" && !document) {
    return Refusal{403, "cross-site", "pages of other sites may not read the console"};
  }
  const std::string_view origin = request.headers.get("origin");
  if (!origin.empty() && origin != base::cat(site.tls ? "https://" : "http://", host)) {
    return Refusal{403, "cross-site", base::cat("the request comes from a page of ", base::in_quotes(origin))};
  }
  return write ? refuse_write(request) : std::nullopt;
}

net::Headers answer_headers(std::string_view content_type, std::string_view cache) {
  net::Headers headers;
  headers.set("content-type", content_type);
  headers.set("cache-control", cache);
  headers.set("content-security-policy", kContentSecurityPolicy);
  headers.set("x-content-type-options", "nosniff");
  headers.set("x-frame-options", "DENY");
  headers.set("referrer-policy", "no-referrer");
  headers.set("cross-origin-opener-policy", "same-origin");
  headers.set("cross-origin-resource-policy", "same-origin");
  return headers;
}

namespace {

void respond_allowing(net::HttpExchange& exchange, int status, std::string_view id, std::string_view detail,
                      std::string_view field, const Json& more, std::string_view allowed) {
  std::string body;
  base::JsonWriter json(body);
  json.begin_object();
  json.member("type", base::cat("urn:tidemark:problem:", id));
  json.member("title", title_of(status));
  json.member("status", status);
  json.member("detail", detail);
  if (!field.empty()) json.member("field", field);
  if (more.is_object()) {
    for (const auto& [name, value] : more.as_object()) json.key(name).raw(value.dump());
  }
  json.end_object();
  net::Headers headers = answer_headers("application/problem+json", kNoStore);
  if (status == 405) headers.set("allow", allowed);
  exchange.respond(status, std::move(headers), net::make_buffer(std::move(body)));
}

}  // namespace

void respond_problem(net::HttpExchange& exchange, int status, std::string_view id, std::string_view detail,
                     std::string_view field, const Json& more) {
  respond_allowing(exchange, status, id, detail, field, more, "GET, HEAD, POST, PUT");
}

void respond_method(net::HttpExchange& exchange, std::string_view path, std::string_view allowed) {
  respond_allowing(exchange, 405, "method",
                   base::cat(base::in_quotes(path), " takes no ", exchange.head().method, "; it takes ", allowed), {},
                   {}, allowed);
}

void respond_error(net::HttpExchange& exchange, const Error& error, std::string_view field) {
  const auto answer = [&](int status, std::string_view id) {
    respond_problem(exchange, status, id, error.message, field);
  };
  switch (error.kind) {
    case ErrorKind::kInvalid:
      return answer(400, "invalid");
    case ErrorKind::kNotFound:
      return answer(404, "not-found");
    case ErrorKind::kDenied:
      return answer(403, "denied");
    case ErrorKind::kConflict:
    case ErrorKind::kAlreadyExists:
      return answer(409, "conflict");
    case ErrorKind::kDeadline:
      return answer(504, "deadline");
    case ErrorKind::kExhausted:
    case ErrorKind::kUnavailable:
      return answer(503, "unavailable");
    default:
      return answer(500, "internal");
  }
}

bool accepts(const net::HttpRequest& request, std::string_view coding) {
  for (const auto part : base::split(request.headers.get("accept-encoding"), ',')) {
    const auto word = base::trim(part);
    if (base::trim(word.substr(0, word.find(';'))) == coding && word.find("q=0") == std::string_view::npos) return true;
  }
  return false;
}

void respond_json(net::HttpExchange& exchange, std::string body) {
  net::Headers headers = answer_headers("application/json", "no-cache");
  const std::string etag = etag_of(body);
  headers.set("etag", etag);
  if (exchange.head().headers.get("if-none-match") == etag) {
    return exchange.respond(304, std::move(headers), net::make_buffer(""));
  }
  headers.set("vary", "accept-encoding");
  if (body.size() >= kCompressedFrom && accepts(exchange.head(), "gzip")) {
    if (auto small = gzip(body)) {
      headers.set("content-encoding", "gzip");
      body = *std::move(small);
    }
  }
  exchange.respond(200, std::move(headers), net::make_buffer(std::move(body)));
}

}  // namespace tidemark::console
