#include "policy/settings/selectors.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "policy/settings/walk.h"

namespace tidemark::policy::settings {
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

// The nodes that a selector describes, one after the other.
class MadeUpNodes {
 public:
  MadeUpNodes(const Json& selector, model::Profile parity) : parity_(parity) {
    if (const Json* labels = selector.member("matchLabels"); labels != nullptr && labels->is_object()) {
      for (const auto& [key, value] : labels->as_object()) {
        common_.push_back({key, std::string(value.get_string().value_or(""))});
      }
    }
    for (auto& expression : expressions_of(selector)) {
      if (parity == model::Profile::kTidemark && expression.op == "Exists") {
        put(common_, expression.key, "any");
      } else if (!expression.values.empty() && (parity == model::Profile::kKoordinator || expression.op == "In")) {
        chosen_.push_back(std::move(expression));
      }
    }
    for (const Expression& expression : chosen_) {
      count_ = std::min(count_ * expression.values.size(), kMadeUpNodesMax);
    }
  }

  std::size_t count() const { return count_; }
  std::size_t labels() const { return common_.size() + chosen_.size(); }  // of each, at most
  MadeUpNode make(std::size_t i) const {
    MadeUpNode node = common_;
    std::size_t rest = i;
    for (const Expression& expression : chosen_) {
      const std::size_t size = expression.values.size();
      put(node, expression.key, expression.values[(parity_ == model::Profile::kKoordinator ? i : rest) % size]);
      rest /= size;
    }
    return node;
  }

 private:
  model::Profile parity_;
  MadeUpNode common_;
  std::vector<Expression> chosen_;
  std::size_t count_ = 1;
};

// The largest cost of matching `entries` with a node, in comparisons of texts:
//
//    Σ over entries (requirements · labels of the node + values)
class MatchingCost {
 public:
  explicit MatchingCost(std::span<const NodeStrategyEntry> entries) {
    for (const NodeStrategyEntry& entry : entries) {
      const Json* labels = entry.selector_json.member("matchLabels");
      const std::size_t pairs = labels != nullptr && labels->is_object() ? labels->as_object().size() : 0;
      requirements_ += 1 + pairs;
      values_ += pairs;
      for (const Expression& expression : expressions_of(entry.selector_json)) {
        ++requirements_;
        values_ += expression.values.size();
      }
    }
  }
  std::size_t of(std::size_t labels) const { return requirements_ * (labels + 1) + values_; }

 private:
  std::size_t requirements_ = 0;
  std::size_t values_ = 0;
};

// Per pass; the rest of the manager waits meanwhile.
class Steps {
 public:
  bool take(std::size_t steps) {
    if (steps > left_) return false;
    left_ -= steps;
    return true;
  }

 private:
  std::size_t left_ = kSettingsStepsMax;
};

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
  if (entries.size() < 2) return;
  const MatchingCost cost(entries);
  Steps steps;
  for (const NodeStrategyEntry& entry : entries) {
    const MadeUpNodes nodes(entry.selector_json, report.parity());
    for (std::size_t i = 0; i < nodes.count(); ++i) {
      // Building it scans the earlier labels for each label.
      if (!steps.take(cost.of(nodes.labels()) + nodes.labels() * nodes.labels())) {
        report.warn(Reason::kSettingsSuspect, entry.place + ".nodeSelector",
                    cat(entries.size(), " strategies whose selectors have too many values to try them all"),
                    "fewer strategies or values: the rest was not checked for overlaps");
        return;
      }
      const MadeUpNode node = nodes.make(i);
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
  const MatchingCost cost(entries);
  Steps steps;
  const LabelledNode* first = nullptr;
  std::size_t looked_at = 0;
  for (const LabelledNode& node : nodes) {
    if (!steps.take(cost.of(node.labels.size()))) {
      report.warn(Reason::kSettingsSuspect, "",
                  cat(entries.size(), " strategies, too many to compare all ", nodes.size(), " nodes with"),
                  cat("fewer strategies: ", looked_at, " nodes were checked for overlaps"));
      break;
    }
    ++looked_at;
    if ((first == nullptr || node.name < first->name) && matching(entries, node.labels).size() > 1) first = &node;
  }
  if (first == nullptr) return;
  const auto found = matching(entries, first->labels);
  StrategyConflict conflict = conflict_of(Reason::kSettingsNodeConflict, report.key(), found);
  conflict.example_nodes.emplace_back(first->name);
  report.conflict(std::move(conflict), cat(places(found), " both for node ", first->name), std::string(kOneForANode));
}

}  // namespace tidemark::policy::settings
