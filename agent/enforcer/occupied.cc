#include "agent/enforcer/occupied.h"

#include <algorithm>
#include <utility>

#include "agent/enforcer/enforcer.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

using linux::File;

constexpr int kDepthMax = 16;  // levels below a group

}  // namespace

bool Occupied::operator()(const std::string& path) {
  const auto known = known_.find(path);
  if (known != known_.end()) return known->second;
  auto found = look(path, 0);
  if (!found) troubles_.push_back(std::move(found).error());
  return known_[path] = found.value_or(true);
}

std::vector<std::string> Occupied::below(const std::string& path) {
  auto found = look_below(path);
  if (!found) troubles_.push_back(std::move(found).error());
  return found.value_or(std::vector<std::string>());
}

bool Occupied::is_passed_over(const std::string& group) const {
  return std::ranges::any_of(passed_over_, [&](const std::string& each) {
    return group.starts_with(each) && (group.size() == each.size() || group[each.size()] == '/');
  });
}

Result<std::vector<std::string>> Occupied::look_below(const std::string& path) {
  TM_TRY(const auto group, linux::Group::open(hierarchies_, path));
  if (!group) return std::vector<std::string>();
  return folders_of(*group);
}

Result<std::vector<std::string>> Occupied::folders_of(const linux::Group& group) {
  std::vector<std::string> out;
  const auto* directory = directory_of(hierarchies_, group, File::kProcesses);
  if (directory == nullptr) return out;
  linux::Place folder = group.place(File::kProcesses);
  folder.name = {};
  TM_TRY([[maybe_unused]] const bool listed, linux::list_folders(directory->fd.get(), out, folder));
  for (std::string& each : out) {
    if (!group.path().empty()) each = base::cat(group.path(), "/", each);
  }
  return out;
}

Result<bool> Occupied::look(const std::string& path, int depth) {
  if (is_passed_over(path)) return false;
  TM_TRY(const auto group, linux::Group::open(hierarchies_, path));
  if (!group) return false;
  TM_TRY(const auto processes, group->read(File::kProcesses, buffer_));
  if (!processes) return false;
  if (!base::trim(*processes).empty()) return true;  // includes processes of other pid namespaces, which read as 0
  if (depth == kDepthMax) return true;               // not examined
  TM_TRY(const auto folders, folders_of(*group));
  for (const std::string& each : folders) {
    TM_TRY(const bool found, look(each, depth + 1));
    if (found) return true;
  }
  return false;
}

}  // namespace tidemark::agent
