// What of a node cannot be read: told in the log once, and again when it is something else. Without this each look at
// the node would say it again, and the first node that says it often would hide all others.
#pragma once

#include <string>
#include <unordered_map>

#include "base/log.h"
#include "base/metrics.h"
#include "manager/capacity/decide.h"
#include "model/names.h"

namespace tidemark::manager {

class NodeNotes {
 public:
  NodeNotes(const base::Log& log, base::Registry& metrics);
  void tell(const model::NodeName& node, const NodeDecision& decision);
  void forget(const model::NodeName& node);

 private:
  base::Log log_;
  base::Gauge& nodes_;
  std::unordered_map<model::NodeName, std::string> told_;  // of nodes that there is something to tell of
};

}  // namespace tidemark::manager
