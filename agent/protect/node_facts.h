// What the Node object says to whoever protects the node: how much of it is whose, and whether co-location is on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "agent/report/node_size.h"
#include "base/clock.h"
#include "kube/objects.h"
#include "linux/cpu_set.h"
#include "model/resources.h"
#include "model/task.h"
#include "policy/state/mark.h"

namespace tidemark::agent {

struct NodeFacts {
  NodeSize size;
  model::Resources kubelet_reserved;         // max(capacity − allocatable, 0)
  std::optional<model::Resources> reserved;  // the annotation
  std::vector<std::int32_t> reserved_cpus;   // it names them
  std::vector<std::int32_t> system_cpus;     // of SYSTEM pods alone
  model::SaidAmounts native, batch, mid;     // that the node offers, amplified; nullopt: not
  std::int64_t normalization_percent = 100;  // what a core of this node counts for
  policy::NodeReading state;
  bool oversold = false;                         // the manager marked it (model/oversold.h)
  std::optional<base::WallTime> oversold_since;  // nullopt: the mark does not say
  std::optional<model::Resources> origin;        // what all sides together may sell; nullopt: nobody says
  std::vector<Error> unreadable;                 // annotations; what they would say does not count
};

kube::NodeFields node_facts_fields();
NodeFacts node_facts(const kube::Node& node);

std::vector<std::int32_t> cpus_of(const linux::CpuSet& set);

}  // namespace tidemark::agent
