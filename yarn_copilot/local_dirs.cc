#include "yarn_copilot/local_dirs.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "linux/filesystem.h"
#include "linux/kernel_files.h"

namespace tidemark::yarn_copilot {
namespace {

constexpr std::string_view kContainerPrefix = "container_";
constexpr std::string_view kUsers = "usercache", kApplications = "appcache";

class Look {
 public:
  Look(const std::set<LocalApplication>& running, const LocalLook& limits, const base::Clock& clock)
      : running_(running), clock_(clock), entries_left_(limits.entries), end_(clock.monotonic() + limits.time) {}

  bool over() const { return entries_left_ == 0 || clock_.monotonic() >= end_; }

  LocalUse folder(const std::string& path) {
    out_ = {};
    look_into(path);
    return std::move(out_);
  }

 private:
  void look_into(const std::string& path) {
    const auto root = linux::open_directory(path);
    if (!root || !*root) {
      out_.absent.push_back(path);
      out_.whole = false;
      return;
    }
    const linux::Directory& top = **root;
    for (const std::string& name : below(top)) {
      if (name == kUsers) {
        each(top, name, [&](const linux::Directory& users, const std::string& user) { of_user(users, user); });
      } else {
        weigh(top, name);
      }
    }
  }

  void of_user(const linux::Directory& users, const std::string& user) {
    each(users, user, [&](const linux::Directory& of_user, const std::string& part) {
      if (part != kApplications) {
        weigh(of_user, part);
        return;
      }
      each(of_user, part, [&](const linux::Directory& applications, const std::string& name) {
        const LocalApplication application{user, name};
        if (running_.contains(application)) {
          of_application(applications, application);
        } else {
          weigh(applications, name);
        }
      });
    });
  }

  void of_application(const linux::Directory& applications, const LocalApplication& application) {
    each(applications, application.application, [&](const linux::Directory& directory, const std::string& item) {
      const linux::FolderSpace space = weigh(directory, item);
      if (space.bytes == 0) return;
      out_.applications[application] += space.bytes;
      if (!item.starts_with(kContainerPrefix)) return;
      out_.containers[item] += space.bytes;
      LocalPart& part = out_.devices[item][directory.identity.device];
      part.bytes += space.bytes;
      part.inodes += space.inodes;
    });
  }

  // Opens `name` in `directory` and walks its subdirectories. One that vanished counts as empty.
  template <class Visit>
  void each(const linux::Directory& directory, const std::string& name, const Visit& visit) {
    if (spent()) return;
    --entries_left_;
    const auto opened = linux::open_beneath(directory.fd.get(), name, place(name));
    if (!opened) out_.whole = false;
    if (!opened || !*opened) return;
    for (const std::string& item : below(**opened)) {
      if (spent()) return;
      visit(**opened, item);
    }
  }

  std::vector<std::string> below(const linux::Directory& directory) {
    std::vector<std::string> names;
    if (!linux::list_folders(directory.fd.get(), names, place({}))) out_.whole = false;
    return names;
  }

  linux::FolderSpace weigh(const linux::Directory& directory, const std::string& name) {
    if (spent()) return {};
    const auto opened = linux::open_beneath(directory.fd.get(), name, place(name));
    if (!opened) out_.whole = false;
    if (!opened || !*opened) return {};
    const auto space =
        linux::folder_space((*opened)->fd.get(), (*opened)->identity.device,
                            {.entries = entries_left_, .time = std::max(end_ - clock_.monotonic(), base::Duration(0))});
    entries_left_ -= std::min(entries_left_, static_cast<std::size_t>(std::max<std::int64_t>(space.inodes, 1)));
    out_.whole = out_.whole && space.whole;
    out_.bytes += space.bytes;
    return space;
  }

  // Limits the pass, whatever files users create.
  bool spent() {
    if (!over()) return false;
    out_.whole = false;
    return true;
  }

  static linux::Place place(std::string_view name) { return {"a local folder of the NodeManager", {}, name}; }

  const std::set<LocalApplication>& running_;
  const base::Clock& clock_;
  std::size_t entries_left_;
  base::MonotonicTime end_;
  LocalUse out_;
};

void add(LocalUse& sum, const LocalUse& part) {
  sum.bytes += part.bytes;
  sum.whole = sum.whole && part.whole;
  sum.absent.insert(sum.absent.end(), part.absent.begin(), part.absent.end());
  for (const auto& [name, bytes] : part.containers) sum.containers[name] += bytes;
  for (const auto& [application, bytes] : part.applications) sum.applications[application] += bytes;
  for (const auto& [name, parts] : part.devices) {
    for (const auto& [device, held] : parts) {
      LocalPart& all = sum.devices[name][device];
      all.bytes += held.bytes;
      all.inodes += held.inodes;
    }
  }
}

// The application removes its directory.
void forget_who_ended(LocalUse& use, const std::set<LocalApplication>& running) {
  std::erase_if(use.applications, [&](const auto& each) {
    if (running.contains(each.first)) return false;
    use.bytes -= each.second;
    return true;
  });
}

LocalUse sum_of(const LocalMemory& memory) {
  LocalUse sum;
  for (const auto& each : memory.folders) {
    if (each) add(sum, *each);
    sum.whole = sum.whole && each;
  }
  return sum;
}

}  // namespace

LocalSight look_at_local_dirs(const std::vector<std::string>& folders, const std::set<LocalApplication>& running,
                              LocalMemory memory, const LocalLook& limits, const base::Clock& clock) {
  memory.folders.resize(folders.size());
  for (auto& each : memory.folders) {
    if (each) forget_who_ended(*each, running);
  }
  Look look(running, limits, clock);
  const std::size_t first = folders.empty() ? 0 : memory.next % folders.size();
  for (std::size_t turn = 0; turn < folders.size() && !look.over(); ++turn) {
    const std::size_t at = (first + turn) % folders.size();
    LocalUse seen = look.folder(folders[at]);
    // Cut short: the next pass starts with this directory and all its limits. If this one had all of them, the rest is
    // not counted.
    const bool again = !seen.whole && look.over() && turn > 0;
    memory.next = again ? at : at + 1;
    if (!again || !memory.folders[at]) memory.folders[at] = std::move(seen);
  }
  LocalUse sum = sum_of(memory);
  return {std::move(sum), std::move(memory)};
}

}  // namespace tidemark::yarn_copilot
