// Compresses answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tidemark::console {

// As a gzip file, at the fastest level: an answer is compressed for one client. nullopt: the library refuses.
std::optional<std::string> gzip(std::string_view text);

}  // namespace tidemark::console
