// A container as a copilot reports it: ContainerInfo of the copilot API, version v1.
//
//   {"name":"container_e01_…","namespace":"yarn","uid":"container_e01_…","labels":null,"annotations":null,"priority":1,
//    "createTimestamp":"0001-01-01T00:00:00Z","cgroupDir":"kubepods/besteffort/hadoop-yarn/container_e01_…",
//    "hostNetwork":true,"resources":{"limits":{"cpu":"2","memory":"2147483648"},"requests":{…}}}
//
// Maps may be null, the time may be Go's zero, and the priority may be missing: all count as unset.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "model/task.h"

namespace tidemark::copilot {

inline constexpr std::size_t kContainersMax = 4096;
inline constexpr std::size_t kLabelsMax = 64;  // of a container; further ones are not kept
inline constexpr std::size_t kTextBytesMax = 4096;
inline constexpr std::size_t kHeldDisksMax = 64;  // of a container; further ones are not kept

// What a container has on one filesystem, in the local folders of its scheduler's daemon. Of our own copilot alone:
//
//   "heldOnDisks":[{"device":2049,"bytes":4096,"inodes":1}]     device: st_dev, which is the same in every mount
//                                                               namespace
struct HeldOnDisk {
  std::uint64_t device = 0;
  std::int64_t bytes = 0, inodes = 0;
  bool operator==(const HeldOnDisk&) const = default;
};

struct Container {
  std::string name;
  std::string ns;  // of the copilot: "yarn"
  std::string uid;
  std::vector<std::pair<std::string, std::string>> labels;  // in their order
  std::optional<std::int64_t> priority;
  std::optional<base::WallTime> created;
  std::string group;  // cgroupDir, from the root of a hierarchy, as it came
  bool host_network = false;
  // The peer says native cpu and memory although its containers run on batch resources.
  model::TaskAmounts requests;
  model::TaskAmounts limits;
  std::vector<HeldOnDisk> held;  // at least; empty: not measured, or it has nothing

  std::string_view label(std::string_view key) const;  // "" if not set
  bool operator==(const Container&) const = default;
};

// GET /information
struct Information {
  std::string name;     // "yarn"
  std::string version;  // "v1"
  bool operator==(const Information&) const = default;
};

// A list, and its errors: one unreadable container does not hide the others.
struct ContainerList {
  std::vector<Container> containers;
  std::vector<Error> refused;  // kInvalid, with its name or its place in the list
};

// All are kInvalid for bytes that are something else, with the place in them.
Result<ContainerList> read_containers(std::string_view bytes);  // an array; null is an empty one
Result<Container> read_container(std::string_view bytes);
Result<std::vector<Container>> read_items(std::string_view bytes);  // {"items":[…]}, the killed containers
Result<Information> read_information(std::string_view bytes);

void write(base::JsonWriter& writer, const Container& container);

}  // namespace tidemark::copilot
