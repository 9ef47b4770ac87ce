// Syntax of names, labels and their like. Each function answers what is wrong, in the API server's words, or "".
#pragma once

#include <string>
#include <string_view>

namespace tidemark::kube::memory {

inline constexpr std::size_t kDnsLabelMax = 63;       // bytes
inline constexpr std::size_t kDnsSubdomainMax = 253;  // bytes

std::string dns_label_error(std::string_view text);       // DNS-1123 label
std::string dns_1035_label_error(std::string_view text);  // as above, and does not start with a digit
std::string dns_subdomain_error(std::string_view text);   // DNS-1123 subdomain
std::string path_segment_error(std::string_view text);    // names of RBAC kinds
std::string qualified_name_error(std::string_view text);  // label and annotation keys, resource names
std::string label_value_error(std::string_view text);
std::string config_key_error(std::string_view text);  // keys of ConfigMap and Secret

}  // namespace tidemark::kube::memory
