// How the node is protected, as metrics. Each is looked up once, but for what is counted by its reason.
#pragma once

#include <array>
#include <cstddef>

#include "agent/enforcer/enforcer.h"
#include "agent/protect/status.h"
#include "base/metrics.h"
#include "policy/stance/stance.h"

namespace tidemark::agent {

class ProtectMetrics {
 public:
  explicit ProtectMetrics(base::Registry& metrics);

  // `pods_refused`: by their own annotation.
  void show(const AgentStatus& status, std::size_t pods_refused);
  void wrote(const Deed& deed);
  void journal_refused() { journal_refused_.add(); }

 private:
  base::Registry& metrics_;
  policy::ByStrategy<base::Gauge*> enforces_{}, files_in_force_{};
  base::Gauge& off_;
  base::Gauge& holds_;
  base::Gauge& files_refused_;
  base::Gauge& files_left_;
  base::Gauge& wishes_unmet_;
  base::Gauge& pods_refused_;
  base::Counter& journal_refused_;
};

}  // namespace tidemark::agent
