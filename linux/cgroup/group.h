// One cgroup, held open: a directory descriptor in each hierarchy. Readings belong to that group, even if it is removed
// and another one is created with its name.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

// Descriptors: one for each hierarchy (8 on a v1 machine), or for those that were asked for, and one for each kept
// file. Two hundred groups need the limit of open files raised above the usual soft limit of 1024.
class Group {
 public:
  // `path` from the root of each hierarchy, without a slash in front; empty is the root group. The hierarchies must
  // outlive the group. nullopt: no hierarchy has such a group.
  static Result<std::optional<Group>> open(const Hierarchies&, std::string_view path);
  // Only in the hierarchies of these controllers now, and in another one when a file of it is asked for. nullopt: none
  // of these has such a group.
  static Result<std::optional<Group>> open(const Hierarchies&, std::string_view path, Controllers);

  const std::string& path() const { return path_; }
  bool alive() const;

  // The directory in the hierarchy of that controller. nullptr: no such controller here, or the group is not there in
  // it.
  const Directory* directory(Controller) const;
  // Whether the group has that file at all: asked once, before it is read every second.
  bool has(File) const;
  // Which version's form the text of the file has. nullopt: no hierarchy here can have it.
  std::optional<Version> version(File) const;
  Place place(File) const;

  // The text of the file, in the buffer until the next reading. nullopt: the group is gone. kUnsupported: the group is
  // there and has no such file, or is not in that hierarchy, where it may still come.
  Result<std::optional<std::string_view>> read(File, Buffer&) const;

  // Keeps the file open, so that a reading is one system call: for files that are read every second. Does nothing if
  // the file is missing.
  Result<void> keep(File);

  // To write it. nullopt and kUnsupported as for read().
  Result<std::optional<Fd>> open_to_write(File) const;

 private:
  Group(const Hierarchies& hierarchies, std::string_view path) : hierarchies_(&hierarchies), path_(path) {}
  // Held, or opened now: a group comes into one hierarchy after the other. nullptr: it is not there in that one.
  Result<const Directory*> reach(std::size_t hierarchy) const;
  Result<std::optional<Fd>> open_with(File, int flags) const;

  const Hierarchies* hierarchies_;
  std::string path_;
  mutable std::array<std::optional<Directory>, kHierarchiesMax> directories_;  // filled by reach(): for one thread
  std::vector<std::pair<File, Fd>> kept_;
};

}  // namespace tidemark::linux
