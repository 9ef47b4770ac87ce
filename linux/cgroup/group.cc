#include "linux/cgroup/group.h"

#include <algorithm>

#include "base/check.h"
#include "base/text.h"

namespace tidemark::linux {

Result<std::optional<Group>> Group::open(const Hierarchies& hierarchies, std::string_view path) {
  TM_CHECK(hierarchies.all().size() <= kHierarchiesMax, "a controller is in one hierarchy");
  Group made(hierarchies, path);
  bool found = false;
  for (std::size_t index = 0; index < hierarchies.all().size(); ++index) {
    const Place place{hierarchies.all()[index].path, path, {}};
    TM_TRY(made.directories_[index], open_beneath(hierarchies.directory(index), path, place));
    found = found || made.directories_[index];
  }
  if (!found) return std::nullopt;
  return made;
}

bool Group::alive() const {
  // A removed directory stays open and is empty; a group that lives has this file in every version.
  return std::ranges::any_of(directories_,
                             [](const auto& one) { return one && has_file(one->fd.get(), "cgroup.procs"); });
}

const Directory* Group::directory(Controller controller) const {
  const auto hierarchy = hierarchies_->of(controller);
  if (!hierarchy || !directories_[*hierarchy]) return nullptr;
  return &*directories_[*hierarchy];
}

const Directory* Group::home_directory(File file) const {
  const auto* home = hierarchies_->home(file);
  if (!home || !directories_[home->hierarchy]) return nullptr;
  return &*directories_[home->hierarchy];
}

bool Group::has(File file) const {
  const Directory* directory = home_directory(file);
  return directory && has_file(directory->fd.get(), hierarchies_->home(file)->name);
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
  const Directory* directory = home_directory(file);
  if (directory) {
    TM_TRY(auto fd, open_file(directory->fd.get(), hierarchies_->home(file)->name, flags, place(file)));
    if (fd) return fd;
  }
  if (auto error = why_absent(file)) return fail(std::move(*error));
  return std::nullopt;
}

// Nothing: because the group is gone.
std::optional<Error> Group::why_absent(File file) const {
  const FileNames& names = names_of(file);
  if (!hierarchies_->home(file)) {
    return fail(ErrorKind::kUnsupported, "this machine has no ", names.v1 ? names.v1 : names.v2,
                ": no mounted cgroup hierarchy carries it")
        .error();
  }
  const Directory* directory = home_directory(file);
  if (!directory || !has_file(directory->fd.get(), "cgroup.procs")) return std::nullopt;
  return fail(ErrorKind::kUnsupported, place(file).text(),
              " is not there: this kernel does not have it, or the controller is not enabled for the group")
      .error();
}

}  // namespace tidemark::linux
