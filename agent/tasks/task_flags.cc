#include "agent/tasks/task_flags.h"

#include <algorithm>
#include <utility>

#include "agent/tasks/group_path.h"
#include "base/text.h"

namespace tidemark::agent {
namespace {

// "SOCKET=GROUP", repeated for each group of a socket.
Result<std::vector<CopilotConfig>> read_copilots(const std::vector<std::string>& texts) {
  std::vector<CopilotConfig> out;
  for (const std::string& text : texts) {
    const auto refuse = [&](std::string_view why) {
      return fail(ErrorKind::kInvalid, "--copilot ", base::in_quotes(text), ": ", why);
    };
    const auto equals = text.rfind('=');
    if (equals == std::string::npos) return refuse("wanted SOCKET=GROUP, below which it has its containers");
    const std::string socket = text.substr(0, equals);
    if (auto config = copilot::socket_config(socket); !config) return refuse(config.error().message);
    auto parent = group_path(text.substr(equals + 1));
    if (!parent) return refuse(parent.error().message);
    if (parent->empty()) return refuse("the group is the root, below which everything lies");
    auto found = std::ranges::find(out, socket, &CopilotConfig::socket);
    if (found == out.end()) {
      found = out.emplace(out.end());
      found->socket = socket;
    }
    found->parents.push_back(*std::move(parent));
  }
  return out;
}

}  // namespace

void TaskFlags::add_to(base::Flags& flags) {
  flags.group("What runs on the node");
  flags.choice("pod-source", pod_source, {"kubelet", "api-server"},
               "source of pods: the kubelet (permission nodes/pods) or the API server (list and watch pods)");
  kubelet.add_to(flags);
  flags.choice("cgroup-driver", cgroup_driver, {"auto", "cgroupfs", "systemd"},
               "cgroup driver of the kubelet; auto: detected from existing groups");
  flags.list("copilot", copilots, "copilot sockets, each with the parent group of its containers")
      .placeholder("SOCKET=GROUP");
}

Result<NodeTasksConfig> TaskFlags::config(std::string node_name) const {
  NodeTasksConfig out;
  out.node_name = std::move(node_name);
  out.pods = pod_source == "kubelet" ? NodeTasksConfig::Pods::kKubelet : NodeTasksConfig::Pods::kApiServer;
  TM_TRY(out.kubelet, kubelet.client(out.node_name));
  TM_TRY(out.groups.kubelet_root, kubelet.groups_root());
  if (cgroup_driver == "cgroupfs") out.groups.driver = linux::CgroupDriver::kCgroupfs;
  if (cgroup_driver == "systemd") out.groups.driver = linux::CgroupDriver::kSystemd;
  TM_TRY(out.copilots, read_copilots(copilots));
  return out;
}

}  // namespace tidemark::agent
