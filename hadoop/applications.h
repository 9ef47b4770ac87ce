// Application reports of a ResourceManager: user, queue and tags.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

inline constexpr std::size_t kApplicationTagsMax = 64;
inline constexpr std::size_t kApplicationTextBytesMax = 1024;  // of a name, a tag; longer ones are cut

struct ApplicationId {
  std::int64_t cluster_start_ms = 0;
  std::int32_t number = 0;
  auto operator<=>(const ApplicationId&) const = default;
};
// "application_1700000000000_0001"
Result<ApplicationId> parse_application_id(std::string_view text);

struct ApplicationReport {
  std::string user;
  std::string queue;
  std::string name;
  std::string type;  // MAPREDUCE, SPARK, YARN, …
  std::vector<std::string> tags;
  std::int32_t priority = 0;
  bool operator==(const ApplicationReport&) const = default;
};

std::string encode_get_application_report(const ApplicationId& id);
Result<ApplicationReport> decode_get_application_report(std::string_view response);

}  // namespace tidemark::hadoop
