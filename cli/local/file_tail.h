// The last lines of a file that grows, without reading all of it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::cli {

inline constexpr std::int64_t kFileTail = std::int64_t{1} << 20;  // bytes at its end that are looked at

// Whole lines, the last one first. None where the file cannot be read.
struct FileTail {
  std::string bytes;
  std::vector<std::string_view> lines;  // into `bytes`
};
void read_tail(const std::string& path, FileTail& tail);

}  // namespace tidemark::cli
