// Container reports of a ResourceManager: the allocated amount, and whether the container still runs.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "hadoop/applications.h"
#include "hadoop/yarn_records.h"

namespace tidemark::hadoop {

struct ContainerId {
  ApplicationId application;
  std::int32_t attempt = 0;
  std::int64_t number = 0;  // with the epoch of its ResourceManager in the bits above the fortieth
  auto operator<=>(const ContainerId&) const = default;
};
// "container_1700000000000_0001_01_000002", "container_e17_1700000000000_0001_01_000002"
Result<ContainerId> parse_container_id(std::string_view text);

struct ContainerReport {
  Resource given;
  NodeId node;  // without a host: on no node
  bool complete = false;
  bool operator==(const ContainerReport&) const = default;
};

std::string encode_get_container_report(const ContainerId& id);
Result<ContainerReport> decode_get_container_report(std::string_view response);

}  // namespace tidemark::hadoop
