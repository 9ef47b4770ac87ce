#include "linux/cgroup/hierarchies.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>

#include "base/text.h"
#include "linux/scan.h"

namespace tidemark::linux {
namespace {

constexpr std::size_t at(Controller controller) {
  return static_cast<std::size_t>(controller);
}

// Blanks, tabs, line ends and backslashes in a path are written as \040 and the like.
std::string unescaped(std::string_view field) {
  std::string out;
  for (std::size_t i = 0; i < field.size(); ++i) {
    const std::string_view digits = field.substr(std::min(i + 1, field.size()), 3);
    const bool octal = field[i] == '\\' && digits.size() == 3 && digits[0] <= '3' &&
                       std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '7'; });
    if (!octal) {
      out.push_back(field[i]);
      continue;
    }
    out.push_back(static_cast<char>((digits[0] - '0') * 64 + (digits[1] - '0') * 8 + (digits[2] - '0')));
    i += 3;
  }
  return out;
}

bool is_beneath(std::string_view path, std::string_view root) {
  if (root == "/") return path.starts_with('/');
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

Controllers controllers_in(std::string_view list, char separator, Version version) {
  Controllers out;
  for (const std::string_view name : base::split(list, separator)) {
    if (const auto known = controller_of(name, version)) out.set(at(*known));
  }
  return out;
}

Controllers of_v2(std::string_view cgroup_controllers) {
  Controllers out = controllers_in(without_line_end(cgroup_controllers), ' ', Version::kV2);
  out.set(at(Controller::kCore));
  return out;
}

// "36 35 98:0 /root /mount/point rw,noatime master:1 - cgroup cgroup rw,cpu,cpuacct". One of v1 may carry nothing of
// ours.
std::optional<Hierarchy> parse_mount(std::string_view line) {
  std::string_view word, root, point;
  Words words(line);
  for (int skipped = 0; skipped < 3; ++skipped) {
    if (!words.next(word)) return std::nullopt;
  }
  if (!words.next(root) || !words.next(point)) return std::nullopt;
  while (words.next(word) && word != "-") {
  }
  std::string_view type, source, options;
  if (!words.next(type) || !words.next(source) || !words.next(options)) return std::nullopt;
  Hierarchy made{Version::kV1, unescaped(point), {}, unescaped(root)};
  if (type == "cgroup2") {
    made.version = Version::kV2;
    made.controllers = of_v2("");
    const auto flags = base::split(options, ',');
    made.hands_down_memory = std::ranges::find(flags, "memory_recursiveprot") != flags.end();
  } else if (type == "cgroup") {
    made.controllers = controllers_in(options, ',', Version::kV1);
  } else {
    return std::nullopt;
  }
  return made;
}

// A controller is in one hierarchy: the first that shows the whole of it.
std::vector<Hierarchy> without_repetition(std::vector<Hierarchy> found) {
  std::vector<Hierarchy> out;
  Controllers seen;
  for (const bool whole : {true, false}) {
    for (Hierarchy& one : found) {
      if ((one.mount_root == "/") != whole) continue;
      one.controllers &= ~seen;
      if (one.controllers.none()) continue;
      seen |= one.controllers;
      out.push_back(one);
    }
  }
  std::ranges::sort(out, {}, &Hierarchy::path);
  return out;
}

// A tree without mounts, as a fixture or a copy has it: the same folders, or one v2 tree.
Result<std::vector<Hierarchy>> from_folders(const std::string& root, int directory) {
  if (has_file(directory, "cgroup.controllers")) return std::vector{Hierarchy{Version::kV2, root, of_v2(""), "/"}};
  std::vector<Hierarchy> out;
  std::vector<std::string> names;
  TM_TRY([[maybe_unused]] const bool there, list_folders(directory, names, {root, {}, {}}));
  for (const std::string& name : names) {
    const Place place{root, name, {}};
    TM_TRY(const auto folder, open_beneath(directory, name, place));
    if (!folder) continue;
    if (has_file(folder->fd.get(), "cgroup.controllers")) {
      out.push_back({Version::kV2, place.text(), of_v2(""), "/"});
    } else if (const auto carried = controllers_in(name, ',', Version::kV1); carried.any()) {
      out.push_back({Version::kV1, place.text(), carried, "/"});
    }
  }
  return without_repetition(std::move(out));
}

// The other ones of v1 among them: folders that hold processes and are named after nothing of ours.
Result<std::vector<std::string>> others_from_folders(const std::string& root, int directory) {
  std::vector<std::string> out, names;
  if (has_file(directory, "cgroup.controllers")) return out;
  TM_TRY([[maybe_unused]] const bool there, list_folders(directory, names, {root, {}, {}}));
  for (const std::string& name : names) {
    const Place place{root, name, {}};
    TM_TRY(const auto folder, open_beneath(directory, name, place));
    if (!folder || has_file(folder->fd.get(), "cgroup.controllers") || !has_file(folder->fd.get(), "cgroup.procs"))
      continue;
    if (controllers_in(name, ',', Version::kV1).none()) out.push_back(place.text());
  }
  return out;
}

}  // namespace

std::vector<Hierarchy> parse_mounts(std::string_view root, std::string_view mountinfo) {
  while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
  std::vector<Hierarchy> found;
  Lines lines(mountinfo);
  for (std::string_view line; lines.next(line);) {
    auto mount = parse_mount(line);
    if (!mount || mount->controllers.none() || !is_beneath(mount->path, root)) continue;
    // A later mount on the same mount point hides the earlier one.
    std::erase_if(found, [&](const Hierarchy& earlier) { return earlier.path == mount->path; });
    found.push_back(std::move(*mount));
  }
  return without_repetition(std::move(found));
}

