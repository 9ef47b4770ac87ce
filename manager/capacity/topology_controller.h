// Writes the amounts of the NUMA zones into the NodeResourceTopology, if the change is worth a write.
//
// It remembers its own writes: zones have their own refresh time, and values that another program changed are repaired.
// Each write holds only for the revision that it was decided on, and carries the leader's epoch
// (manager/capacity/zone_patch.h, docs/decisions/0005-fencing.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/node_resource_topology.h"
#include "manager/capacity/write_lanes.h"
#include "manager/leadership.h"
#include "manager/shared.h"
#include "manager/state/contests.h"
#include "model/names.h"
#include "model/topology.h"
#include "net/loop.h"
#include "policy/sell/overcommit/writes.h"
#include "policy/sell/overcommit/zones.h"

namespace tidemark::manager {

class TopologyController {
 public:
  // `contests`: null if second writers are not tracked.
  TopologyController(const Shared& shared, const WriteLanes& lanes,
                     const kube::Informer<kube::NodeResourceTopology>& topologies, Leadership leadership,
                     base::Duration write_limit, Contests* contests = nullptr);

  // The node is only observed or has no zones: no second writer is tracked.
  void not_ours(const model::NodeName& node);
  enum class Done : std::uint8_t {
    kSettled,
    kDecideAgain,  // `place` is there now, and was waited for: the plan is old
  };
  struct Wanted {
    policy::sell::ZonesPlan plan;
    policy::sell::WriteThresholds thresholds;
    // The amounts of the node if its zones follow it: their sum does not exceed it, and a cut of them is as urgent as
    // one of the node.
    std::optional<model::Resources> follow = {};
  };
  // kConflict: the topology changed; decide the node again. The caller owns `place` until the task ends.
  net::Task<Result<Done>> settle(model::NodeName node, Wanted wanted, kube::Place& place);
  bool writing() const { return writing_ > 0; }

  // Whether the zones differ from the last write of this process and deserve a repair ahead of others. Repeatedly
  // overwritten zones wait in the line.
  bool overwritten(const kube::NodeResourceTopology& topology) const;
  // A recreated topology is repaired like an overwritten one.
  void forget_writes_of(const model::NodeName& node) { written_.erase(node); }

 private:
  // What a zone carries of batch.
  struct Carried {
    std::optional<model::ZoneAmounts<model::CpuMicro>> cpu;
    std::optional<model::ZoneAmounts<model::MemoryMilli>> memory;
    bool operator==(const Carried&) const = default;
  };
  struct Written {
    base::MonotonicTime when;
    std::int64_t epoch = 0;
    std::uint64_t revision = 0;  // after the write; 0 if no write was needed
    std::vector<Carried> zones;
    std::int64_t repairs = 0;  // each within kFightWindow of the one before
    base::MonotonicTime repaired_at;
  };
  static std::vector<Carried> carried_by(const model::TopologyView& view);
  // If our values are missing completely or in part, there is no second writer: the topology was recreated.
  static bool lacks(const std::vector<Carried>& now, const std::vector<Carried>& written);
  static std::uint64_t content_of(const std::vector<Carried>& zones);
  bool is_fought_over(const Written& written) const;
  bool is_behind(const Written& written, const kube::NodeResourceTopology& topology) const;

  net::EventLoop& loop_;
  WriteLanes lanes_;
  const kube::Informer<kube::NodeResourceTopology>& topologies_;
  Leadership leadership_;
  kube::Interner& interner_;
  base::Log log_;
  base::Duration write_limit_;
  Contests* contests_;  // null: second writers are not tracked
  std::unordered_map<model::NodeName, Written> written_;
  std::size_t writing_ = 0;
  base::Registry& metrics_;
  base::Counter& conflicts_;
};

}  // namespace tidemark::manager
