// Host applications: processes outside pods that the settings name with a group of their own, so that their use does
// not count as the system's (NodeSLO hostApplications, contract 3.2 and 7.12).
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

// Reads the specification of a NodeSLO; "" is empty. An invalid one is refused whole.
Result<std::vector<HostApplication>> read_host_applications(std::string_view node_slo_spec);

// The path of its group. nullopt: below the kubelet's groups, whose names are not known yet (`kubepods` is null).
// kInvalid: a path that leads up, the root, or a group that contains pods.
Result<std::optional<std::string>> group_of(const HostApplication&, const linux::Kubepods* kubepods);

// A report has one usage for each name, so of two with the same name the first counts.
class HostApplications final : public TaskProvider {
 public:
  HostApplications(PodGroups& groups, base::Log log);
  HostApplications(const HostApplications&) = delete;
  HostApplications& operator=(const HostApplications&) = delete;

  // Sets the node's current NodeSLO. If it cannot be read, returns an error and keeps the last one; without a last one,
  // there is nothing to wait for.
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
