// Any bytes as a ResourceManager's metrics: bounded, named, nothing below zero; or an error.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "hadoop/partition_waiting.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const auto read = hadoop::parse_partition_waiting(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read) {
    TM_CHECK(read.error().kind == ErrorKind::kInvalid || read.error().kind == ErrorKind::kNotFound,
             "bad bytes are bad input");
    return 0;
  }
  TM_CHECK(read->size() <= hadoop::kPartitionsMax, "bounded");
  for (const auto& [label, waiting] : *read) {
    TM_CHECK(!label.empty(), "named");
    TM_CHECK(waiting.memory_mib >= 0 && waiting.vcores >= 0 && waiting.containers >= 0, "nothing below zero");
  }
  return 0;
}
