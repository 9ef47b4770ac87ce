// The input and the result of the queue of one node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/selector.h"

namespace tidemark::policy::single_node {

inline constexpr std::string_view kPodsResource = "pods";

// A resource by its name: cpu in thousandths of a core, as batch-cpu and mid-cpu are by definition, all else in whole
// units. Duplicates add up; a negative amount counts as 0.
struct QueueAmount {
  std::string resource;
  std::int64_t amount = 0;
  bool operator==(const QueueAmount&) const = default;
};

enum class QueueEffect : std::uint8_t { kNoSchedule, kNoExecute };

struct QueueTaint {
  std::string key, value;
  QueueEffect effect = QueueEffect::kNoSchedule;
};

struct QueueToleration {
  std::string key;                    // "": any key
  bool exists = false;                // any value
  std::string value;                  // else this one
  std::optional<QueueEffect> effect;  // nullopt: both
  bool operator==(const QueueToleration&) const = default;
};

struct QueueNode {
  std::string name;
  std::vector<QueueAmount> allocatable;  // including `pods`: each pod takes one
  std::vector<QueueTaint> taints;        // only those that keep pods away
  std::vector<model::Label> labels;
  bool cordoned = false;
  bool ready = true;
};

enum class WorkKind : std::uint8_t { kOnline, kOffline };

// The fields of a pod that a scheduler reads.
struct QueuePod {
  std::string uid, ns, name;
  WorkKind kind = WorkKind::kOnline;
  std::int64_t priority = 0;
  base::WallTime created;
  std::vector<QueueAmount> requests;           // without `pods`
  std::vector<model::Label> node_selector;     // all must hold
  std::vector<model::LabelSelector> affinity;  // one of them must match, if there are any
  std::vector<QueueToleration> tolerations;
  bool gated = false;
};

// By a monotonic clock, as long as this process saw it: `created` may be wrong by years.
struct QueueWaiting {
  const QueuePod* pod = nullptr;  // not null
  base::Duration waited{0};
};

struct LocalQueueInputs {
  const QueueNode* node = nullptr;               // null: unknown yet
  std::span<const QueuePod* const> bound;        // to it, and not terminal: a pod being deleted counts until it is gone
  std::span<const QueueWaiting> waiting;         // uids are unique
  std::optional<base::Duration> since_eviction;  // of offline work of this node; nullopt: none that matters
  bool all_known = true;                         // false: more may be bound than `bound` has
  bool off = false;                              // offline work is off here, or drains
};

enum class QueueReason : std::uint8_t {
  kGated,        // it has scheduling gates
  kNoNode,       // the node is unknown
  kMismatch,     // it requires a node with other labels: `key`
  kCordoned,     //
  kTainted,      // `key`
  kNotReady,     // the node
  kNotAllKnown,  // free capacity is unknown
  kTooLarge,     // for the empty node: `shorts`
  kShort,        // something is not free: `shorts`
  kBehind,       // it would take what an older pod lacks: `shorts` are the older one's, and `key` its name
  kCoolingDown,  // `left`
  kOff           // offline work, here
};

struct QueueShort {
  std::string resource;
  std::int64_t wanted = 0, free = 0;
  std::int64_t sold = 0;  // the node's total
  bool operator==(const QueueShort&) const = default;
};

struct QueueWait {
  WorkKind kind = WorkKind::kOnline;
  std::size_t position = 0;  // 1 is the next of its kind
  std::size_t of = 0;        // this many of its kind wait
  QueueReason reason = QueueReason::kGated;
  std::vector<QueueShort> shorts;  // by resource
  std::string key;
  base::Duration left{0};
  bool operator==(const QueueWait&) const = default;
};

// nullopt: it is to be bound.
using QueueOutcome = std::optional<QueueWait>;

struct LocalQueuePlan {
  std::vector<QueueOutcome> outcomes;         // one for each waiting pod, in the order of the input
  std::vector<std::size_t> order;             // the same pods, in the order of the queue
  std::optional<base::Duration> again_after;  // time alone changes something
};

}  // namespace tidemark::policy::single_node
