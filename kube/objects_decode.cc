// The decoders of kube/objects.h. One small function for each sub-object; members in the order of how often they come.
#include "base/text.h"
#include "kube/objects.h"
#include "model/quantity.h"

namespace tidemark::kube {
namespace {

using Type = base::JsonReader::Type;

// A list that comes twice replaces the first, as in Go.
template <class T, class Read>
void read_vector(Decoder& decoder, std::vector<T>& out, Read&& read) {
  out.clear();
  decoder.array([&] { read(out.emplace_back()); });
  out.shrink_to_fit();
}

// What every decoder checks of the whole: that it is an object of this kind (items of lists carry none) with a name.
class Checked {
 public:
  Checked(Decoder& decoder, std::string_view kind) : decoder_(decoder), kind_(kind) {}

  // Answers whether the member was one of its own.
  bool take(std::string_view key) {
    if (key != "kind") return false;
    std::string_view found;
    decoder_.view(found);
    if (!found.empty() && found != kind_) {
      decoder_.fail(base::cat("wanted kind ", kind_, ", found ", base::quoted(found)));
    }
    return true;
  }

  Result<void> finish(const ObjectMeta& meta) {
    if (decoder_.ok() && meta.name.empty()) decoder_.fail("it has no metadata.name");
    return decoder_.finish(kind_);
  }

 private:
  Decoder& decoder_;
  std::string_view kind_;
};

std::int64_t amount_of(std::string_view resource, const model::Quantity& quantity) {
  return resource == "cpu" ? model::cpu_milli(quantity).value : quantity.scaled_value_saturated(0);
}

void read_owners(Decoder& decoder, ObjectMeta& meta) {
  meta.owner_kind = {};
  meta.owner_name = {};
  bool controlled = false;
  decoder.array([&] {
    Text kind;
    Text name;
    bool controller = false;
    decoder.object([&](std::string_view key) {
      if (key == "kind") {
        decoder.interned(kind);
      } else if (key == "name") {
        decoder.interned(name);
      } else if (key == "controller") {
        decoder.boolean(controller);
      } else {
        decoder.skip();
      }
    });
    if (meta.owner_kind.empty() || (controller && !controlled)) {
      meta.owner_kind = kind;
      meta.owner_name = name;
      controlled = controlled || controller;
    }
  });
}

// ---- Pod ----

void read_pod_level(Decoder& decoder, Pod& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "requests") {
      read_resources(decoder, pod.pod_requests);
    } else if (key == "limits") {
      read_resources(decoder, pod.pod_limits);
    } else {
      decoder.skip();
    }
  });
}

void read_pod_spec(Decoder& decoder, const PodFields& fields, Pod& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "nodeName") {
      decoder.interned(pod.node_name);
    } else if (key == "schedulerName") {
      decoder.interned(pod.scheduler_name);
    } else if (key == "priority") {
      decoder.optional(pod.priority);
    } else if (key == "hostNetwork") {
      decoder.boolean(pod.host_network);
    } else if (!fields.resources) {
      decoder.skip();
    } else if (key == "containers") {
      read_vector(decoder, pod.containers, [&](Container& container) { read_container(decoder, container); });
    } else if (key == "initContainers") {
      read_vector(decoder, pod.init_containers, [&](Container& container) { read_container(decoder, container); });
    } else if (key == "overhead") {
      read_resources(decoder, pod.overhead);
    } else if (key == "resources") {
      read_pod_level(decoder, pod);
    } else {
      decoder.skip();
    }
  });
}

void read_container_statuses(Decoder& decoder, bool init, Pod& pod) {
  decoder.array([&] {
    ContainerStatus status;
    status.init = init;
    decoder.object([&](std::string_view key) {
      if (key == "name") {
        decoder.interned(status.name);
      } else if (key == "ready") {
        decoder.boolean(status.ready);
      } else if (key == "started") {
        decoder.boolean(status.started);
      } else if (key == "restartCount") {
        decoder.integer32(status.restarts);
      } else {
        decoder.skip();
      }
    });
    pod.statuses.push_back(std::move(status));
  });
}

