// Logs unreadable parts of a node once, and again when they change. Otherwise every pass would log them, and the first
// node would hide all others.
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
  std::unordered_map<model::NodeName, std::string> told_;  // nodes with notes
};

}  // namespace tidemark::manager
