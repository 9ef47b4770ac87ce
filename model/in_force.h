// What is in force on a node, field by field, and where each value comes from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/reason.h"

namespace tidemark::model {

enum class FieldOrigin : std::uint8_t {
  kDefault,
  kCluster,     // the cluster's strategy
  kEntry,       // the entry that was chosen for the node
  kPool,        // tidemark-config, for the node's pool
  kAnnotation,  // an annotation of the node
  kLabel,       // a label of the node
};

// A line of the agent that follows the water line of the node's pool.
struct FieldMoved {
  std::int64_t configured = 0;
  Reason reason = Reason::kSloLineBase;
  std::string calendar;     // "" where the pool has none
  std::string entry;        // "" where none is in force
  std::string override_by;  // author, end and reason of the override of the calendar; "" if there is none
};

struct FieldInForce {
  std::string path;
  std::string value;  // JSON
  FieldOrigin origin = FieldOrigin::kDefault;
  std::string_view from;              // the key of the label or annotation
  std::optional<FieldMoved> moved{};  // then `origin` is where the configured value comes from
};

// One key of the settings.
struct PartInForce {
  std::string_view key;   // in the ConfigMap
  std::string_view spec;  // the field of NodeSLO.spec that it becomes; "" for the co-location strategy
  std::string_view list;  // of the entries: "nodeConfigs", "nodeStrategies"
  std::optional<std::size_t> entry;
  std::string entry_name;
  Reason reason = Reason::kConfigApplied;  // what became of the key
  std::string problem;                     // where it cannot be used: then there are no fields
  std::vector<FieldInForce> fields;
  std::vector<Reason> notes;
  bool left_out = false;  // the node's spec has no such part
};

}  // namespace tidemark::model
