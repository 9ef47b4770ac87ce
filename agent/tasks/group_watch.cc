#include "agent/tasks/group_watch.h"

#include <unordered_set>
#include <utility>
#include <vector>

namespace tidemark::agent {
namespace {

Result<std::optional<linux::Directory>> open_group(const linux::Hierarchies& hierarchies, std::size_t hierarchy,
                                                   const std::string& group) {
  const linux::Place place{hierarchies.all()[hierarchy].path, group, {}};
  return linux::open_beneath(hierarchies.directory(hierarchy), group, place);
}

}  // namespace

std::size_t watched_hierarchy(const linux::Hierarchies& hierarchies) {
  for (const auto controller : {linux::Controller::kCpu, linux::Controller::kCpuacct, linux::Controller::kMemory}) {
    if (const auto found = hierarchies.of(controller)) return *found;
  }
  return 0;
}

bool group_is_there(const linux::Hierarchies& hierarchies, const std::string& group) {
  const auto directory = open_group(hierarchies, watched_hierarchy(hierarchies), group);
  return !directory || directory->has_value();
}

bool holds_groups(const linux::Hierarchies& hierarchies, const std::string& group) {
  const std::size_t hierarchy = watched_hierarchy(hierarchies);
  const auto directory = open_group(hierarchies, hierarchy, group);
  if (!directory) return true;
  if (!directory->has_value()) return false;
  std::vector<std::string> inner;
  const auto listed =
      linux::list_folders((*directory)->fd.get(), inner, {hierarchies.all()[hierarchy].path, group, {}});
  return !listed || !inner.empty();
}

GroupWatch::GroupWatch(net::EventLoop& loop, const linux::Hierarchies& hierarchies, base::Log log,
                       std::function<void()> told)
    : hierarchies_(hierarchies),
      hierarchy_(watched_hierarchy(hierarchies)),
      log_(std::move(log)),
      told_(std::move(told)) {
  auto watch = linux::FolderWatch::open();
  if (!watch) {
    log_.warn("cannot watch new groups; polling", {{"error", watch.error()}});
    return;
  }
  watch_ = *std::move(watch);
  readable_ = loop.watch(watch_->fd(), net::kReadable, [this](std::uint32_t) { take_events(); });
}

bool GroupWatch::set(std::span<const std::string> groups) {
  if (!watch_) return false;
  bool added = false;
  std::unordered_set<std::string_view> wanted;
  for (const std::string& group : groups) {
    added = add(group) || added;
    wanted.insert(group);
  }
  std::erase_if(watched_, [&](const auto& each) {
    if (wanted.contains(each.first)) return false;
    watch_->remove(each.second);
    return true;
  });
  return added;
}

bool GroupWatch::add(const std::string& group) {
  if (watched_.contains(group)) return false;
  const auto directory = open_group(hierarchies_, hierarchy_, group);
  if (!directory || !*directory) return false;  // the caller that reads it reports the error
  const auto watch = watch_->add(**directory, {hierarchies_.all()[hierarchy_].path, group, {}});
  if (!watch) {
    log_.warn("cannot watch a group; polling", {{"error", watch.error()}});
    return false;
  }
  if (!*watch) return false;
  watched_.emplace(group, **watch);
  return true;
}

void GroupWatch::take_events() {
  bool any = false;
  for (;;) {
    const auto change = watch_->next();
    if (!change) {
      log_.warn("cannot watch new groups; polling", {{"error", change.error()}});
      readable_.cancel();
      watch_.reset();
      watched_.clear();
      break;
    }
    if (!*change) break;
    if ((*change)->kind == linux::FolderChangeKind::kClosed) {
      const auto closed = [&](const auto& each) { return each.second == (*change)->watch; };
      if (std::erase_if(watched_, closed) == 0) continue;  // closed by ourselves
    }
    any = true;
  }
  if (any) told_();
}

}  // namespace tidemark::agent
