// YARN's protocol records for nodes and their encoding.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::hadoop {

// Bounds of what an answer may hold: more is no ResourceManager that we could serve.
inline constexpr std::size_t kNodesMax = 100'000;
inline constexpr std::size_t kResourceTypesMax = 64;
inline constexpr std::size_t kLabelsMax = 64;  // of a node

// Identity of a NodeManager: the address that it registered, not necessarily its location.
struct NodeId {
  std::string host;
  std::int32_t port = 0;
  auto operator<=>(const NodeId&) const = default;
  std::string text() const;  // host:port
};
Result<NodeId> parse_node_id(std::string_view text);
Result<NodeId> decode_node_id(std::string_view bytes);  // NodeIdProto

// A resource beside memory and processors: yarn.io/gpu and its like.
struct ResourceValue {
  std::string name;
  std::int64_t value = 0;
  std::string units;
  std::int32_t type = 0;  // ResourceTypesProto
  bool operator==(const ResourceValue&) const = default;
};

// An update that names only memory and processors sets a node's other resources to zero, so they are kept and sent
// back.
struct Resource {
  std::int64_t memory_mib = 0;
  std::int32_t vcores = 0;
  std::vector<ResourceValue> others;
  bool operator==(const Resource&) const = default;
};

Result<Resource> decode_resource(std::string_view bytes);  // ResourceProto

enum class NodeState : std::uint8_t {
  kNew = 1,
  kRunning = 2,
  kUnhealthy = 3,
  kDecommissioned = 4,
  kLost = 5,
  kRebooted = 6,
  kDecommissioning = 7,
  kShutdown = 8,
};
std::string_view to_string(NodeState);
// It is known to the scheduler: it has a total that can be set, and containers that count. An update that names one of
// the others is refused whole.
bool is_active(NodeState);

struct NodeReport {
  NodeId id;
  std::string http_address;  // of the NodeManager's web services, host:port
  Resource used;             // of all containers that were given out, started or not
  Resource capability;       // the total that the scheduler shares out
  std::int32_t containers = 0;
  NodeState state = NodeState::kNew;
  std::string health_report;
  std::vector<std::string> labels;
};

// What becomes of containers that no longer fit after a cut. It sticks: a grace that was once given is remembered by
// the ResourceManager, and holds for later updates that keep.
struct Overcommit {
  std::int32_t milliseconds = -1;
  // Kills nothing, unless another writer set a timeout.
  static constexpr Overcommit keep() { return {-1}; }
  static constexpr Overcommit kill_at_once() { return {0}; }  // an ApplicationMaster too
  // Asks applications at once to give up containers, and kills the newest at the end of the time.
  static constexpr Overcommit kill_after(std::int32_t milliseconds) { return {milliseconds}; }
  // Kills nothing for weeks, and replaces the timeout of an earlier total if the new total differs from it.
  static constexpr Overcommit kill_never() { return {0x7fffffff}; }
  bool operator==(const Overcommit&) const = default;
};

struct NodeUpdate {
  NodeId id;
  Resource total;
  std::optional<Overcommit> overcommit;  // unset in Koordinator's operator: the server reads zero, kill at once
};

std::string encode_update_node_resource(const std::vector<NodeUpdate>& updates);
std::string encode_get_cluster_nodes(const std::vector<NodeState>& states);  // empty: all states

// Reports without a name, state or resource are listed in `refused`, so that one bad node does not hide the others.
struct NodeReports {
  std::vector<NodeReport> nodes;
  std::vector<Error> refused;
};
Result<NodeReports> decode_get_cluster_nodes(std::string_view response);

// What applications of a queue, and of all below it, ask for and do not have. A CapacityScheduler counts only requests
// for nodes without a label.
struct QueueWaiting {
  std::int64_t memory_mib = 0;
  std::int64_t vcores = 0;
  std::int64_t containers = 0;
  bool operator==(const QueueWaiting&) const = default;
};
inline constexpr std::string_view kRootQueue = "root";
std::string encode_get_queue_info(std::string_view queue);
struct QueueReport {
  QueueWaiting waiting;
  // By the resource calculator of a CapacityScheduler, without nodes with a label; nullopt: another scheduler.
  std::optional<std::int64_t> used_share_permille;
};
Result<QueueReport> decode_get_queue_info(std::string_view response);

enum class HaState : std::uint8_t { kInitializing = 0, kActive = 1, kStandby = 2, kObserver = 3 };
std::string_view to_string(HaState);
Result<HaState> decode_get_service_status(std::string_view response);

}  // namespace tidemark::hadoop
