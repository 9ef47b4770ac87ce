#include "net/http.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::net {
namespace {

bool is_alpha(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_unreserved(char c) {
  return is_alpha(c) || is_digit(c) || c == '-' || c == '.' || c == '_' || c == '~';
}

int hex_value(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Printable ASCII only: a blank or a control character in a target splits a request line.
bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

Result<std::uint16_t> parse_port(std::string_view text, std::string_view url) {
  const auto port = base::parse_uint(text);
  if (!port || *port == 0 || *port > 65535) {
    return fail(ErrorKind::kInvalid, "URL ", base::in_quotes(url), ": port ", base::in_quotes(text),
                " is not in 1..65535");
  }
  return static_cast<std::uint16_t>(*port);
}

bool is_host_name(std::string_view host) {
  return !host.empty() && host.size() <= 253 && std::ranges::all_of(host, is_unreserved);
}

bool is_ipv6_text(std::string_view host) {
  return host.find(':') != std::string_view::npos && host.size() <= 45 &&
         std::ranges::all_of(host, [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; });
}

Result<Url> parse_unix_url(std::string_view text, std::string_view rest) {
  // unix:/run/x.sock and unix:///run/x.sock are the same socket.
  if (rest.starts_with("///")) rest.remove_prefix(2);
  if (!rest.starts_with('/') || rest.starts_with("//") || rest.size() < 2) {
    return fail(ErrorKind::kInvalid, "URL ", base::in_quotes(text),
                ": unix: wants an absolute path, as in unix:/run/x.sock");
  }
  if (rest.find('\0') != std::string_view::npos) {
    return fail(ErrorKind::kInvalid, "URL ", base::in_quotes(text), ": a socket's path has no zero byte");
  }
  return Url{.scheme = "unix", .host = std::string(rest), .port = 0, .path = ""};
}

}  // namespace

void Headers::add(std::string_view name, std::string_view value) {
  fields_.emplace_back(base::lower(name), std::string(value));
}

void Headers::set(std::string_view name, std::string_view value) {
  const std::string wanted = base::lower(name);
  std::erase_if(fields_, [&](const auto& field) { return field.first == wanted; });
  fields_.emplace_back(wanted, std::string(value));
}

std::string_view Headers::get(std::string_view lower_name) const {
  for (const auto& [name, value] : fields_) {
    if (name == lower_name) return value;
  }
  return {};
}

bool Headers::has(std::string_view lower_name) const {
  return std::ranges::any_of(fields_, [&](const auto& field) { return field.first == lower_name; });
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 101:
      return "Switching Protocols";
    case 200:
      return "OK";
    case 201:
      return "Created";
    case 202:
      return "Accepted";
    case 204:
      return "No Content";
    case 206:
      return "Partial Content";
    case 301:
      return "Moved Permanently";
    case 302:
      return "Found";
    case 303:
      return "See Other";
    case 304:
      return "Not Modified";
    case 307:
      return "Temporary Redirect";
    case 308:
      return "Permanent Redirect";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 406:
      return "Not Acceptable";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 410:
      return "Gone";
    case 411:
      return "Length Required";
    case 412:
      return "Precondition Failed";
    case 413:
      return "Content Too Large";
    case 414:
      return "URI Too Long";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 502:
      return "Bad Gateway";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string percent_encode(std::string_view text) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (is_unreserved(c)) {
      out.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      out.push_back('%');
      out.push_back(kDigits[byte >> 4]);
      out.push_back(kDigits[byte & 15]);
    }
  }
  return out;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_blank) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_blank) {
      out.push_back(' ');
    } else if (text[i] != '%') {
      out.push_back(text[i]);
    } else {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    }
  }
  return out;
}

std::string_view Target::get(std::string_view key) const {
  for (const auto& [name, value] : query) {
    if (name == key) return value;
  }
  return {};
}

bool Target::has(std::string_view key) const {
  return std::ranges::any_of(query, [&](const auto& pair) { return pair.first == key; });
}

std::optional<Target> parse_target(std::string_view target) {
  if (!target.starts_with('/') || !is_visible(target)) return std::nullopt;
  if (target.find('#') != std::string_view::npos) return std::nullopt;  // a fragment never goes over the wire

  const std::size_t mark = target.find('?');
  auto path = percent_decode(target.substr(0, mark));
  if (!path) return std::nullopt;
  Target out{.path = std::move(*path), .query = {}};
  if (mark == std::string_view::npos) return out;

  for (const std::string_view pair : base::split(target.substr(mark + 1), '&')) {
    if (pair.empty()) continue;
    const std::size_t equals = pair.find('=');
    auto key = percent_decode(pair.substr(0, equals), true);
    auto value = equals == std::string_view::npos ? std::optional<std::string>("")
                                                  : percent_decode(pair.substr(equals + 1), true);
    if (!key || !value) return std::nullopt;
    out.query.emplace_back(std::move(*key), std::move(*value));
  }
  return out;
}

Result<Url> parse_url(std::string_view text) {
  const auto invalid = [&](std::string_view why) {
    return fail(ErrorKind::kInvalid, "URL ", base::in_quotes(text), ": ", why);
  };
  const std::size_t colon = text.find(':');
  const std::string scheme = base::lower(text.substr(0, colon == std::string_view::npos ? 0 : colon));
  if (scheme == "unix") return parse_unix_url(text, text.substr(colon + 1));
  if (scheme != "http" && scheme != "https") return invalid("it must begin with https://, http:// or unix:/");

  std::string_view rest = text.substr(colon + 1);
  if (!rest.starts_with("//")) return invalid("after the scheme // must follow");
  rest.remove_prefix(2);
  if (!is_visible(rest)) return invalid("blanks, control and non-ASCII characters must be percent-encoded");
  if (rest.find_first_of("?#") != std::string_view::npos) return invalid("a query or fragment does not belong here");

  const std::size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = slash == std::string_view::npos ? std::string_view() : rest.substr(slash);
  if (authority.find('@') != std::string_view::npos) return invalid("user and password do not belong in a URL");

  Url url{.scheme = scheme, .host = "", .port = static_cast<std::uint16_t>(scheme == "https" ? 443 : 80), .path = ""};
  std::string_view port;
  bool has_port = false;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return invalid("the bracket of the IPv6 address is not closed");
    const std::string_view host = authority.substr(1, close - 1);
    if (!is_ipv6_text(host)) return invalid("what is in brackets is not an IPv6 address");
    url.host = host;
    const std::string_view after = authority.substr(close + 1);
    if (!after.empty() && after.front() != ':') return invalid("after the bracket only a port may follow");
    has_port = !after.empty();
    if (has_port) port = after.substr(1);
  } else {
    const std::size_t at = authority.find(':');
    has_port = at != std::string_view::npos;
    if (has_port) port = authority.substr(at + 1);
    url.host = base::lower(authority.substr(0, at));
    if (!is_host_name(url.host)) return invalid("the host name is empty or has characters that none may have");
  }
  if (has_port) {
    TM_TRY(url.port, parse_port(port, text));
  }
  while (path.ends_with('/')) path.remove_suffix(1);
  url.path = path;
  return url;
}

}  // namespace tidemark::net
