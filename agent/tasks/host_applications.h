// Host applications: processes beside the pods that the cluster's settings name with a group of their own, so that what
// they use is not taken for the system's (NodeSLO hostApplications, contract 3.2 and 7.12).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/pod_groups.h"
#include "agent/tasks/provider.h"
#include "agent/tasks/told_once.h"
#include "base/log.h"
#include "base/result.h"
#include "linux/kubepods.h"
#include "model/qos.h"

namespace tidemark::agent {

inline constexpr std::size_t kHostApplicationsMax = 128;

struct HostApplication {
  enum class Base : std::uint8_t { kRoot, kKubepods, kBurstable, kBesteffort };

  std::string name;
  model::PriorityClass priority = model::PriorityClass::kNone;
  model::Qos qos = model::Qos::kNone;
  bool named_group = false;  // else by the class: host-latency-sensitive/NAME, host-best-effort/NAME, NAME
  Base base = Base::kRoot;
  std::string parent_dir;
  std::string relative_path;
  bool operator==(const HostApplication&) const = default;
};

// Of the specification of a NodeSLO; "" is one that says nothing. What is no such specification is refused whole.
Result<std::vector<HostApplication>> read_host_applications(std::string_view node_slo_spec);

// Where its group is. nullopt: below the kubelet's, whose names nobody knows yet (`kubepods` is null). kInvalid: a path
// that leads up, the root, or a group that the kubelet keeps pods in.
Result<std::optional<std::string>> group_of(const HostApplication&, const linux::Kubepods* kubepods);

// A name is told with one usage in a report, so of two that have the same name the first counts.
class HostApplications final : public TaskProvider {
 public:
  HostApplications(PodGroups& groups, base::Log log);
  HostApplications(const HostApplications&) = delete;
  HostApplications& operator=(const HostApplications&) = delete;

  // What the node's NodeSLO says now. One that cannot be read leaves the last one in force, and is an error; where
  // there was none before, there is nothing to wait for.
  Result<void> set(std::string_view node_slo_spec, base::MonotonicTime now);

  std::string_view name() const override { return "host applications"; }
  const ProvidedTasks& provided() const override { return provided_; }

 private:
  void place();

  PodGroups& groups_;
  base::Log log_;
  std::vector<HostApplication> said_;
  ToldOnce refused_;
  ProvidedTasks provided_;
};

}  // namespace tidemark::agent
