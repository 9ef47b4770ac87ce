#include "agent/evict/pods_room.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "linux/cgroup/limit.h"
#include "linux/cgroup/memory.h"

namespace tidemark::agent {
namespace {

linux::Controllers memory_alone() {
  linux::Controllers out;
  out.set(static_cast<std::size_t>(linux::Controller::kMemory));
  return out;
}

}  // namespace

Result<bool> PodsRoom::hold(const std::string& group) {
  if (group_ && group_->path() == group && group_->alive()) return true;
  group_.reset();
  TM_TRY(auto opened, linux::Group::open(hierarchies_, group, memory_alone()));
  if (!opened) return false;
  group_.emplace(std::move(*opened));
  return true;
}

// The limit first: usually there is none, and nothing more to read.
Result<std::optional<model::MemoryBytes>> PodsRoom::left() {
  const auto limit = linux::read_value(*group_, linux::File::kMemoryLimit, buffer_);
  if (!limit && limit.error().kind == ErrorKind::kUnsupported) return std::nullopt;  // nor can it have a limit
  if (!limit) return fail(limit.error());
  if (!*limit) group_.reset();  // the next look searches for a recreated group
  if (!*limit || **limit == linux::kUnlimited) return std::nullopt;
  TM_TRY(const auto use, linux::read_memory_use(*group_, buffer_));
  if (!use) {
    group_.reset();
    return std::nullopt;
  }
  return model::MemoryBytes{std::max<std::int64_t>(**limit - use->working_set_bytes, 0)};
}

Result<std::optional<model::MemoryBytes>> PodsRoom::look(const std::string& group) {
  TM_TRY(const bool there, hold(group));
  if (!there) return std::nullopt;
  return left();
}

}  // namespace tidemark::agent
