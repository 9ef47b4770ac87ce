// Parses a part into its rules, and the classes of the QoS part. Internal to this directory.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "policy/protect/qos_rules.h"

namespace tidemark::policy::settings {

// Problems that do not reject the part.
using RuleNotes = std::vector<std::string>;

// A field of a part by name; the table in policy/settings/nodeslo/fields.h has checked its type.
template <class Rules>
struct Slot {
  std::string_view name;
  std::variant<bool Rules::*, std::optional<bool> Rules::*, std::int64_t Rules::*, std::optional<std::int64_t> Rules::*>
      at;
};

template <class Rules>
void fill(Rules& rules, const base::JsonObject& given, std::span<const Slot<Rules>> slots) {
  for (const Slot<Rules>& slot : slots) {
    const Json* value = given.find(slot.name);
    if (value == nullptr) continue;
    std::visit(
        [&](auto member) {
          using Value = std::remove_cvref_t<decltype(rules.*member)>;
          if constexpr (std::is_same_v<Value, bool> || std::is_same_v<Value, std::optional<bool>>) {
            rules.*member = value->as_bool();
          } else {
            rules.*member = value->as_int();
          }
        },
        slot.at);
  }
}

// The index of the field's word; 0 if it is absent or unknown.
std::size_t choice_of(const base::JsonObject& given, std::string_view name, std::span<const std::string_view> words,
                      RuleNotes& notes);

Result<protect::QosRules> read_qos_rules(const base::JsonObject& given, RuleNotes& notes);

}  // namespace tidemark::policy::settings
