// Projections that several components share: only the fields that decisions read. bytes() is the cost of a cached one,
// without the interner's shared strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/decode.h"
#include "kube/intern.h"
#include "model/node.h"
#include "model/pod.h"
#include "model/qos.h"

namespace tidemark::kube {

// Which label or annotation keys to keep. A pattern that ends in "*" keeps all with that prefix; "*" keeps all.
class KeyFilter {
 public:
  KeyFilter() = default;  // keeps none
  KeyFilter(std::initializer_list<std::string_view> patterns) : patterns_(patterns.begin(), patterns.end()) {}
  static KeyFilter all() { return {"*"}; }
  bool keeps(std::string_view key) const;
  bool keeps_none() const { return patterns_.empty(); }

 private:
  std::vector<std::string> patterns_;
};

struct MetaFields {
  KeyFilter labels;
  KeyFilter annotations;
};

// Labels, annotations, a ConfigMap's data: few enough for a linear search. In the order of the wire (sorted, from Go).
class TextMap {
 public:
  struct Entry {
    Text key;
    Text value;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  friend bool operator==(const TextMap&, const TextMap&) = default;
  const Text* find(std::string_view key) const;
  std::string_view get(std::string_view key) const;  // "" where there is none
  bool has(std::string_view key) const { return find(key) != nullptr; }
  void set(Text key, Text value);  // the last one wins
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t bytes() const;
  void shrink_to_fit() { entries_.shrink_to_fit(); }

 private:
  std::vector<Entry> entries_;
};

struct ObjectMeta {
  Text ns;
  Text name;
  Text uid;
  std::string resource_version;
  std::int64_t generation = 0;
  std::optional<base::WallTime> created;
  std::optional<base::WallTime> deleted;  // deletionTimestamp: set while it is terminating
  TextMap labels;
  TextMap annotations;
  Text owner_kind;  // the controlling owner; the first one where none controls
  Text owner_name;

  std::size_t bytes() const;  // heap only
};

// Amounts of resources. cpu is in thousandths of a core, everything else in whole units (bytes, pods, …); a finer
// quantity is rounded up, as the scheduler does and contract 0 says. batch-cpu and mid-cpu are milli-cores by their own
// definition.
class ResourceList {
 public:
  struct Entry {
    Text name;
    std::int64_t amount;
  };
  std::optional<std::int64_t> find(std::string_view name) const;
  std::int64_t get(std::string_view name) const { return find(name).value_or(0); }
  std::optional<std::int64_t> cpu_milli() const { return find("cpu"); }
  std::optional<std::int64_t> memory_bytes() const { return find("memory"); }
  void set(Text name, std::int64_t amount);
  std::size_t size() const { return entries_.size(); }
  bool empty() const { return entries_.empty(); }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  std::size_t bytes() const;
  void shrink_to_fit() { entries_.shrink_to_fit(); }

 private:
  std::vector<Entry> entries_;
};

enum class Truth : std::uint8_t { kUnknown, kFalse, kTrue };  // a condition's status

// ---- Pod ----

struct Container {
  Text name;
  ResourceList requests;
  ResourceList limits;
  bool restart_always = false;  // on an init container: it is a sidecar

  std::size_t bytes() const;
};

struct ContainerStatus {
  Text name;
  std::int32_t restarts = 0;
  bool ready = false;
  bool started = false;
  bool init = false;

  std::size_t bytes() const { return name.bytes(); }
};

struct Pod {
  ObjectMeta meta;
  Text node_name;
  Text scheduler_name;
  std::optional<std::int32_t> priority;
  model::PodPhase phase = model::PodPhase::kUnknown;
  std::optional<model::KubeQos> qos;  // nullopt: status does not say
  Truth ready = Truth::kUnknown;
  bool host_network = false;
  std::vector<Container> containers;
  std::vector<Container> init_containers;
  ResourceList overhead;
  ResourceList pod_requests;  // spec.resources (pod-level)
  ResourceList pod_limits;
  std::vector<ContainerStatus> statuses;
  std::optional<base::WallTime> started;  // status.startTime

  bool terminal() const { return phase == model::PodPhase::kSucceeded || phase == model::PodPhase::kFailed; }
  std::size_t bytes() const;
};

// What of a pod to keep; the identity, node, phase, QoS and priority are always kept.
struct PodFields {
  MetaFields meta;
  bool resources = true;  // containers and all that the effective request needs
  bool statuses = true;   // container statuses
};
Result<Pod> decode_pod(std::string_view bytes, const PodFields& fields, Interner& interner);

// ---- Node ----

enum class TaintEffect : std::uint8_t { kNoSchedule, kPreferNoSchedule, kNoExecute };
struct Taint {
  Text key;
  Text value;
  TaintEffect effect = TaintEffect::kNoSchedule;  // also for an effect that we do not know

  std::size_t bytes() const { return key.bytes() + value.bytes(); }
};

struct NodeCondition {
  Text type;
  Truth status = Truth::kUnknown;
  Text reason;
  Text message;                           // where the fields ask for it
  std::optional<base::WallTime> changed;  // lastTransitionTime; heartbeats are not kept, so they change nothing

