// The decoder of NodeMetric (kube/objects.h).
#include "kube/objects.h"
#include "kube/objects_decode.h"

namespace tidemark::kube {
namespace {

using Type = base::JsonReader::Type;

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

// {"resources": {"cpu": …, "memory": …, …}, "devices": …}
void read_native_resource_map(Decoder& decoder, model::Resources& out) {
  decoder.object([&](std::string_view key) {
    if (key != "resources") return decoder.skip();
    decoder.object([&](std::string_view name) {
      if (name == "cpu") {
        read_amount(decoder, "cpu", out.cpu.value);
      } else if (name == "memory") {
        read_amount(decoder, "memory", out.memory.value);
      } else {
        decoder.skip();
      }
    });
  });
}

// Texts of the entry that is read, and room for one that is not in the bytes as it is.
struct PodNames {
  std::string_view ns;
  std::string_view name;
  std::string ns_room;
  std::string name_room;
};

void read_pod_usage(Decoder& decoder, PodNames& names, model::PodUsage& pod) {
  names.ns = names.name = {};
  decoder.object([&](std::string_view key) {
    if (key == "name") {
      decoder.view_in(names.name_room, names.name);
    } else if (key == "namespace") {
      decoder.view_in(names.ns_room, names.ns);
    } else if (key == "podUsage") {
      read_native_resource_map(decoder, pod.usage);
    } else if (key == "priority") {
      std::string_view priority;
      decoder.view(priority);
      pod.priority = model::parse_priority_class(priority);
    } else if (key == "qos") {
      std::string_view qos;
      decoder.view(qos);
      pod.qos = model::parse_qos(qos);
    } else {
      decoder.skip();
    }
  });
  pod.id = {names.ns, names.name};
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
      PodNames names;
      read_vector(decoder, metric.pods, [&](model::PodUsage& pod) { read_pod_usage(decoder, names, pod); });
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

Result<NodeMetric> decode_node_metric(std::string_view bytes, const NodeMetricFields& fields, Interner& interner) {
  Decoder decoder(bytes, interner);
  KindCheck checked(decoder, "NodeMetric");
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

}  // namespace tidemark::kube
