#include "policy/settings/selectors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "policy/settings/walk.h"

namespace tidemark::policy {
namespace {

using base::cat;
using model::Label;
using model::Reason;

constexpr std::size_t kMadeUpNodesMax = 10'000;  // of one selector; the rest is not tried

using MadeUpNode = std::vector<Label>;

void put(MadeUpNode& node, std::string_view key, std::string_view value) {
  for (Label& label : node) {
    if (label.key == key) {
      label.value = value;
      return;
    }
  }
  node.push_back({std::string(key), std::string(value)});
}

struct Expression {
  std::string_view key;
  std::string_view op;
  std::vector<std::string_view> values;
};

std::vector<Expression> expressions_of(const Json& selector) {
  std::vector<Expression> found;
  const Json* list = selector.member("matchExpressions");
  if (list == nullptr || !list->is_array()) return found;
  for (const Json& each : list->as_array()) {
    Expression expression{each.text_at("key"), each.text_at("operator"), {}};
    if (const Json* values = each.member("values"); values != nullptr && values->is_array()) {
      for (const Json& value : values->as_array()) expression.values.push_back(value.get_string().value_or(""));
    }
    found.push_back(std::move(expression));
  }
  return found;
}

std::vector<MadeUpNode> made_up_nodes(const Json& selector, Parity parity) {
  MadeUpNode common;
  if (const Json* labels = selector.member("matchLabels"); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->as_object()) put(common, key, value.get_string().value_or(""));
  }
  std::vector<Expression> chosen;
  for (auto& expression : expressions_of(selector)) {
    if (parity == Parity::kTidemark && expression.op == "Exists") {
      put(common, expression.key, "any");
    } else if (!expression.values.empty() && (parity == Parity::kKoordinator || expression.op == "In")) {
      chosen.push_back(std::move(expression));
    }
  }
  std::size_t count = 1;
  for (const Expression& expression : chosen) count = std::min(count * expression.values.size(), kMadeUpNodesMax);

  std::vector<MadeUpNode> nodes(count, common);
  for (std::size_t i = 0; i < count; ++i) {
    std::size_t rest = i;
    for (const Expression& expression : chosen) {
      const std::size_t size = expression.values.size();
      put(nodes[i], expression.key, expression.values[(parity == Parity::kKoordinator ? i : rest) % size]);
      rest /= size;
    }
  }
  return nodes;
}

std::vector<const NodeStrategyEntry*> matching(std::span<const NodeStrategyEntry> entries,
                                               std::span<const Label> labels) {
  std::vector<const NodeStrategyEntry*> found;
  for (const NodeStrategyEntry& entry : entries) {
    if (entry.selector.matches(labels)) found.push_back(&entry);
  }
  return found;
}

std::string shown(const MadeUpNode& node) {
  std::vector<std::string> parts;
  for (const Label& label : node) parts.push_back(cat(label.key, "=", label.value));
  std::sort(parts.begin(), parts.end());
  return base::join(parts, ",");
}

std::string places(const std::vector<const NodeStrategyEntry*>& found) {
  std::vector<std::string> parts;
  for (const auto* entry : found)
    parts.push_back(entry->name.empty() ? entry->place : cat(entry->place, " (", entry->name, ")"));
  return base::join(parts, " and ");
}

StrategyConflict conflict_of(Reason reason, std::string_view key, const std::vector<const NodeStrategyEntry*>& found) {
  StrategyConflict conflict{reason, std::string(key), {}, {}};
  for (const auto* entry : found) conflict.strategies.push_back(entry->name);
  return conflict;
}

constexpr std::string_view kOneForANode = "at most one strategy for a node: make their node selectors disjoint";

}  // namespace

void check_overlap(std::span<const NodeStrategyEntry> entries, SettingsReport& report) {
  for (const NodeStrategyEntry& entry : entries) {
    for (const MadeUpNode& node : made_up_nodes(entry.selector_json, report.parity())) {
      const auto found = matching(entries, node);
      if (found.size() < 2) continue;
      report.conflict(conflict_of(Reason::kSettingsOverlap, report.key(), found),
                      cat(places(found), " both for a node with the labels ", shown(node)), std::string(kOneForANode));
      return;
    }
  }
}

void check_nodes(std::span<const NodeStrategyEntry> entries, std::span<const LabelledNode> nodes,
                 SettingsReport& report) {
  if (entries.size() < 2) return;
  const LabelledNode* first = nullptr;
  for (const LabelledNode& node : nodes) {
    if ((first == nullptr || node.name < first->name) && matching(entries, node.labels).size() > 1) first = &node;
  }
  if (first == nullptr) return;
  const auto found = matching(entries, first->labels);
  StrategyConflict conflict = conflict_of(Reason::kSettingsNodeConflict, report.key(), found);
  conflict.example_nodes.emplace_back(first->name);
  report.conflict(std::move(conflict), cat(places(found), " both for node ", first->name), std::string(kOneForANode));
}

}  // namespace tidemark::policy