  std::size_t bytes() const { return type.bytes() + reason.bytes() + message.bytes(); }
};

struct NodeInfo {
  Text kernel_version;
  Text os_image;
  Text architecture;
  Text container_runtime_version;
  Text kubelet_version;
  Text boot_id;

  std::size_t bytes() const;
};

struct Node {
  ObjectMeta meta;
  ResourceList capacity;
  ResourceList allocatable;
  std::vector<NodeCondition> conditions;
  std::vector<Taint> taints;
  bool unschedulable = false;
  NodeInfo info;
  Text internal_ip;

  Truth ready() const;
  const NodeCondition* condition(std::string_view type) const;  // null where there is none
  std::size_t bytes() const;
};

struct NodeFields {
  MetaFields meta;
  bool info = true;
  KeyFilter condition_messages = {};  // of which types of conditions the message is kept
};
Result<Node> decode_node(std::string_view bytes, const NodeFields& fields, Interner& interner);

// ---- NodeMetric (slo.koordinator.sh/v1alpha1) ----

struct MetricCollectPolicy {
  std::optional<std::int64_t> aggregate_duration_s;
  std::optional<std::int64_t> report_interval_s;
  std::vector<base::Duration> aggregate_durations;
  Text memory_collect_policy;
};

enum class Aggregation : std::uint8_t { kAvg, kP50, kP90, kP95, kP99 };
struct AggregatedUsage {
  base::Duration duration{0};
  // One for each kind reported; an empty list while the agent is cold.
  std::vector<std::pair<Aggregation, ResourceList>> usage;
  const ResourceList* find(Aggregation) const;
  std::size_t bytes() const;
};

struct HostApplicationMetric {
  Text name;
  ResourceList usage;
  Text priority;
  Text qos;

  std::size_t bytes() const { return name.bytes() + usage.bytes() + priority.bytes() + qos.bytes(); }
};

struct NodeMetric {
  ObjectMeta meta;
  std::optional<MetricCollectPolicy> policy;
  std::optional<base::WallTime> updated;  // status.updateTime
  bool has_node_metric = false;           // status.nodeMetric is there
  ResourceList node_usage;
  ResourceList system_usage;
  std::vector<AggregatedUsage> aggregated_node_usages;
  std::vector<AggregatedUsage> aggregated_system_usages;
  std::vector<model::PodUsage> pods;  // in thirty lines of a node: what decisions read, and no texts
  std::vector<HostApplicationMetric> host_applications;
  std::optional<ResourceList> prod_reclaimable;
  std::optional<ResourceList> prod_peak;

  std::size_t bytes() const;
};

struct NodeMetricFields {
  MetaFields meta;
  bool aggregated = false;
  bool pods = true;
};
Result<NodeMetric> decode_node_metric(std::string_view bytes, const NodeMetricFields& fields, Interner& interner);

// ---- NodeSLO ----

struct NodeSlo {
  ObjectMeta meta;
  std::string spec;  // its bytes as received: the reader has a table of their fields; "" if there is none
  std::size_t bytes() const;
};
Result<NodeSlo> decode_node_slo(std::string_view bytes, const MetaFields& fields, Interner& interner);

// ---- ConfigMap, Lease, Event ----

struct ConfigMap {
  ObjectMeta meta;
  TextMap data;  // values are plain; binaryData is not kept
  std::size_t bytes() const;
};
Result<ConfigMap> decode_config_map(std::string_view bytes, const MetaFields& fields, const KeyFilter& data,
                                    Interner& interner);

struct Lease {
  ObjectMeta meta;
  std::string holder;
  std::optional<std::int32_t> duration_s;
  std::optional<base::WallTime> acquired;
  std::optional<base::WallTime> renewed;
  std::int32_t transitions = 0;
  std::size_t bytes() const;
};
Result<Lease> decode_lease(std::string_view bytes, const MetaFields& fields, Interner& interner);

struct Event {
  ObjectMeta meta;
  Text type;  // Normal, Warning
  Text reason;
  std::string message;
  Text about_kind;
  Text about_ns;
  Text about_name;
  Text about_uid;
  Text component;
  std::int32_t count = 0;
  std::optional<base::WallTime> first;
  std::optional<base::WallTime> last;
  std::size_t bytes() const;
};
Result<Event> decode_event(std::string_view bytes, const MetaFields& fields, Interner& interner);

// ---- the functions they are composed of ----

void read_meta(Decoder&, const MetaFields&, ObjectMeta&);
void read_text_map(Decoder&, const KeyFilter&, TextMap&);
// Quantities may be strings or bare numbers, as the API server accepts both.
void read_resources(Decoder&, ResourceList&);
void read_amount(Decoder&, std::string_view resource, std::int64_t&);  // one of them
void read_container(Decoder&, Container&);
void read_truth(Decoder&, Truth&);
void read_resource_map(Decoder&, ResourceList&);  // {"resources": {…}, "devices": …} of the slo kinds

}  // namespace tidemark::kube
