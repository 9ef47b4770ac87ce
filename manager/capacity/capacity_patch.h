// Builds the bytes of a capacity write from a decision. Pure.
//
// One merge patch on nodes/<name>/status has the amounts (capacity and allocatable alike), the origin annotation, the
// writer's epoch, and two preconditions:
//   resourceVersion  of the decided node; any write in between causes a 409, and the node is decided again
//   epoch            written with every amount; a manager that finds a higher one has lost the Lease and stops
// So a leader that paused between decision and write cannot overwrite a value of a newer leader.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/annotations.h"
#include "model/node.h"
#include "policy/sell/overcommit/amplification.h"

namespace tidemark::manager {

// The epoch of the leader that last wrote the node: a former leader finds it and does not write.
inline constexpr std::string_view kEpochAnnotation = "tidemark.io/capacity-epoch";

// Wide, because all of it is one write: a node never carries the amounts of one decision and the rest of another.
struct CapacityWrite {
  std::string resource_version;
  model::ExtendedResources publish;  // absent: the key is removed
  model::Resources origin;           // 0 without an offer
  std::int64_t epoch = 0;
  bool batch = true;        // false: the patch leaves batch amounts and origin unchanged
  bool mid = true;          // the same for mid
  std::string config_hash;  // of the settings that are in force on the node in all they say; "": what it carries stays
  // The ratio annotations ride on the same write, so that a node never carries amounts of one ratio and the text of
  // another.
  std::optional<std::string> normalization;  // "1.25"; nullopt: it stays
  policy::sell::AnnotationAction amplification_action = policy::sell::AnnotationAction::kKeep;
  std::string amplification;  // with kSet
  // YARN's offer: kSet, or kRemove if there is no offer any more.
  policy::sell::AnnotationAction yarn_action = policy::sell::AnnotationAction::kKeep;
  model::YarnOffer yarn_offer;  // with kSet
  // The mark of an oversold node.
  policy::sell::AnnotationAction oversold_action = policy::sell::AnnotationAction::kKeep;
  base::WallTime oversold_since;
};

std::string capacity_patch(const CapacityWrite& write);
// The node has all values already: the write would waste its place in the budget.
bool changes_nothing(const CapacityWrite& write, const kube::Node& node);
// For the audit log: {"kubernetes.io/batch-cpu":4000,…}; unset amounts are omitted.
std::string amounts_json(const model::ExtendedResources& amounts);

// Leases do not reach this number. A larger one is invalid text, and a Lease could not exceed it.
inline constexpr std::int64_t kEpochMax = 1'000'000'000;

// The epoch that a node carries; 0 if it is absent or invalid.
std::int64_t read_epoch(std::string_view annotation);

}  // namespace tidemark::manager
