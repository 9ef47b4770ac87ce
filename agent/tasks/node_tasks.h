// All providers of this node, and the one list made from them: wires this room.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/api_server_provider.h"
#include "agent/tasks/copilot_provider.h"
#include "agent/tasks/host_applications.h"
#include "agent/tasks/kubelet_configz.h"
#include "agent/tasks/kubelet_provider.h"
#include "agent/tasks/pod_groups.h"
#include "agent/tasks/task_list.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "linux/cgroup/hierarchies.h"
#include "net/http_client.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::agent {

inline constexpr base::Duration kCopilotPatience = std::chrono::minutes(2);

struct NodeTasksConfig {
  enum class Pods : std::uint8_t { kKubelet, kApiServer };

  std::string node_name;
  std::string source = "kubernetes";  // of pods, in their identity
  std::string cluster;
  Pods pods = Pods::kKubelet;
  net::HttpClientConfig kubelet;
  PodGroupsConfig groups;
  std::vector<CopilotConfig> copilots;
};

// External parts; all outlive the tasks. `workers` resolves names, and may be null if addresses are given.
struct NodeTasksOutside {
  const linux::Hierarchies* hierarchies = nullptr;
  kube::Reader* reader = nullptr;  // with watcher: if pods come from the API server
  kube::Watcher* watcher = nullptr;
  std::function<std::string()> kubelet_bearer;
  KeptList kubelet_list{};
  base::Registry* metrics = nullptr;
  net::WorkerPool* workers = nullptr;
};

class NodeTasks {
 public:
  static Result<std::unique_ptr<NodeTasks>> make(net::EventLoop& loop, const NodeTasksOutside& outside, base::Log log,
                                                 base::Random random, NodeTasksConfig config);
  NodeTasks(const NodeTasks&) = delete;
  NodeTasks& operator=(const NodeTasks&) = delete;

  void start();  // until it is destroyed

  // The node's current NodeSLO; "" without one.
  Result<void> use_node_slo(std::string_view spec) { return host_applications_.set(spec, loop_.clock().monotonic()); }

  // All tasks at this instant (agent/tasks/task_list.h).
  const std::shared_ptr<const TaskSnapshot>& snapshot() { return list_->snapshot(); }
  std::span<const TaskProvider* const> providers() const { return list_->providers(); }
  // The kubelet's configuration; null: not known yet.
  const policy::evict::KubeletFound* kubelet() const {
    return configz_ && configz_->found() ? &*configz_->found() : nullptr;
  }
  const PodGroups& groups() const { return groups_; }
  // The copilot that lists this task now; null: none does.
  copilot::Client* copilot_of(const model::Task& task);
  // The disk use of copilots' tasks.
  std::vector<TaskOnDisks> held_on_disks() const;
  // Sets the permit for copilots' own limits; returns what copilots report about them.
  void set_limit_permit(copilot::LimitPermit permit);
  std::string_view limits_say();
  // The provider that must answer before the use of the node can be attributed; "" if all did. A copilot that never
  // answers is awaited only for a while: it may not exist.
  std::string_view awaited() const;

 private:
  struct Copilot {
    Copilot(net::EventLoop& loop, net::HttpClientConfig http, const linux::Hierarchies& hierarchies,
            const base::Log& log, CopilotConfig config)
        : client(loop, nullptr, std::move(http)), provider(loop, client, hierarchies, log, std::move(config)) {}
    net::HttpClient client;
    CopilotProvider provider;
  };

  NodeTasks(net::EventLoop& loop, const linux::Hierarchies& hierarchies, const base::Log& log, PodGroupsConfig groups);

  net::EventLoop& loop_;
  PodGroups groups_;
  std::unique_ptr<net::HttpClient> kubelet_client_;
  std::unique_ptr<KubeletProvider> kubelet_;
  std::unique_ptr<KubeletConfigz> configz_;
  std::unique_ptr<ApiServerProvider> api_server_;
  std::vector<std::unique_ptr<Copilot>> copilots_;
  std::string limits_say_;
  HostApplications host_applications_;
  std::optional<base::MonotonicTime> started_;
  std::unique_ptr<TaskList> list_;
  net::Scope scope_;
};

}  // namespace tidemark::agent
