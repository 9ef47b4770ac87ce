// A directory that stands for a part of the kernel's: files by path, removed at the end.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace tidemark::linux::testing {

class Tree {
 public:
  Tree() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tidemark-tree-XXXXXX").string();
    if (::mkdtemp(pattern.data())) root_ = pattern;
    EXPECT_FALSE(root_.empty()) << "a folder in " << pattern;
  }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  ~Tree() {
    std::error_code ignored;
    if (!root_.empty()) std::filesystem::remove_all(root_, ignored);
  }

  const std::string& root() const { return root_; }
  std::string path(std::string_view relative) const { return (std::filesystem::path(root_) / relative).string(); }

  void write(std::string_view relative, std::string_view text) {
    const std::filesystem::path file = path(relative);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << text;
  }
  void folder(std::string_view relative) { std::filesystem::create_directories(path(relative)); }
  void remove(std::string_view relative) { std::filesystem::remove_all(path(relative)); }

 private:
  std::string root_;
};

// Trees of groups, in each form that a machine can have. `group` gets the file by which a living group is known.
inline void make_v2_group(Tree& tree, std::string_view hierarchy, std::string_view group) {
  tree.write(std::filesystem::path(hierarchy).append(group).append("cgroup.procs").string(), "");
}

inline void make_v2(Tree& tree, std::string_view controllers = "cpuset cpu io memory pids\n") {
  tree.write("cgroup.controllers", controllers);
  tree.write("cgroup.procs", "");
}

inline void make_v1(Tree& tree) {
  for (const char* name : {"cpu", "cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}) {
    tree.write(std::string(name) + "/cgroup.procs", "");
  }
}

inline void make_v1_group(Tree& tree, std::string_view group) {
  for (const char* name : {"cpu", "cpuacct", "cpuset", "memory", "blkio", "pids", "freezer"}) {
    make_v2_group(tree, name, group);
  }
}

}  // namespace tidemark::linux::testing
