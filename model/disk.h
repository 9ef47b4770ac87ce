// The disks of a node that offline work can fill, and what a task holds on them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tidemark::model {

// The kubelet's "nodefs": volumes of pods, logs. And its "imagefs", if that is another disk: what containers write
// outside volumes.
enum class Disk : std::uint8_t { kKubelet, kRuntime };
inline constexpr std::size_t kDisks = 2;
std::string_view to_string(Disk disk);  // "the kubelet's disk"

// Free is what is free for users other than root, as the kubelet counts.
struct DiskSeen {
  std::int64_t bytes = 0, bytes_free = 0;
  std::int64_t inodes = 0, inodes_free = 0;  // inodes 0: the file system does not count them (btrfs)
  bool operator==(const DiskSeen&) const = default;
};

struct DiskHeld {
  std::int64_t bytes = 0, inodes = 0;
  bool whole = false;  // false: a lower bound; the rest could not be read
  bool operator==(const DiskHeld&) const = default;
};

template <class T>
using ByDisk = std::array<T, kDisks>;

}  // namespace tidemark::model
