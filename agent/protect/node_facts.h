// What the Node object says about protection: who owns which part of the node, and whether co-location is on.
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
  std::optional<model::Resources> reserved;  // from the annotation
  std::vector<std::int32_t> reserved_cpus;   // listed in the annotation
  std::vector<std::int32_t> system_cpus;     // of SYSTEM pods alone
  model::SaidAmounts native, batch, mid;     // offered by the node, amplified; nullopt: not offered
  std::int64_t normalization_percent = 100;  // the value of one core of this node
  policy::state::NodeReading state;
  bool oversold = false;                         // marked by the manager (model/oversold.h)
  std::optional<base::WallTime> oversold_since;  // nullopt: the mark does not say
  std::optional<model::Resources> origin;        // what all sides together may sell; nullopt: not set
  std::vector<Error> unreadable;                 // annotations; they are ignored
};

kube::NodeFields node_facts_fields();
NodeFacts node_facts(const kube::Node& node);

std::vector<std::int32_t> cpus_of(const linux::CpuSet& set);

}  // namespace tidemark::agent
