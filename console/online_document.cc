#include "console/online_document.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "console/json_values.h"

namespace tidemark::console {
namespace {

using base::JsonWriter;
using policy::waterline::UsageAt;

// One value for each hour of the day.
template <class Value>
void write_hours(JsonWriter& json, std::string_view name, const operate::OnlineWorkload& workload, Value value) {
  json.key(name).begin_array();
  for (const auto& hour : workload.hours) {
    optional_value(json, hour ? std::optional<std::int64_t>(value(*hour)) : std::nullopt);
  }
  json.end_array();
}

void write_pod(JsonWriter& json, std::string_view ns, const operate::OnlinePod& pod) {
  json.begin_object();
  json.member("namespace", ns);
  json.member("name", pod.name.view());
  json.member("node", pod.node.view());
  json.member("cpuRequest", pod.request.cpu.value);
  json.member("memoryRequest", pod.request.memory.value);
  optional_member(json, "cpuUsed", pod.used ? std::optional(pod.used->cpu.value) : std::nullopt);
  optional_member(json, "memoryUsed", pod.used ? std::optional(pod.used->memory.value) : std::nullopt);
  json.end_object();
}

void write_workload(JsonWriter& json, const operate::OnlineWorkload& workload, bool with_pods) {
  const bool known = workload.reported > 0;
  json.begin_object();
  json.member("name", workload.name);
  text_member(json, "business", workload.business);
  json.member("pods", workload.pods);
  json.member("reported", workload.reported);
  json.member("cpuRequest", workload.request.cpu.value);
  json.member("memoryRequest", workload.request.memory.value);
  optional_member(json, "cpuUsed", known ? std::optional(workload.used.cpu.value) : std::nullopt);
  optional_member(json, "memoryUsed", known ? std::optional(workload.used.memory.value) : std::nullopt);
  json.member("hoursSeen", workload.hours_seen);
  write_hours(json, "cpuP50", workload, [](const UsageAt& hour) { return hour.p50.cpu.value; });
  write_hours(json, "cpuP95", workload, [](const UsageAt& hour) { return hour.p95.cpu.value; });
  write_hours(json, "memoryP95", workload, [](const UsageAt& hour) { return hour.p95.memory.value; });
  json.key("members").begin_array();
  std::vector<const operate::OnlinePod*> pods;
  if (with_pods)
    std::ranges::transform(workload.members, std::back_inserter(pods), [](const auto& pod) { return &pod; });
  std::ranges::sort(pods, {}, [](const operate::OnlinePod* pod) { return pod->name.view(); });
  for (const operate::OnlinePod* pod : pods) write_pod(json, workload.ns(), *pod);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string online_document(const operate::OnlineServices& services, std::string_view workload) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("schema", kSchema);
  json.key("notes").begin_array();
  for (const std::string& note : services.notes) json.value(note);
  json.end_array();
  json.key("workloads").begin_array();
  for (const operate::OnlineWorkload& each : services.workloads) {
    if (workload.empty() || each.name == workload) write_workload(json, each, !workload.empty());
  }
  json.end_array();
  json.end_object();
  return out;
}

}  // namespace tidemark::console