void read_pod_conditions(Decoder& decoder, Pod& pod) {
  decoder.array([&] {
    bool is_ready = false;
    Truth status = Truth::kUnknown;
    decoder.object([&](std::string_view key) {
      if (key == "type") {
        std::string_view type;
        decoder.view(type);
        is_ready = type == "Ready";
      } else if (key == "status") {
        read_truth(decoder, status);
      } else {
        decoder.skip();
      }
    });
    if (is_ready) pod.ready = status;
  });
}

void read_pod_status(Decoder& decoder, const PodFields& fields, Pod& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "phase") {
      std::string_view phase;
      decoder.view(phase);
      pod.phase = model::parse_pod_phase(phase);
    } else if (key == "qosClass") {
      std::string_view qos;
      decoder.view(qos);
      pod.qos = model::parse_kube_qos(qos);
    } else if (key == "startTime") {
      decoder.time(pod.started);
    } else if (key == "conditions") {
      read_pod_conditions(decoder, pod);
    } else if (key == "containerStatuses" && fields.statuses) {
      read_container_statuses(decoder, false, pod);
    } else if (key == "initContainerStatuses" && fields.statuses) {
      read_container_statuses(decoder, true, pod);
    } else {
      decoder.skip();
    }
  });
  pod.statuses.shrink_to_fit();
}

// ---- Node ----

void read_node_condition(Decoder& decoder, NodeCondition& condition) {
  decoder.object([&](std::string_view key) {
    if (key == "type") {
      decoder.interned(condition.type);
    } else if (key == "status") {
      read_truth(decoder, condition.status);
    } else if (key == "reason") {
      decoder.interned(condition.reason);
    } else if (key == "lastTransitionTime") {
      decoder.time(condition.changed);
    } else {
      decoder.skip();
    }
  });
}

void read_taint(Decoder& decoder, Taint& taint) {
  decoder.object([&](std::string_view key) {
    if (key == "key") {
      decoder.interned(taint.key);
    } else if (key == "value") {
      decoder.interned(taint.value);
    } else if (key == "effect") {
      std::string_view effect;
      decoder.view(effect);
      taint.effect = effect == "NoExecute"          ? TaintEffect::kNoExecute
                     : effect == "PreferNoSchedule" ? TaintEffect::kPreferNoSchedule
                                                    : TaintEffect::kNoSchedule;
    } else {
      decoder.skip();
    }
  });
}

void read_node_info(Decoder& decoder, NodeInfo& info) {
  decoder.object([&](std::string_view key) {
    if (key == "kernelVersion") {
      decoder.interned(info.kernel_version);
    } else if (key == "osImage") {
      decoder.interned(info.os_image);
    } else if (key == "architecture") {
      decoder.interned(info.architecture);
    } else if (key == "containerRuntimeVersion") {
      decoder.interned(info.container_runtime_version);
    } else if (key == "kubeletVersion") {
      decoder.interned(info.kubelet_version);
    } else if (key == "bootID") {
      decoder.text(info.boot_id);
    } else {
      decoder.skip();
    }
  });
}

void read_internal_ip(Decoder& decoder, Node& node) {
  decoder.array([&] {
    bool internal = false;
    Text address;
    decoder.object([&](std::string_view key) {
      if (key == "type") {
        std::string_view type;
        decoder.view(type);
        internal = type == "InternalIP";
      } else if (key == "address") {
        decoder.text(address);
      } else {
        decoder.skip();
      }
    });
    // A node of two families has two; the first is the primary one.
    if (internal && node.internal_ip.empty()) node.internal_ip = address;
  });
}

void read_node_status(Decoder& decoder, const NodeFields& fields, Node& node) {
  decoder.object([&](std::string_view key) {
    if (key == "capacity") {
      read_resources(decoder, node.capacity);
    } else if (key == "allocatable") {
      read_resources(decoder, node.allocatable);
    } else if (key == "conditions") {
      read_vector(decoder, node.conditions, [&](NodeCondition& c) { read_node_condition(decoder, c); });
    } else if (key == "nodeInfo" && fields.info) {
      read_node_info(decoder, node.info);
    } else if (key == "addresses" && fields.info) {
      read_internal_ip(decoder, node);
    } else {
      decoder.skip();
    }
  });
}

