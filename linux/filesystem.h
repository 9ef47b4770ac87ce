// How much a filesystem holds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.h"

namespace tidemark::linux {

// Of the one that the path lies on, in bytes. nullopt: there is no such path.
Result<std::optional<std::int64_t>> filesystem_bytes(const std::string& path);

}  // namespace tidemark::linux
