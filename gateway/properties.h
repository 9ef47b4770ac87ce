// Java properties as text, in the form that java.util.Properties reads and writes.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace tidemark::gateway {

// One line for each pair, in the order of the keys. Control characters and what is not ASCII are escaped.
std::string to_properties(const std::map<std::string, std::string>& pairs);
// The reverse. Total: any text has a meaning, as in Java.
std::map<std::string, std::string> parse_properties(std::string_view text);

}  // namespace tidemark::gateway
