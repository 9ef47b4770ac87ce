// Appending to a file that others read meanwhile.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::journal {

// All of `bytes`, or the file is as it was before, `size_before` bytes long. Where even that fails a part is left, and
// the error says so.
Result<void> append_whole(int fd, std::string_view bytes, std::int64_t size_before, const std::string& path);

}  // namespace tidemark::journal
