// Reads the NodeSLO of a node into its rules (contract 3.2, 4.4).
//
//    rules(part) = the agent's own defaults ← the fields of the part    field by field, as Go merges (typed_json.h)
//    a class LSR, LS, BE whose cpuQOS, resctrlQOS or memoryQOS is not enabled has the "none" set there, so that
//    switching it off resets what was set; SYSTEM, and network and blkio of all of them, stay as they are
//
// An unreadable part leaves its last good version in force; the others proceed. An unknown word of an enumeration
// counts as the field's default, as in Koordinator, and is reported. Ranges are not checked here: the schema of the API
// server checks them, and code that calculates with a number bounds it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/protect/node_rules.h"

namespace tidemark::policy::settings {

struct RulesProblem {
  std::string part;  // "resourceUsedThresholdWithBE"; "spec" if it is all of them
  std::string why;
  bool operator==(const RulesProblem&) const = default;
};

struct NodeRulesStep {
  protect::NodeRules rules;
  std::vector<RulesProblem> problems;
};

// `spec`: of the node's NodeSLO; nullopt: no NodeSLO, "" an empty one: the defaults. Total. If the manager's settings
// cannot be read and none were read before, the agent only observes.
NodeRulesStep next_node_rules(const protect::NodeRules& before, std::optional<std::string_view> spec);

}  // namespace tidemark::policy::settings
