#include "kube/memory/names.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

bool is_lower_alnum(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}
bool is_alnum(char c) {
  return is_lower_alnum(c) || (c >= 'A' && c <= 'Z');
}

bool is_dns_label(std::string_view text) {
  return !text.empty() && is_lower_alnum(text.front()) && is_lower_alnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower_alnum(c) || c == '-'; });
}

bool is_name_part(std::string_view text) {
  return !text.empty() && is_alnum(text.front()) && is_alnum(text.back()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '-' || c == '_' || c == '.'; });
}

std::string at_most(std::size_t bytes) {
  return cat("must be no more than ", bytes, " characters");
}

constexpr std::string_view kLabelWords =
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with "
    "an "
    "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kSubdomainWords =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and "
    "end "
    "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
constexpr std::string_view kLabel1035Words =
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, "
    "and end "
    "with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is "
    "'[a-z]([-a-z0-9]*[a-z0-9])?')";
constexpr std::string_view kQualifiedWords =
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character "
    "(e.g. "
    "'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
constexpr std::string_view kValueWords =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and "
    "end "
    "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is "
    "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
constexpr std::string_view kConfigKeyWords =
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or "
    "'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

}  // namespace

std::string dns_label_error(std::string_view text) {
  if (text.size() > kDnsLabelMax) return at_most(kDnsLabelMax);
  if (is_dns_label(text)) return "";
  return dns_subdomain_error(text).empty() ? "must not contain dots" : std::string(kLabelWords);
}

std::string dns_1035_label_error(std::string_view text) {
  if (text.size() > kDnsLabelMax) return at_most(kDnsLabelMax);
  return is_dns_label(text) && (text.front() < '0' || text.front() > '9') ? "" : std::string(kLabel1035Words);
}

std::string dns_subdomain_error(std::string_view text) {
  if (text.size() > kDnsSubdomainMax) return at_most(kDnsSubdomainMax);
  for (const std::string_view part : base::split(text, '.'))
    if (!is_dns_label(part)) return std::string(kSubdomainWords);
  return "";
}

std::string path_segment_error(std::string_view text) {
  if (text.empty() || text == "." || text == "..") return cat("may not be '", text, "'");
  if (text.find('/') != std::string_view::npos) return "may not contain '/'";
  if (text.find('%') != std::string_view::npos) return "may not contain '%'";
  return "";
}

std::string qualified_name_error(std::string_view text) {
  const std::size_t slash = text.find('/');
  std::string_view name = text;
  if (slash != std::string_view::npos) {
    const std::string_view prefix = text.substr(0, slash);
    name = text.substr(slash + 1);
    if (name.find('/') != std::string_view::npos)
      return cat("a qualified name ", kQualifiedWords,
                 " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')");
    if (prefix.empty()) return "prefix part must be non-empty";
    if (const std::string why = dns_subdomain_error(prefix); !why.empty()) return cat("prefix part ", why);
  }
  if (name.empty()) return "name part must be non-empty";
  if (name.size() > kDnsLabelMax) return cat("name part ", at_most(kDnsLabelMax));
  return is_name_part(name) ? "" : cat("name part ", kQualifiedWords);
}

std::string label_value_error(std::string_view text) {
  if (text.size() > kDnsLabelMax) return at_most(kDnsLabelMax);
  return text.empty() || is_name_part(text) ? "" : std::string(kValueWords);
}

std::string config_key_error(std::string_view text) {
  if (text.size() > kDnsSubdomainMax) return at_most(kDnsSubdomainMax);
  if (text == ".") return "must not be '.'";
  if (text == ".." || text.starts_with("..")) return "must not start with '..'";
  const bool fits = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return is_alnum(c) || c == '-' || c == '_' || c == '.';
  });
  return fits ? "" : std::string(kConfigKeyWords);
}

}  // namespace tidemark::kube::memory
