#include "policy/sell/usage/report.h"

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

namespace tidemark::policy::sell {
namespace {

constexpr std::int64_t kMicroOfMilli = 1000;
constexpr std::int64_t kColdDivisor = 2;

model::ReportedUsage reported(const std::optional<UsageFigures>& figures) {
  if (!figures) return std::nullopt;
  return policy::sell::reported(*figures);
}

void aggregate(const SampleRing& ring, const std::vector<base::Duration>& durations, base::MonotonicTime now,
               WindowScratch& scratch, std::vector<model::AggregatedReport>& out) {
  out.resize(durations.size());
  for (std::size_t i = 0; i < durations.size(); ++i) {
    const base::Duration duration = durations[i];
    model::AggregatedReport& item = out[i];
    item = {};
    item.duration = duration;
    if (duration <= base::Duration(0)) continue;
    const auto usage = ring.usage(now, duration, scratch);
    // span < duration / 2, exact for an odd number of nanoseconds too
    if (!usage || usage->span < duration - duration / kColdDivisor) continue;
    item.avg = policy::sell::reported(usage->avg);
    item.p50 = policy::sell::reported(usage->p50);
    item.p90 = policy::sell::reported(usage->p90);
    item.p95 = policy::sell::reported(usage->p95);
    item.p99 = policy::sell::reported(usage->p99);
  }
}

}  // namespace

model::Resources reported(const UsageFigures& figures) {
  return {model::CpuMilli{figures.cpu_micro / kMicroOfMilli}, model::MemoryBytes{figures.memory_bytes}};
}

ReportedLevels reported_levels(const UsageHistory& history, base::MonotonicTime now) {
  const base::Duration window = history.collect().aggregate;
  return {reported(history.node().told.average(now, window)), reported(history.system_part().average(now, window))};
}

void usage_report(const UsageHistory& history, const ReportSubjects& subjects, base::MonotonicTime now,
                  base::WallTime wall_now, WindowScratch& scratch, model::NodeMetricReport& out) {
  const CollectInForce& collect = history.collect();
  out.update_time = wall_now;
  const ReportedLevels levels = reported_levels(history, now);
  out.node_usage = levels.node;
  out.system_usage = levels.system;
  out.prod_reclaimable.reset();
  out.prod_peak.reset();
  aggregate(history.node().told, collect.durations, now, scratch, out.aggregated_node_usages);
  aggregate(history.system_part(), collect.durations, now, scratch, out.aggregated_system_usages);

  out.numa_usages.clear();
  for (const auto& zone : history.numa_nodes()) {
    out.numa_usages.push_back({zone.numa_node_id, reported(zone.node.average(now, collect.aggregate)),
                               reported(zone.system.average(now, collect.aggregate))});
  }

  std::size_t pods = 0;
  for (const ReportedPod& pod : subjects.pods) {
    const auto* series = history.pod(pod.uid);
    const auto usage = series == nullptr ? std::nullopt : series->told.average(now, collect.aggregate);
    if (!usage) continue;
    if (pods == out.pods.size()) out.pods.emplace_back();
    model::PodReport& entry = out.pods[pods++];
    entry.ns = pod.ns;
    entry.name = pod.name;
    entry.usage = policy::sell::reported(*usage);
    entry.priority = pod.priority;
    entry.qos = pod.qos;
  }
  out.pods.resize(pods);
  std::ranges::sort(out.pods, [](const model::PodReport& a, const model::PodReport& b) {
    return std::tie(a.ns, a.name) < std::tie(b.ns, b.name);
  });

  std::size_t applications = 0;
  for (const ReportedHostApplication& application : subjects.host_applications) {
    const auto* series = history.host_application(application.name);
    const auto usage = series == nullptr ? std::nullopt : series->told.average(now, collect.aggregate);
    if (!usage) continue;
    if (applications == out.host_applications.size()) out.host_applications.emplace_back();
    model::HostApplicationReport& entry = out.host_applications[applications++];
    entry.name = application.name;
    entry.usage = policy::sell::reported(*usage);
    entry.priority = application.priority;
    entry.qos = application.qos;
  }
  out.host_applications.resize(applications);
  std::ranges::sort(out.host_applications, {}, &model::HostApplicationReport::name);
}

}  // namespace tidemark::policy::sell
