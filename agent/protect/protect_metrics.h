// Metrics of the protection of the node. Each is looked up once, except those with a reason label.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "agent/enforcer/enforcer.h"
#include "agent/protect/status.h"
#include "base/metrics.h"
#include "policy/protect/suppress/class_shares.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

class ProtectMetrics {
 public:
  explicit ProtectMetrics(base::Registry& metrics);

  // `pods_refused`: because of their own annotation.
  void show(const AgentStatus& status, std::size_t pods_refused);
  // Only classes that the settings name, so there are few. A class that wants no more than it has is satisfied.
  void show(std::span<const policy::protect::ClassShare> classes);
  void wrote(model::Strategy strategy, model::Reason reason);
  void journal_refused() { journal_refused_.add(); }

 private:
  struct OfClass {
    base::Gauge& satisfaction;
    bool here = false;
  };
  OfClass& of_class(const std::string& name);

  base::Registry& metrics_;
  std::map<std::string, OfClass, std::less<>> classes_;
  policy::state::ByStrategy<base::Gauge*> enforces_{}, files_in_force_{};
  base::Gauge& off_;
  base::Gauge& holds_;
  base::Gauge& files_refused_;
  base::Gauge& files_left_;
  base::Gauge& intents_unmet_;
  base::Gauge& pods_refused_;
  base::Counter& journal_refused_;
};

}  // namespace tidemark::agent
