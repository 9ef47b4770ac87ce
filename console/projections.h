// What the console keeps of a NodeMetric and of an offline pod. A cluster has far more of them than a page shows at
// once, so each is one small block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "kube/intern.h"
#include "kube/objects.h"
#include "model/pod.h"
#include "model/resources.h"

namespace tidemark::console {

struct ProjectionMeta {
  kube::Text ns;
  kube::Text name;
  std::string resource_version;
};

struct NodeReport {
  ProjectionMeta meta;
  std::optional<base::WallTime> updated;  // nullopt: the agent never reported
  std::optional<model::Resources> used;   // by all work of the node; nullopt: not in the report
  model::Resources offline;               // by offline pods and offline host applications

  std::size_t bytes() const;
};
Result<NodeReport> decode_node_report(std::string_view bytes, kube::Interner& interner);

// A pod that requests batch or mid resources, or is marked as offline by a label or its priority.
struct Task {
  ProjectionMeta meta;
  kube::Text node;  // empty: not bound yet
  kube::Text work_class;
  kube::Text job;  // "Kind/name" of the owner, or the label
  model::PodPhase phase = model::PodPhase::kUnknown;
  bool offline = false;
  bool terminating = false;
  bool evicted = false;
  bool stuck = false;           // a container of it waits before it starts again, or cannot start
  model::Resources request;     // batch-cpu and batch-memory
  std::uint32_t created_s = 0;  // seconds since 1970; 0: unset
  std::uint32_t started_s = 0;  // the same
  std::uint32_t deleted_s = 0;  // the end of its grace period, once it is to be deleted
  std::uint32_t ended_s = 0;    // of an evicted one: when it was asked to end
  kube::Text why;               // why it waits, or how it ended; cut at kWhyBytesMax

  static constexpr std::size_t kWhyBytesMax = 240;
  bool over() const { return phase == model::PodPhase::kSucceeded || phase == model::PodPhase::kFailed; }
  bool sold() const { return !node.empty() && !over(); }
  std::size_t bytes() const;
};
Result<Task> decode_task(std::string_view bytes, kube::Interner& interner);

// Names the NodeManager of the ledger on a node, "CLUSTER/HOST:PORT". The yarn-operator writes it.
inline constexpr std::string_view kYarnBookOfAnnotation = "tidemark.io/yarn-book-of";

// The fields of a Node that the console reads.
kube::NodeFields node_fields();

}  // namespace tidemark::console
