// Node strategies and the nodes they are for: whether two of them can mean the same node. Internal to the checks.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "model/selector.h"
#include "policy/settings/check.h"
#include "policy/settings/report.h"

namespace tidemark::policy::settings {

// Limits of text comparisons for one search for overlaps and one pass over the nodes: a part of a second. Beyond, the
// edit is accepted unchecked, with a warning.
inline constexpr std::size_t kSettingsStepsMax = 50'000'000;

struct NodeStrategyEntry {
  std::string name;
  std::string place;  // "nodeConfigs[1]"
  Json selector_json;
  model::LabelSelector selector = model::LabelSelector::nothing();
};

// Trap, kept: it does not search for any node that both match, but tries a few made-up nodes: those that a selector
// itself describes. Each selector alone gives them: its matchLabels, and the values of its expressions.
//    koordinator   value i mod n of each expression, for i in 0 … product; so with two expressions of two values only
//                  (first, first) and (second, second) come up. NotIn counts like In.
//    tidemark      every combination of the values of In; Exists is some value, the others are no label.
void check_overlap(std::span<const NodeStrategyEntry> entries, SettingsReport& report);

// With two strategies or more: the first node, by name, that two of them match.
void check_nodes(std::span<const NodeStrategyEntry> entries, std::span<const LabelledNode> nodes,
                 SettingsReport& report);

}  // namespace tidemark::policy::settings