// ---- NodeMetric ----

void read_collect_policy(Decoder& decoder, MetricCollectPolicy& policy) {
  decoder.object([&](std::string_view key) {
    if (key == "aggregateDurationSeconds") {
      decoder.optional(policy.aggregate_duration_s);
    } else if (key == "reportIntervalSeconds") {
      decoder.optional(policy.report_interval_s);
    } else if (key == "nodeAggregatePolicy") {
      decoder.object([&](std::string_view member) {
        if (member != "durations") return decoder.skip();
        policy.aggregate_durations.clear();
        decoder.array([&] {
          std::optional<base::Duration> duration;
          decoder.duration(duration);
          if (duration) policy.aggregate_durations.push_back(*duration);
        });
      });
    } else if (key == "nodeMemoryCollectPolicy") {
      decoder.interned(policy.memory_collect_policy);
    } else {
      decoder.skip();
    }
  });
}

std::optional<Aggregation> aggregation_of(std::string_view key) {
  if (key == "avg") return Aggregation::kAvg;
  if (key == "p50") return Aggregation::kP50;
  if (key == "p90") return Aggregation::kP90;
  if (key == "p95") return Aggregation::kP95;
  if (key == "p99") return Aggregation::kP99;
  return std::nullopt;
}

void read_aggregated(Decoder& decoder, AggregatedUsage& out) {
  decoder.object([&](std::string_view key) {
    if (key == "usage") {
      out.usage.clear();
      decoder.object([&](std::string_view kind) {
        const auto aggregation = aggregation_of(kind);
        if (!aggregation) return decoder.skip();
        read_resource_map(decoder, out.usage.emplace_back(*aggregation, ResourceList()).second);
      });
      out.usage.shrink_to_fit();
    } else if (key == "duration") {
      std::optional<base::Duration> duration;
      decoder.duration(duration);
      if (duration) out.duration = *duration;
    } else {
      decoder.skip();
    }
  });
}

void read_node_metric_info(Decoder& decoder, const NodeMetricFields& fields, NodeMetric& metric) {
  decoder.object([&](std::string_view key) {
    if (key == "nodeUsage") {
      read_resource_map(decoder, metric.node_usage);
    } else if (key == "systemUsage") {
      read_resource_map(decoder, metric.system_usage);
    } else if (key == "aggregatedNodeUsages" && fields.aggregated) {
      read_vector(decoder, metric.aggregated_node_usages, [&](AggregatedUsage& u) { read_aggregated(decoder, u); });
    } else if (key == "aggregatedSystemUsages" && fields.aggregated) {
      read_vector(decoder, metric.aggregated_system_usages, [&](AggregatedUsage& u) { read_aggregated(decoder, u); });
    } else {
      decoder.skip();
    }
  });
}

void read_pod_metric(Decoder& decoder, PodMetric& pod) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.text(pod.name);
    } else if (key == "namespace") {
      decoder.interned(pod.ns);
    } else if (key == "podUsage") {
      read_resource_map(decoder, pod.usage);
    } else if (key == "priority") {
      decoder.interned(pod.priority);
    } else if (key == "qos") {
      decoder.interned(pod.qos);
    } else {
      decoder.skip();
    }
  });
}

void read_host_application(Decoder& decoder, HostApplicationMetric& application) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.interned(application.name);
    } else if (key == "usage") {
      read_resource_map(decoder, application.usage);
    } else if (key == "priority") {
      decoder.interned(application.priority);
    } else if (key == "qos") {
      decoder.interned(application.qos);
    } else {
      decoder.skip();
    }
  });
}

// {"resource": ResourceMap}
void read_prediction(Decoder& decoder, std::optional<ResourceList>& out) {
  if (decoder.reader().peek() == Type::kNull) {
    out.reset();
    return decoder.skip();
  }
  ResourceList list;
  decoder.object([&](std::string_view key) {
    if (key != "resource") return decoder.skip();
    read_resource_map(decoder, list);
  });
  out = std::move(list);
}

