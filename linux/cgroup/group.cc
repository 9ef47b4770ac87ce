#include "linux/cgroup/group.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::linux {
namespace {

// A removed directory stays open and is empty; a group that lives has this file in every version.
constexpr const char* kInEveryGroup = "cgroup.procs";

}  // namespace

Result<std::optional<Group>> Group::open(const Hierarchies& hierarchies, std::string_view path) {
  return open(hierarchies, path, Controllers().set());
}

Result<std::optional<Group>> Group::open(const Hierarchies& hierarchies, std::string_view path,
                                         Controllers controllers) {
  TM_CHECK(hierarchies.all().size() <= kHierarchiesMax, "a controller is in one hierarchy");
  Group made(hierarchies, path);
  bool found = false;
  for (std::size_t index = 0; index < hierarchies.all().size(); ++index) {
    if ((hierarchies.all()[index].controllers & controllers).none()) continue;
    const Place place{hierarchies.all()[index].path, path, {}};
    TM_TRY(made.directories_[index], open_beneath(hierarchies.directory(index), path, place));
    found = found || made.directories_[index];
  }
  if (!found) return std::nullopt;
  return made;
}

bool Group::alive() const {
  return std::ranges::any_of(directories_,
                             [](const auto& one) { return one && has_file(one->fd.get(), kInEveryGroup); });
}

Result<const Directory*> Group::reach(std::size_t hierarchy) const {
  auto& held = directories_[hierarchy];
  if (held) return &*held;
  TM_TRY(auto opened,
         open_beneath(hierarchies_->directory(hierarchy), path_, {hierarchies_->all()[hierarchy].path, path_, {}}));
  // The name is this group's for as long as it lives, and it did when the directory was opened if it does now.
  if (!opened || !alive()) return nullptr;
  held = std::move(*opened);
  return &*held;
}

const Directory* Group::directory(Controller controller) const {
  const auto hierarchy = hierarchies_->of(controller);
  return hierarchy ? reach(*hierarchy).value_or(nullptr) : nullptr;
}

bool Group::has(File file) const {
  const auto* home = hierarchies_->home(file);
  const Directory* directory = home ? reach(home->hierarchy).value_or(nullptr) : nullptr;
  return directory && has_file(directory->fd.get(), home->name);
}

std::optional<Version> Group::version(File file) const {
  const auto* home = hierarchies_->home(file);
  return home ? std::optional(home->version) : std::nullopt;
}

Place Group::place(File file) const {
  const auto* home = hierarchies_->home(file);
  if (!home) {
    const FileNames& names = names_of(file);
    return {{}, path_, names.v1 ? names.v1 : names.v2};
  }
  return {hierarchies_->all()[home->hierarchy].path, path_, home->name};
}

Result<std::optional<std::string_view>> Group::read(File file, Buffer& buffer) const {
  for (const auto& [kept, fd] : kept_) {
    if (kept == file) return read_text(fd.get(), buffer, place(file));
  }
  TM_TRY(const auto fd, open_with(file, O_RDONLY));
  if (!fd) return std::nullopt;
  return read_text(fd->get(), buffer, place(file));
}

Result<void> Group::keep(File file) {
  if (!has(file) || std::ranges::any_of(kept_, [&](const auto& one) { return one.first == file; })) return {};
  TM_TRY(auto fd, open_with(file, O_RDONLY));
  if (fd) kept_.emplace_back(file, std::move(*fd));
  return {};
}

Result<std::optional<Fd>> Group::open_to_write(File file) const {
  return open_with(file, O_WRONLY | O_TRUNC);  // a kernel truncates nothing; a folder of a test would keep the rest
}

Result<std::optional<Fd>> Group::open_with(File file, int flags) const {
  const auto* home = hierarchies_->home(file);
  if (!home) {
    const FileNames& names = names_of(file);
    return fail(ErrorKind::kUnsupported, "this machine has no ", names.v1 ? names.v1 : names.v2,
                ": no mounted cgroup hierarchy carries it");
  }
  TM_TRY(const Directory* directory, reach(home->hierarchy));
  if (directory) {
    TM_TRY(auto fd, open_file(directory->fd.get(), home->name, flags, place(file)));
    if (fd) return fd;
    if (!has_file(directory->fd.get(), kInEveryGroup)) return std::nullopt;
    return fail(ErrorKind::kUnsupported, place(file).text(),
                " is not there: this kernel does not have it, or the controller is not enabled for the group");
  }
  if (!alive()) return std::nullopt;
  return fail(ErrorKind::kUnsupported, place(file).text(),
              " is not there: the group is in other hierarchies and not, or not yet, in this one");
}

}  // namespace tidemark::linux
