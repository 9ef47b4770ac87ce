#include "kube/node_metric_encode.h"

#include "base/clock.h"
#include "base/json.h"
#include "model/quantity.h"

namespace tidemark::kube {
namespace {

using base::JsonWriter;

void write_resources(JsonWriter& out, const model::Resources& amounts) {
  using model::Quantity;
  out.begin_object().key("resources").begin_object();
  out.member("cpu", std::string_view(Quantity::of_milli(amounts.cpu.value).canonical()));
  out.member("memory", std::string_view(Quantity::of(amounts.memory.value, Quantity::Format::kBinarySI).canonical()));
  out.end_object().end_object();
}

void write_usage(JsonWriter& out, std::string_view key, const model::ReportedUsage& usage) {
  out.key(key);
  if (usage) return write_resources(out, *usage);
  out.begin_object().end_object();
}

void write_aggregated(JsonWriter& out, std::string_view key, const std::vector<model::AggregatedReport>& items) {
  if (items.empty()) return;
  out.key(key).begin_array();
  for (const auto& item : items) {
    out.begin_object().key("usage").begin_object();
    write_usage(out, "avg", item.avg);
    write_usage(out, "p50", item.p50);
    write_usage(out, "p90", item.p90);
    write_usage(out, "p95", item.p95);
    write_usage(out, "p99", item.p99);
    out.end_object();
    out.member("duration", std::string_view(base::format_go_duration(item.duration)));
    out.end_object();
  }
  out.end_array();
}

template <class Entry>
void write_classes(JsonWriter& out, const Entry& entry) {
  if (entry.priority != model::PriorityClass::kNone) out.member("priority", to_string(entry.priority));
  if (entry.qos != model::Qos::kNone) out.member("qos", to_string(entry.qos));
}

void write_node(JsonWriter& out, const model::NodeMetricReport& report) {
  out.key("nodeMetric").begin_object();
  write_usage(out, "nodeUsage", report.node_usage);
  write_aggregated(out, "aggregatedNodeUsages", report.aggregated_node_usages);
  write_usage(out, "systemUsage", report.system_usage);
  write_aggregated(out, "aggregatedSystemUsages", report.aggregated_system_usages);
  if (!report.numa_usages.empty()) {
    out.key("numaUsages").begin_array();
    for (const auto& zone : report.numa_usages) {
      out.begin_object().member("numaNodeID", std::int64_t{zone.numa_node_id});
      write_usage(out, "nodeUsage", zone.node_usage);
      write_usage(out, "systemUsage", zone.system_usage);
      out.end_object();
    }
    out.end_array();
  }
  out.end_object();
}

void write_status(JsonWriter& out, const model::NodeMetricReport& report) {
  out.begin_object();
  out.member("updateTime", std::string_view(base::format_rfc3339(report.update_time)));
  write_node(out, report);
  if (!report.pods.empty()) {
    out.key("podsMetric").begin_array();
    for (const auto& pod : report.pods) {
      out.begin_object().member("name", std::string_view(pod.name)).member("namespace", std::string_view(pod.ns));
      write_usage(out, "podUsage", pod.usage);
      write_classes(out, pod);
      out.end_object();
    }
    out.end_array();
  }
  if (!report.host_applications.empty()) {
    out.key("hostApplicationMetric").begin_array();
    for (const auto& application : report.host_applications) {
      out.begin_object().member("name", std::string_view(application.name));
      write_usage(out, "usage", application.usage);
      write_classes(out, application);
      out.end_object();
    }
    out.end_array();
  }
  out.key("prodReclaimableMetric").begin_object();
  write_usage(out, "resource", report.prod_reclaimable);
  out.end_object();
  if (report.prod_peak) {
    out.key("prodPeakMetric").begin_object();
    write_usage(out, "resource", report.prod_peak);
    out.end_object();
  }
  out.end_object();
}

}  // namespace

std::string encode_node_metric_status(const model::NodeMetricReport& report) {
  std::string text;
  JsonWriter out(text);
  write_status(out, report);
  return text;
}

}  // namespace tidemark::kube