void read_node_metric_status(Decoder& decoder, const NodeMetricFields& fields, NodeMetric& metric) {
  decoder.object([&](std::string_view key) {
    if (key == "updateTime") {
      decoder.time(metric.updated);
    } else if (key == "nodeMetric") {
      metric.has_node_metric = decoder.reader().peek() != Type::kNull;
      read_node_metric_info(decoder, fields, metric);
    } else if (key == "podsMetric" && fields.pods) {
      read_vector(decoder, metric.pods, [&](PodMetric& pod) { read_pod_metric(decoder, pod); });
    } else if (key == "hostApplicationMetric") {
      read_vector(decoder, metric.host_applications,
                  [&](HostApplicationMetric& application) { read_host_application(decoder, application); });
    } else if (key == "prodReclaimableMetric") {
      read_prediction(decoder, metric.prod_reclaimable);
    } else if (key == "prodPeakMetric") {
      read_prediction(decoder, metric.prod_peak);
    } else {
      decoder.skip();
    }
  });
}

}  // namespace

void read_text_map(Decoder& decoder, const KeyFilter& filter, TextMap& out) {
  if (filter.keeps_none()) return decoder.skip();
  // Values of labels repeat; long ones are annotations with a text of their own.
  constexpr std::size_t kSharedMax = 63;
  decoder.object([&](std::string_view key) {
    if (!filter.keeps(key)) return decoder.skip();
    Text held = decoder.interner().intern(key);  // before the value: the key's view ends with the next read
    std::string_view value;
    decoder.view(value);
    out.set(std::move(held), value.size() <= kSharedMax ? decoder.interner().intern(value) : Text::plain(value));
  });
  out.shrink();
}

void read_meta(Decoder& decoder, const MetaFields& fields, ObjectMeta& meta) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.text(meta.name);
    } else if (key == "namespace") {
      decoder.interned(meta.ns);
    } else if (key == "uid") {
      decoder.text(meta.uid);
    } else if (key == "resourceVersion") {
      decoder.string(meta.resource_version);
    } else if (key == "generation") {
      decoder.integer(meta.generation);
    } else if (key == "creationTimestamp") {
      decoder.time(meta.created);
    } else if (key == "deletionTimestamp") {
      decoder.time(meta.deleted);
    } else if (key == "labels") {
      read_text_map(decoder, fields.labels, meta.labels);
    } else if (key == "annotations") {
      read_text_map(decoder, fields.annotations, meta.annotations);
    } else if (key == "ownerReferences") {
      read_owners(decoder, meta);
    } else {
      decoder.skip();
    }
  });
}

void read_resources(Decoder& decoder, ResourceList& out) {
  decoder.object([&](std::string_view key) {
    const Text name = decoder.interner().intern(key);
    const Type type = decoder.reader().peek();
    if (type != Type::kString && type != Type::kNumber && type != Type::kNull && type != Type::kError) {
      return decoder.fail("wanted a quantity like 500m or 2Gi, found another kind of value");
    }
    std::string_view raw;
    if (!decoder.reader().raw(raw)) return;
    auto quantity = model::Quantity::from_json_text(raw);
    if (!quantity) return decoder.fail(quantity.error().message);
    out.set(name, amount_of(name.view(), *quantity));
  });
  out.shrink();
}

void read_container(Decoder& decoder, Container& container) {
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.interned(container.name);
    } else if (key == "resources") {
      decoder.object([&](std::string_view member) {
        if (member == "requests") {
          read_resources(decoder, container.requests);
        } else if (member == "limits") {
          read_resources(decoder, container.limits);
        } else {
          decoder.skip();
        }
      });
    } else if (key == "restartPolicy") {
      std::string_view policy;
      decoder.view(policy);
      container.restart_always = policy == "Always";
    } else {
      decoder.skip();
    }
  });
}

void read_truth(Decoder& decoder, Truth& out) {
  std::string_view text;
  decoder.view(text);
  out = text == "True" ? Truth::kTrue : text == "False" ? Truth::kFalse : Truth::kUnknown;
}

void read_resource_map(Decoder& decoder, ResourceList& out) {
  decoder.object([&](std::string_view key) {
    if (key != "resources") return decoder.skip();
    read_resources(decoder, out);
  });
}

