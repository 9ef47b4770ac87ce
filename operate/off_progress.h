// How far an `off --evict` is: one entry of the ConfigMap `tidemark-off` for each scope, so that every terminal and the
// console show the same counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "model/resources.h"
#include "net/loop.h"
#include "operate/order.h"
#include "operate/order_wait.h"

namespace tidemark::operate {

// The state of one node. All of it zero is the proof.
struct NodeProof {
  std::string name;
  std::string not_marked;            // why the order could not be written; "" if it was
  bool offers = false;               // something is still offered
  bool silent = false;               // its kubelet does not answer
  std::size_t pods = 0;              // offline, not terminal
  std::size_t static_pods = 0;       // of those: the kubelet would create them again
  std::size_t outlived = 0;          // of those: deleted, and still there after the grace
  std::vector<std::string> refused;  // "NAMESPACE/POD: reason", the first few
  model::Resources yarn;             // held by YARN's containers, by the last report of the yarn-operator
  bool yarn_unreadable = false;      // that report cannot be read, so YARN may hold something
  AgentAnswer agent = AgentAnswer::kNoAgent;
  std::string agent_says;  // unless no file is in force

  bool tasks_gone() const { return pods == 0 && yarn == model::Resources() && !yarn_unreadable; }
  bool files_restored() const { return agent == AgentAnswer::kNothing || agent == AgentAnswer::kNoAgent; }
  bool done() const { return not_marked.empty() && !offers && tasks_gone() && files_restored(); }
  bool operator==(const NodeProof&) const = default;
};

// The options of an order, to give it again as it was.
struct OffOptions {
  base::Duration grace{0};
  std::int64_t per_minute = 0;  // 0: no limit
  bool at_once = false;
  std::optional<base::WallTime> until;  // the order ends then
  bool operator==(const OffOptions&) const = default;
};

struct OffProgress {
  std::string scope;  // "cluster", "pool web", "node web-1 web-2"
  std::string by, why;
  std::optional<OffOptions> options;  // nullopt: an earlier version stored it
  base::WallTime began, updated;
  bool running = true;  // false: its command has ended
  std::size_t nodes = 0;
  std::size_t marked = 0;
  std::size_t offers_at_zero = 0;
  std::size_t pods_left = 0;
  std::size_t yarn_left = 0;  // nodes on which YARN holds something
  std::size_t files_restored = 0;
  std::size_t silent = 0;
  std::size_t evicted = 0;            // pods that accepted the request
  std::size_t refused = 0;            // pods that refuse it now
  std::size_t done = 0;               // nodes
  std::vector<NodeProof> nodes_left;  // by name; stored are at most kNodesLeftStored
  // Of `done`: no agent ever reported there, so kernel files were not checked. By name; stored as nodes_left.
  std::vector<std::string> without_agent;
  std::string problem;  // why nothing was looked at; "" if it was

  bool finished() const { return problem.empty() && done == nodes; }
  bool operator==(const OffProgress&) const = default;
};
inline constexpr std::size_t kNodesLeftStored = 100;
inline constexpr std::string_view kOffProgressName = "tidemark-off";

Json progress_json(const OffProgress& progress);
Result<OffProgress> parse_progress(const Json& json);

// "cluster", "pool web", "node web-1 web-2".
std::string scope_text(const OrderOptions& options);

// `forget`: scopes whose entries are removed with it.
net::Task<Result<void>> store_progress(kube::Client& client, std::string config_namespace, const OffProgress& progress,
                                       base::Duration limit, std::vector<std::string> forget = {});
// The scopes of `all`, the latest first, that a new order removes: they ended long ago, or before many others.
std::vector<std::string> outdated_scopes(const std::vector<OffProgress>& all, base::WallTime now);
// All that the ConfigMap has, the latest first. Unreadable entries are left out.
std::vector<OffProgress> progress_in(const kube::ConfigMap& map);
// The same of the stored ConfigMap; empty if there is none.
net::Task<Result<std::vector<OffProgress>>> read_progress(kube::Client& client, std::string config_namespace,
                                                          base::Duration limit);

}  // namespace tidemark::operate
