#include "linux/kubepods.h"

#include <algorithm>

#include "base/text.h"

namespace tidemark::linux {
namespace {

constexpr std::string_view kSlice = ".slice", kScope = ".scope";
constexpr std::string_view kRuntimes[] = {"cri-containerd-", "docker-", "crio-", "pouch-"};
constexpr std::string_view kConmon = "crio-conmon-";  // CRI-O's monitor of a container lies beside it
constexpr std::string_view kQosNames[] = {"", "burstable", "besteffort"};

std::size_t index(KubeQos qos) {
  return static_cast<std::size_t>(qos);
}

bool is_name(std::string_view text) {
  return !text.empty() && text[0] != '.' && std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.';
  });
}

std::string replaced(std::string_view text, char from, char to) {
  std::string out(text);
  std::ranges::replace(out, from, to);
  return out;
}

std::string joined(std::string_view folder, std::string_view name) {
  return folder.empty() ? std::string(name) : base::cat(folder, '/', name);
}

struct Level {
  std::string path;
  std::string stem;  // systemd: the name without .slice, which every name below begins with
};

// systemd: a dash in a name of a slice means "below", so dashes of the name itself become underscores.
Level below(CgroupDriver driver, const Level& parent, std::string_view name) {
  if (driver == CgroupDriver::kCgroupfs) return {joined(parent.path, name), {}};
  const std::string stem = base::cat(parent.stem, parent.stem.empty() ? "" : "-", replaced(name, '-', '_'));
  return {joined(parent.path, base::cat(stem, kSlice)), stem};
}

}  // namespace

std::string_view to_string(CgroupDriver driver) {
  return driver == CgroupDriver::kCgroupfs ? "cgroupfs" : "systemd";
}

Kubepods::Kubepods(CgroupDriver driver, std::string_view cgroup_root) : driver_(driver) {
  Level level;
  for (const std::string_view part : base::split(cgroup_root, '/')) {
    if (!part.empty()) level = below(driver, level, part);
  }
  const Level top = below(driver, level, "kubepods");
  for (const KubeQos qos : kKubeQosLevels) {
    const Level here = qos == KubeQos::kGuaranteed ? top : below(driver, top, kQosNames[index(qos)]);
    paths_[index(qos)] = here.path;
    prefixes_[index(qos)] = driver == CgroupDriver::kSystemd ? base::cat(here.stem, "-pod") : "pod";
  }
}

const std::string& Kubepods::qos_path(KubeQos qos) const {
  return paths_[index(qos)];
}

std::optional<std::string> Kubepods::pod_path(KubeQos qos, std::string_view uid) const {
  if (!is_name(uid)) return std::nullopt;
  const bool systemd = driver_ == CgroupDriver::kSystemd;
  return joined(qos_path(qos), base::cat(prefixes_[index(qos)], systemd ? replaced(uid, '-', '_') : std::string(uid),
                                         systemd ? kSlice : ""));
}

std::optional<std::string> Kubepods::pod_uid(KubeQos qos, std::string_view folder) const {
  const std::string& prefix = prefixes_[index(qos)];
  if (!folder.starts_with(prefix)) return std::nullopt;
  folder.remove_prefix(prefix.size());
  if (driver_ == CgroupDriver::kSystemd) {
    if (!folder.ends_with(kSlice)) return std::nullopt;
    folder.remove_suffix(kSlice.size());
  }
  if (!is_name(folder)) return std::nullopt;
  return driver_ == CgroupDriver::kSystemd ? replaced(folder, '_', '-') : std::string(folder);
}

std::string pod_path_in(std::string_view qos_path, std::string_view uid) {
  if (!qos_path.ends_with(kSlice)) return base::cat(qos_path, "/pod", uid);
  std::string_view stem = qos_path.substr(qos_path.rfind('/') + 1);  // npos + 1: from the beginning
  stem.remove_suffix(kSlice.size());
  return base::cat(qos_path, "/", stem, "-pod", replaced(uid, '-', '_'), kSlice);
}

std::optional<std::string_view> container_id(CgroupDriver driver, std::string_view folder) {
  if (folder.starts_with(kConmon)) return std::nullopt;
  if (driver == CgroupDriver::kCgroupfs) {
    constexpr std::string_view kCrio = "crio-";  // the one runtime that keeps its prefix under this driver
    if (folder.starts_with(kCrio)) folder.remove_prefix(kCrio.size());
    return is_name(folder) ? std::optional(folder) : std::nullopt;
  }
  if (!folder.ends_with(kScope)) return std::nullopt;
  folder.remove_suffix(kScope.size());
  for (const std::string_view runtime : kRuntimes) {
    if (!folder.starts_with(runtime)) continue;
    folder.remove_prefix(runtime.size());
    return is_name(folder) ? std::optional(folder) : std::nullopt;
  }
  return std::nullopt;
}

Result<std::optional<CgroupDriver>> detect_driver(int hierarchy, std::string_view cgroup_root, const Place& place) {
  std::optional<CgroupDriver> there, with_pods;
  int count = 0, count_with_pods = 0;
  for (const CgroupDriver driver : {CgroupDriver::kCgroupfs, CgroupDriver::kSystemd}) {
    const Kubepods layout(driver, cgroup_root);
    TM_TRY(const auto top, open_beneath(hierarchy, layout.qos_path(KubeQos::kGuaranteed), place));
    if (!top) continue;
    there = driver;
    ++count;
    TM_TRY(const auto pods, walk_pods(hierarchy, layout, place));
    if (pods.empty()) continue;
    with_pods = driver;
    ++count_with_pods;
  }
  // A kubelet that changed its driver leaves the empty groups of the other one behind.
  if (count == 1) return there;
  return count_with_pods == 1 ? with_pods : std::nullopt;
}

Result<std::vector<LivePod>> walk_pods(int hierarchy, const Kubepods& layout, const Place& place) {
  std::vector<LivePod> out;
  std::vector<std::string> folders, below_pod;
  for (const KubeQos qos : kKubeQosLevels) {
    const std::string& level_path = layout.qos_path(qos);
    TM_TRY(const auto level, open_beneath(hierarchy, level_path, {place.folder, level_path, {}}));
    if (!level) continue;
    TM_TRY([[maybe_unused]] const bool listed, list_folders(level->fd.get(), folders, {place.folder, level_path, {}}));
    for (const std::string& folder : folders) {
      auto uid = layout.pod_uid(qos, folder);
      if (!uid) continue;
      LivePod pod{qos, std::move(*uid), joined(level_path, folder), {}};
      const Place pod_place{place.folder, pod.path, {}};
      TM_TRY(const auto directory, open_beneath(level->fd.get(), folder, pod_place));
      if (!directory) continue;
      TM_TRY(const bool there, list_folders(directory->fd.get(), below_pod, pod_place));
      if (!there) continue;
      for (const std::string& name : below_pod) {
        if (const auto id = container_id(layout.driver(), name))
          pod.containers.push_back({std::string(*id), joined(pod.path, name)});
      }
      out.push_back(std::move(pod));
    }
  }
  return out;
}

}  // namespace tidemark::linux
