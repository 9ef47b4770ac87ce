#include "operate/cluster_node.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/text.h"
#include "model/isolation.h"
#include "model/names.h"

namespace tidemark::operate {
namespace {

constexpr std::string_view kDiskOfKubelet = "ephemeral-storage";  // a node's: its nodefs, as the kubelet measured it

std::string_view word(kube::TaintEffect effect) {
  switch (effect) {
    case kube::TaintEffect::kNoSchedule:
      return "NoSchedule";
    case kube::TaintEffect::kPreferNoSchedule:
      return "PreferNoSchedule";
    case kube::TaintEffect::kNoExecute:
      return "NoExecute";
  }
  return "NoSchedule";
}

bool is_true(const kube::Node& node, std::string_view condition) {
  const auto* found = node.condition(condition);
  return found != nullptr && found->status == kube::Truth::kTrue;
}

}  // namespace

policy::explain::ClusterNode cluster_node(const kube::Node& node) {
  policy::explain::ClusterNode out;
  out.name = node.meta.name.view();
  const auto system = node.meta.labels.get("kubernetes.io/os");
  out.linux = system.empty() || system == "linux";
  out.kernel = node.info.kernel_version.view();
  out.os_image = node.info.os_image.view();
  out.architecture = node.info.architecture.view();
  out.runtime = node.info.container_runtime_version.view();
  out.kubelet_version = node.info.kubelet_version.view();
  out.ready = node.ready() == kube::Truth::kTrue;
  out.memory_pressure = is_true(node, "MemoryPressure");
  out.disk_pressure = is_true(node, "DiskPressure");
  for (const kube::Taint& taint : node.taints)
    out.taints.push_back(base::cat(taint.key.view(), ":", word(taint.effect)));
  if (const auto* said = node.condition(model::kIsolationCondition)) {
    out.agent = said->reason.empty() ? std::string_view("Unknown") : said->reason.view();
  }
  out.sells = std::ranges::any_of(std::array{model::kBatchCpu, model::kBatchMemory},
                                  [&](std::string_view name) { return node.allocatable.get(name) > 0; });
  out.ours.memory.capacity = node.capacity.memory_bytes().value_or(0);
  out.ours.disk.capacity = node.capacity.get(kDiskOfKubelet);
  return out;
}

}  // namespace tidemark::operate
