// How much a filesystem holds, and how much of it lies in a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::linux {

struct FilesystemSpace {
  std::uint64_t device = 0;  // st_dev of the path: a layered filesystem has its own
  // Free is what is free for others than root.
  std::int64_t bytes = 0, bytes_free = 0;
  std::int64_t inodes = 0, inodes_free = 0;  // 0: it has no number of them
  bool operator==(const FilesystemSpace&) const = default;
};

// Of the one that the path lies on. nullopt: there is no such path.
Result<std::optional<FilesystemSpace>> filesystem_space(const std::string& path);

struct FolderLimits {
  std::size_t entries = 20'000;
  base::Duration time = std::chrono::milliseconds(500);
};

// The space that a folder uses on a device, with all below it.
struct FolderSpace {
  std::int64_t bytes = 0;  // blocks of it; of a file of several names its part of them
  std::int64_t inodes = 0;
  bool whole = true;  // false: there is more, beyond the limits or without permission
  bool operator==(const FolderSpace&) const = default;
};

// Blocks on the disk: for a worker. Follows no link and enters no other device; `directory` stays open, and its own
// inode counts. Its limits hold even if the folder is filled meanwhile.
FolderSpace folder_space(int directory, std::uint64_t device, const FolderLimits& limits);

}  // namespace tidemark::linux
