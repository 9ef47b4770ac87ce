// The eviction thresholds in force on this node: those of the settings, kept below the kubelet's own
// (policy/evict/kubelet_lines.h). Computed again when one of them changes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agent/evict/disk_watch.h"
#include "base/log.h"
#include "model/resources.h"
#include "policy/evict/kubelet_lines.h"

namespace tidemark::agent {

class EvictLines {
 public:
  explicit EvictLines(const base::Log& log) : log_(log) {}

  // `kubelet`: null if it never answered. The result is valid until the next call, as long as `said` is.
  const policy::protect::NodeRules& hold(const policy::protect::NodeRules& said,
                                         const policy::evict::KubeletFound* kubelet, model::MemoryBytes memory,
                                         const DiskSights& sights);

  // "memory 95 % -> 85 %, since the kubelet evicts from 90 % on"; "" if all thresholds are those of the settings.
  const std::string& says() const { return says_; }

 private:
  void tell(const std::vector<policy::evict::LineBeforeKubelet>& moved);

  base::Log log_;
  std::optional<policy::protect::NodeRules> said_;
  policy::evict::KubeletFound kubelet_;
  policy::evict::LineCapacities capacities_;
  policy::evict::LinesUnderKubelet held_;
  std::vector<policy::evict::LineBeforeKubelet> told_;
  std::string says_;
};

}  // namespace tidemark::agent
