#include "manager/capacity/node_notes.h"

#include "base/text.h"
#include "policy/explain/why.h"

namespace tidemark::manager {

NodeNotes::NodeNotes(const base::Log& log, base::Registry& metrics)
    : log_(log),
      nodes_(metrics.gauge("tidemark_nodes_partly_unreadable",
                           "Nodes with an annotation or a label that cannot be read; the log and explain name it.")) {}

void NodeNotes::tell(const model::NodeName& node, const NodeDecision& decision) {
  std::string text;
  const auto add = [&text](std::string_view note) { text += base::cat(text.empty() ? "" : "; ", note); };
  for (const auto& note : decision.notes) add(note);
  for (const auto reason : decision.strategy().ignored) {
    // A node that enables what the cluster does not is read, and not obeyed.
    if (reason == model::Reason::kConfigEnabledBelow) continue;
    const bool label = reason == model::Reason::kConfigNodeLabelUnreadable;
    add(base::cat(
        label ? "labels node.koordinator.sh/*-ratio" : base::cat("annotation ", model::kColocationStrategyAnnotation),
        ": ", policy::explain::why(reason)));
  }
  if (decision.plan().normalization.reason == model::Reason::kNormalizationLabelUnreadable) {
    add(base::cat("label ", model::kNormalizationEnabledLabel, ": ",
                  policy::explain::why(model::Reason::kNormalizationLabelUnreadable)));
  }
  if (text.empty()) return forget(node);
  std::string& told = told_[node];
  if (told != text) {
    log_.warn("cannot read part of a node", {{"node", node.value}, {"note", text}});
    told = std::move(text);
  }
  nodes_.set(static_cast<double>(told_.size()));
}

void NodeNotes::forget(const model::NodeName& node) {
  if (told_.erase(node) > 0) nodes_.set(static_cast<double>(told_.size()));
}

}  // namespace tidemark::manager
