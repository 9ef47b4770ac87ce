#include "net/loopback.h"

#include <string>

#include "base/text.h"

namespace tidemark::net {
namespace {

// Of "[::1]:80" the brackets stay.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const auto end = host.find(']');
    return end == std::string_view::npos ? host : host.substr(0, end + 1);
  }
  return host.substr(0, host.find(':'));
}

bool is_dotted_loopback(std::string_view host) {
  const auto parts = base::split(host, '.');
  if (parts.size() != 4 || parts[0] != "127") return false;
  for (const auto part : parts) {
    const auto number = base::parse_uint(part);
    if (!number || *number > 255) return false;
  }
  return true;
}

}  // namespace

bool is_loopback_host(std::string_view host) {
  const std::string name = base::lower(without_port(host));
  return name == "localhost" || name == "[::1]" || is_dotted_loopback(name);
}

}  // namespace tidemark::net