Result<Pod> decode_pod(std::string_view bytes, const PodFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  Checked checked(decoder, "Pod");
  Pod pod;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields.meta, pod.meta);
    } else if (key == "spec") {
      read_pod_spec(decoder, fields, pod);
    } else if (key == "status") {
      read_pod_status(decoder, fields, pod);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(pod.meta));
  return pod;
}

Result<Node> decode_node(std::string_view bytes, const NodeFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  Checked checked(decoder, "Node");
  Node node;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields.meta, node.meta);
    } else if (key == "spec") {
      decoder.object([&](std::string_view member) {
        if (member == "unschedulable") {
          decoder.boolean(node.unschedulable);
        } else if (member == "taints") {
          read_vector(decoder, node.taints, [&](Taint& taint) { read_taint(decoder, taint); });
        } else {
          decoder.skip();
        }
      });
    } else if (key == "status") {
      read_node_status(decoder, fields, node);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(node.meta));
  return node;
}

Result<NodeMetric> decode_node_metric(std::string_view bytes, const NodeMetricFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  Checked checked(decoder, "NodeMetric");
  NodeMetric metric;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields.meta, metric.meta);
    } else if (key == "spec") {
      decoder.object([&](std::string_view member) {
        if (member != "metricCollectPolicy" || decoder.reader().peek() == Type::kNull) return decoder.skip();
        read_collect_policy(decoder, metric.policy.emplace());
      });
    } else if (key == "status") {
      read_node_metric_status(decoder, fields, metric);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(metric.meta));
  return metric;
}

Result<ConfigMap> decode_config_map(std::string_view bytes, const MetaFields& fields, const KeyFilter& data,
                                    Interner& interner) {
  Decoder decoder(bytes, interner);
  Checked checked(decoder, "ConfigMap");
  ConfigMap map;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, map.meta);
    } else if (key == "data") {
      read_text_map(decoder, data, map.data);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(map.meta));
  return map;
}

Result<Lease> decode_lease(std::string_view bytes, const MetaFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  Checked checked(decoder, "Lease");
  Lease lease;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, lease.meta);
    } else if (key == "spec") {
      decoder.object([&](std::string_view member) {
        if (member == "holderIdentity") {
          decoder.string(lease.holder);
        } else if (member == "leaseDurationSeconds") {
          decoder.optional(lease.duration_s);
        } else if (member == "acquireTime") {
          decoder.time(lease.acquired);
        } else if (member == "renewTime") {
          decoder.time(lease.renewed);
        } else if (member == "leaseTransitions") {
          decoder.integer32(lease.transitions);
        } else {
          decoder.skip();
        }
      });
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(lease.meta));
  return lease;
}

Result<Event> decode_event(std::string_view bytes, const MetaFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  Checked checked(decoder, "Event");
  Event event;
  decoder.object([&](std::string_view key) {
    if (key == "metadata") {
      read_meta(decoder, fields, event.meta);
    } else if (key == "involvedObject") {
      decoder.object([&](std::string_view member) {
        if (member == "kind") {
          decoder.interned(event.about_kind);
        } else if (member == "namespace") {
          decoder.interned(event.about_ns);
        } else if (member == "name") {
          decoder.text(event.about_name);
        } else if (member == "uid") {
          decoder.text(event.about_uid);
        } else {
          decoder.skip();
        }
      });
    } else if (key == "type") {
      decoder.interned(event.type);
    } else if (key == "reason") {
      decoder.interned(event.reason);
    } else if (key == "message") {
      decoder.string(event.message);
    } else if (key == "source") {
      decoder.object([&](std::string_view member) {
        if (member != "component") return decoder.skip();
        decoder.interned(event.component);
      });
    } else if (key == "count") {
      decoder.integer32(event.count);
    } else if (key == "firstTimestamp") {
      decoder.time(event.first);
    } else if (key == "lastTimestamp") {
      decoder.time(event.last);
    } else if (!checked.take(key)) {
      decoder.skip();
    }
  });
  TM_TRY_VOID(checked.finish(event.meta));
  return event;
}

}  // namespace tidemark::kube
