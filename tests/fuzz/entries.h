// The entry points of all fuzzers, as CMake found them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::tests {

struct FuzzEntry {
  std::string name;
  std::string corpus;  // a directory, which may be missing
  int (*run)(const std::uint8_t* data, std::size_t size);
};

std::vector<FuzzEntry> fuzz_entries();

}  // namespace tidemark::tests
