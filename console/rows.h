// One row for each node, and what follows from all rows: sums and pools. Pure; nullopt means unknown, never 0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "console/projections.h"
#include "console/settings.h"
#include "kube/objects.h"
#include "model/resources.h"
#include "policy/state/state.h"

namespace tidemark::console {

// Whether the numbers of a node are current.
enum class Report : std::uint8_t {
  kFresh,
  kStale,     // older than the settings allow: the offer of the node shrinks
  kMissing,   // no agent reported yet
  kUnread,    // the console cannot read NodeMetrics
  kNotReady,  // the kubelet does not answer
};
std::string_view to_string(Report);

// One resource of a node, in milli-cores or bytes.
struct RowAmounts {
  std::int64_t capacity = 0;
  std::optional<std::int64_t> online;        // used by everything except offline work; nullopt without a fresh report
  std::optional<std::int64_t> offline;       // used by offline work; the same
  std::int64_t offered = 0;                  // batch amount in the node's allocatable
  std::optional<std::int64_t> sold;          // requested by offline pods, and held by YARN; nullopt: cannot be read
  std::optional<std::int64_t> line_percent;  // the water line in force; the same
  bool operator==(const RowAmounts&) const = default;
};

struct NodeRow {
  std::string name;
  std::string pool;
  model::NodeState state = model::NodeState::kOn;
  Report report = Report::kMissing;
  RowAmounts cpu, memory;
  std::optional<std::int64_t> tasks;       // offline pods on it that are not over; nullopt: cannot be read
  std::optional<std::int64_t> reported_s;  // seconds since 1970 of its last report
  std::optional<std::int64_t> until_s;     // seconds since 1970: the order that decides its state ends then
  std::vector<std::string> classes_off;    // classes of offline work that an order switches off on it
  bool operator==(const NodeRow&) const = default;
  std::size_t bytes() const;
};

// What could be read so far.
struct Known {
  bool reports = false, tasks = false, settings = false;
  bool operator==(const Known&) const = default;
};

policy::state::NodeMarks marks_of(const kube::Node& node);
// By its mark and the mode of its pool.
policy::state::EffectiveState effective_state(const kube::Node& node, const model::Pool& pool, base::WallTime now);

NodeRow row_of(const kube::Node& node, const NodeReport* report, std::span<const Task* const> tasks, Settings& settings,
               const Known& known, base::WallTime now);

struct SumAmounts {
  std::int64_t capacity = 0, online = 0, offline = 0, offered = 0;
  std::optional<std::int64_t> sold = 0;
  std::optional<std::int64_t> line = 0;  // capacity × water line of each node
  std::int64_t capacity_known = 0;       // of the nodes that `online` and `offline` are about
  bool operator==(const SumAmounts&) const = default;
};
struct Sums {
  std::int64_t nodes = 0, unknown = 0;  // unknown: without a fresh report
  std::int64_t on = 0, observe = 0, draining = 0, off = 0;
  std::optional<std::int64_t> tasks = 0;
  SumAmounts cpu, memory;
  void add(const NodeRow& row);
  bool operator==(const Sums&) const = default;
};

using PoolSums = std::map<std::string, Sums, std::less<>>;

}  // namespace tidemark::console
