// Any bytes as a NodeManager's answer: bounded, sorted, named; or an error.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "hadoop/node_manager.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const auto read = hadoop::parse_node_containers(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!read) {
    TM_CHECK(read.error().kind == ErrorKind::kInvalid, "bad bytes are bad input");
    return 0;
  }
  TM_CHECK(read->containers.size() + read->refused.size() <= hadoop::kNodeContainersMax, "bounded");
  TM_CHECK(std::ranges::is_sorted(read->containers, {}, &hadoop::NodeContainer::id), "by id");
  for (const auto& each : read->containers) {
    TM_CHECK(!each.id.empty() && each.memory_mib >= 0 && each.vcores >= 0, "named, and nothing below zero");
    TM_CHECK(each.diagnostics.size() <= hadoop::kDiagnosticsBytesMax, "cut");
  }
  return 0;
}
