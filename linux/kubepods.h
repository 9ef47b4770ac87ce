// The groups that a kubelet makes: where pods and containers are, for both cgroup drivers, and which there are now.
//
//   cgroupfs   kubepods/burstable/pod<uid>/<container>
//   systemd    kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid, - as
//   _>.slice/cri-containerd-<container>.scope
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "linux/kernel_files.h"

namespace tidemark::linux {

enum class CgroupDriver : std::uint8_t { kCgroupfs, kSystemd };
std::string_view to_string(CgroupDriver);

enum class KubeQos : std::uint8_t { kGuaranteed, kBurstable, kBestEffort };
inline constexpr KubeQos kKubeQosLevels[] = {KubeQos::kGuaranteed, KubeQos::kBurstable, KubeQos::kBestEffort};

// All paths are from the root of a hierarchy, without a slash in front, as Group::open() takes them.
class Kubepods {
 public:
  // `cgroup_root`: the kubelet's cgroupRoot, "/" by default. It is a cgroup path, not a path of this machine.
  explicit Kubepods(CgroupDriver driver, std::string_view cgroup_root = "/");

  CgroupDriver driver() const { return driver_; }
  const std::string& qos_path(KubeQos) const;  // guaranteed pods lie in kubepods itself
  // nullopt: letters and digits, "-", "_" and "." are all that a uid has.
  std::optional<std::string> pod_path(KubeQos, std::string_view uid) const;

  // The uid in the name of a folder at that level; nullopt: not a pod's.
  std::optional<std::string> pod_uid(KubeQos, std::string_view folder) const;

 private:
  CgroupDriver driver_;
  std::string paths_[3];     // in the order of KubeQos
  std::string prefixes_[3];  // of a pod's folder there
};

// The group of a pod in the group of its QoS class, by the path of that alone.
std::string pod_path_in(std::string_view qos_path, std::string_view uid);

// The container's id in the name of a folder of a pod: of containerd, docker, CRI-O and pouch. nullopt: not a
// container's (CRI-O's conmon). The pause container of a pod is one like others here.
std::optional<std::string_view> container_id(CgroupDriver, std::string_view folder);

// Which driver made the groups that are there. nullopt: there are none, or of both and pods in both or in neither.
// `hierarchy`: the directory of one (cpu's; v2: the one there is).
Result<std::optional<CgroupDriver>> detect_driver(int hierarchy, std::string_view cgroup_root, const Place&);

struct LiveContainer {
  std::string id;
  std::string path;
  bool operator==(const LiveContainer&) const = default;
};
struct LivePod {
  KubeQos qos = KubeQos::kGuaranteed;
  std::string uid;
  std::string path;
  std::vector<LiveContainer> containers;
  bool operator==(const LivePod&) const = default;
};
// The current pods. A pod that vanishes during the walk is left out.
Result<std::vector<LivePod>> walk_pods(int hierarchy, const Kubepods&, const Place&);

}  // namespace tidemark::linux