std::vector<std::string> parse_other_mounts(std::string_view root, std::string_view mountinfo) {
  while (root.size() > 1 && root.ends_with('/')) root.remove_suffix(1);
  std::vector<std::string> found;
  Lines lines(mountinfo);
  for (std::string_view line; lines.next(line);) {
    const auto mount = parse_mount(line);
    if (!mount || !is_beneath(mount->path, root)) continue;
    std::erase(found, mount->path);
    if (mount->controllers.none() && mount->mount_root == "/") found.push_back(mount->path);
  }
  std::ranges::sort(found);
  return found;
}

std::string_view to_string(Layout layout) {
  switch (layout) {
    case Layout::kV1:
      return "v1";
    case Layout::kHybrid:
      return "hybrid";
    case Layout::kV2:
      return "v2";
  }
  return "unknown";
}

Result<Hierarchies> Hierarchies::discover(const std::string& root, std::string_view mountinfo) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(root.c_str(), nullptr), std::free);
  if (!real) return base::fail_errno(errno, base::cat("find the cgroup root ", root));
  TM_TRY(const auto top, open_directory(real.get()));
  if (!top) return fail(ErrorKind::kNotFound, "the cgroup root ", root, " is not there");

  Hierarchies made;
  made.all_ = parse_mounts(real.get(), mountinfo);
  if (made.all_.empty()) {
    TM_TRY(made.all_, from_folders(real.get(), top->fd.get()));
  }
  if (made.all_.empty()) {
    return fail(
        ErrorKind::kNotFound, "no cgroup hierarchy at ", root,
        ": neither a mount of type cgroup or cgroup2 there or beneath, nor a file cgroup.controllers, nor a "
        "folder such as cpu; is the root right, and is the machine's /sys/fs/cgroup mounted into this container?");
  }
  Buffer buffer(4096);
  for (Hierarchy& one : made.all_) {
    const Place place{one.path, {}, "cgroup.controllers"};
    TM_TRY(auto directory, open_directory(one.path));
    if (!directory) return fail(ErrorKind::kNotFound, "the cgroup hierarchy ", one.path, " is not there");
    if (one.version == Version::kV2) {
      TM_TRY(const auto file, open_file(directory->fd.get(), "cgroup.controllers", O_RDONLY, place));
      if (!file) return fail(ErrorKind::kNotFound, place.text(), " is not there");
      TM_TRY(const auto text, read_text(file->get(), buffer, place));
      if (!text) return fail(ErrorKind::kNotFound, place.text(), " is gone");
      one.controllers = of_v2(*text);
    }
    made.roots_.push_back(std::move(*directory));
  }
  for (std::size_t file = 0; file < kFiles; ++file) {
    const FileNames& names = names_of(static_cast<File>(file));
    for (std::size_t index = 0; index < made.all_.size(); ++index) {
      const Hierarchy& one = made.all_[index];
      const bool first = one.version == Version::kV1;
      const char* name = first ? names.v1 : names.v2;
      if (!name || !one.controllers.test(at(first ? names.v1_controller : names.v2_controller))) continue;
      auto& home = made.homes_[file];
      if (!home || first) home = Home{index, one.version, name};
    }
  }
  return made;
}

Result<Hierarchies> Hierarchies::discover_others(const std::string& root, std::string_view mountinfo) {
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(root.c_str(), nullptr), std::free);
  if (!real) return base::fail_errno(errno, base::cat("find the cgroup root ", root));
  TM_TRY(const auto top, open_directory(real.get()));
  if (!top) return fail(ErrorKind::kNotFound, "the cgroup root ", root, " is not there");
  std::vector<std::string> paths = parse_other_mounts(real.get(), mountinfo);
  if (parse_mounts(real.get(), mountinfo).empty()) {
    TM_TRY(paths, others_from_folders(real.get(), top->fd.get()));
  }
  Hierarchies made;
  for (std::string& path : paths) {
    TM_TRY(auto directory, open_directory(path));
    if (!directory) return fail(ErrorKind::kNotFound, "the cgroup hierarchy ", path, " is not there");
    made.all_.push_back({Version::kV1, std::move(path), {}, "/"});
    made.roots_.push_back(std::move(*directory));
  }
  return made;
}

Layout Hierarchies::layout() const {
  const bool v2 = std::ranges::any_of(all_, [](const Hierarchy& one) { return one.version == Version::kV2; });
  const bool v1 = std::ranges::any_of(all_, [](const Hierarchy& one) { return one.version == Version::kV1; });
  return !v1 ? Layout::kV2 : v2 ? Layout::kHybrid : Layout::kV1;
}

std::optional<std::size_t> Hierarchies::of(Controller controller) const {
  // perf, accounting and freezing belong to the core of v2 and are missing nowhere that v2 is mounted.
  const bool in_core = name_of(controller, Version::kV2).empty();
  std::optional<std::size_t> found;
  for (std::size_t index = 0; index < all_.size(); ++index) {
    const Hierarchy& one = all_[index];
    if (one.controllers.test(at(controller)) && one.version == Version::kV1) return index;
    if (one.version == Version::kV2 && (in_core || one.controllers.test(at(controller)))) found = index;
  }
  return found;
}

const Hierarchies::Home* Hierarchies::home(File file) const {
  const auto& found = homes_[static_cast<std::size_t>(file)];
  return found ? &*found : nullptr;
}

}  // namespace tidemark::linux
