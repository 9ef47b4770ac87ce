#include "linux/cgroup/make.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>

#include "base/text.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {
namespace {

constexpr mode_t kMode = 0755;
constexpr int kDepthMax = 32;
constexpr std::array<const char*, 2> kCpusetFiles = {"cpuset.cpus", "cpuset.mems"};

Result<std::vector<std::string_view>> parts_of(std::string_view path) {
  std::vector<std::string_view> parts;
  for (const std::string_view part : base::split(path, '/')) {
    if (part.empty()) continue;
    if (part == "." || part == "..") return fail(ErrorKind::kInvalid, "a group ", base::in_quotes(path), " leads up");
    parts.push_back(part);
  }
  if (parts.empty()) return fail(ErrorKind::kInvalid, "a group needs a name");
  return parts;
}

Result<void> put(int directory, const char* name, std::string_view text, const Place& place) {
  TM_TRY(const auto file, open_file(directory, name, O_WRONLY | O_CLOEXEC, place));
  if (!file) return fail(ErrorKind::kUnsupported, place.text(), ": there is no ", name);
  if (::write(file->get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return base::fail_errno(errno, base::cat("write ", base::in_quotes(text), " to ", name, " of ", place.text()));
  }
  return {};
}

Result<std::string> text_of(int directory, const char* name, Buffer& buffer, const Place& place) {
  TM_TRY(const auto file, open_file(directory, name, O_RDONLY | O_CLOEXEC, place));
  if (!file) return fail(ErrorKind::kUnsupported, place.text(), ": there is no ", name);
  TM_TRY(const auto text, read_text(file->get(), buffer, place));
  return std::string(base::trim(text.value_or("")));
}

// Controllers that the kernel lacks cannot be enabled; the others must be, or limits would have no effect.
Result<void> hand_down(int directory, Controllers needed, Buffer& buffer, const Place& place) {
  TM_TRY(const std::string there, text_of(directory, "cgroup.controllers", buffer, place));
  TM_TRY(const std::string done, text_of(directory, "cgroup.subtree_control", buffer, place));
  const auto has = [](const std::string& list, std::string_view name) {
    const auto words = base::split(list, ' ');
    return std::ranges::find(words, name) != words.end();
  };
  std::string missing;
  for (std::size_t at = 0; at < kControllers; ++at) {
    const std::string_view name = name_of(static_cast<Controller>(at), Version::kV2);
    if (!needed.test(at) || !has(there, name) || has(done, name)) continue;
    missing += base::cat(missing.empty() ? "+" : " +", name);
  }
  if (missing.empty()) return {};
  return put(directory, "cgroup.subtree_control", missing, place);
}

Result<void> inherit_cpuset(int parent, int directory, Buffer& buffer, const Place& place) {
  for (const char* name : kCpusetFiles) {
    TM_TRY(const std::string own, text_of(directory, name, buffer, place));
    if (!own.empty()) continue;
    TM_TRY(const std::string above, text_of(parent, name, buffer, place));
    TM_TRY_VOID(put(directory, name, above, place));
  }
  return {};
}

Result<void> make_in(const Hierarchy& hierarchy, int root, const std::vector<std::string_view>& parts,
                     Controllers needed) {
  const bool v2 = hierarchy.version == Version::kV2;
  const bool has_cpuset = hierarchy.controllers.test(static_cast<std::size_t>(Controller::kCpuset));
  const bool has_controllers = hierarchy.controllers.count() > 1;  // beside the core
  Buffer buffer;
  std::string path;
  std::optional<Directory> parent;
  int above = root;
  for (const std::string_view part : parts) {
    if (v2 && has_controllers) TM_TRY_VOID(hand_down(above, needed, buffer, {hierarchy.path, path, {}}));
    path = path.empty() ? std::string(part) : base::cat(path, '/', part);
    const Place place{hierarchy.path, path, {}};
    if (::mkdirat(above, std::string(part).c_str(), kMode) != 0 && errno != EEXIST) {
      return base::fail_errno(errno, base::cat("make the group ", place.text()));
    }
    TM_TRY(auto directory, open_beneath(root, path, place));
    if (!directory) return fail(ErrorKind::kIo, place.text(), ": the group went as it was made");
    if (!v2 && has_cpuset) TM_TRY_VOID(inherit_cpuset(above, directory->fd.get(), buffer, place));
    parent = std::move(*directory);
    above = parent->fd.get();
  }
  return {};
}

Result<void> remove_in(int above, const std::string& name, const Place& place, int depth) {
  if (depth > kDepthMax) return fail(ErrorKind::kIo, place.text(), ": groups lie too deep below it");
  TM_TRY(const auto directory, open_beneath(above, name, place));
  if (!directory) return {};
  std::vector<std::string> below;
  TM_TRY([[maybe_unused]] const bool there, list_folders(directory->fd.get(), below, place));
  for (const std::string& one : below) TM_TRY_VOID(remove_in(directory->fd.get(), one, place, depth + 1));
  if (::unlinkat(above, name.c_str(), AT_REMOVEDIR) != 0 && errno != ENOENT) {
    return base::fail_errno(errno, base::cat("remove the group ", place.text()));
  }
  return {};
}

}  // namespace

Result<void> make_group(const Hierarchies& hierarchies, std::string_view path, Controllers except, Controllers needed) {
  TM_TRY(const auto parts, parts_of(path));
  for (std::size_t i = 0; i < hierarchies.all().size(); ++i) {
    const Hierarchy& one = hierarchies.all()[i];
    if (one.version == Version::kV1 && except.any() && (one.controllers & ~except).none()) continue;
    TM_TRY_VOID(make_in(one, hierarchies.directory(i), parts, needed));
  }
  return {};
}

Result<void> remove_group(const Hierarchies& hierarchies, std::string_view path) {
  TM_TRY(const auto parts, parts_of(path));
  const std::string plain = base::join(std::vector<std::string>(parts.begin(), parts.end()), "/");
  Result<void> done;
  for (std::size_t i = 0; i < hierarchies.all().size(); ++i) {
    auto removed = remove_in(hierarchies.directory(i), plain, {hierarchies.all()[i].path, plain, {}}, 0);
    if (!removed && done) done = std::move(removed);
  }
  return done;
}

std::vector<std::string> process_files(const Hierarchies& hierarchies, std::string_view path) {
  std::vector<std::string> out;
  for (const Hierarchy& one : hierarchies.all()) out.push_back(base::cat(one.path, "/", path, "/cgroup.procs"));
  return out;
}

}  // namespace tidemark::linux
