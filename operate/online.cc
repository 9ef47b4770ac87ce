#include "operate/online.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "base/text.h"
#include "kube/objects.h"
#include "manager/capacity/pod_projection.h"
#include "manager/profiles/profile_reader.h"
#include "model/names.h"
#include "model/node.h"
#include "operate/list_pages.h"

namespace tidemark::operate {
namespace {

// Of a node: the index of a workload, and of a pod among its members.
using PodsOfNode = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

struct PodsFound {
  std::vector<OnlineWorkload> workloads;  // as they came
  std::unordered_map<std::string, std::uint32_t> by_name;
  std::unordered_map<std::string, PodsOfNode> by_node;
};

Result<std::string> business_of(std::string_view item, kube::Interner& interner) {
  kube::PodFields fields;
  fields.resources = fields.statuses = false;
  fields.meta.labels = {model::kBusinessLabel};
  TM_TRY(const kube::Pod pod, kube::decode_pod(item, fields, interner));
  return std::string(pod.meta.labels.get(model::kBusinessLabel));
}

Result<void> add_pod(PodsFound& found, std::string_view item, kube::Interner& interner) {
  TM_TRY(const auto pod, manager::decode_pod_projection(item, interner));
  const bool over = pod.phase == model::PodPhase::kSucceeded || pod.phase == model::PodPhase::kFailed;
  if (over || !pod.online() || pod.workload.empty()) return {};
  const auto [at, added] =
      found.by_name.try_emplace(std::string(pod.workload.view()), static_cast<std::uint32_t>(found.workloads.size()));
  if (added) {
    OnlineWorkload& made = found.workloads.emplace_back();
    made.name = at->first;
    TM_TRY(made.business, business_of(item, interner));
  }
  OnlineWorkload& workload = found.workloads[at->second];
  if (!pod.node_name.empty()) {
    found.by_node[std::string(pod.node_name.view())].emplace_back(at->second, workload.members.size());
  }
  ++workload.pods;
  workload.request += pod.request;
  workload.members.push_back({pod.meta.name, pod.node_name, pod.request, std::nullopt});
  return {};
}

net::Task<Result<PodsFound>> list_online_pods(net::EventLoop& loop, kube::Client& client, base::Duration limit) {
  PodsFound found;
  kube::Interner interner;
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kPods, {}, limit, [&](std::string_view item) { return add_pod(found, item, interner); },
      [&] { found = {}; }));
  co_return found;
}

// The use of the node's pods, as its report has it.
void add_report(PodsFound& found, std::string_view node, const std::vector<model::PodUsage>& uses) {
  const auto on_node = found.by_node.find(std::string(node));
  if (on_node == found.by_node.end()) return;
  for (const auto& [of, at] : on_node->second) {
    OnlineWorkload& workload = found.workloads[of];
    OnlinePod& pod = workload.members[at];
    const model::PodId id(workload.ns(), pod.name.view());
    const auto use = std::ranges::find(uses, id, &model::PodUsage::id);
    if (use == uses.end() || pod.used) continue;
    pod.used = use->usage;
    ++workload.reported;
    workload.used += use->usage;
  }
}

// Answers why the reports could not be read; "" if they could.
net::Task<std::string> add_use(net::EventLoop& loop, kube::Client& client, base::Duration limit, PodsFound& found) {
  kube::Interner interner;
  const auto listed = co_await list_pages(
      loop, client, kube::kNodeMetrics, {}, limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto metric, kube::decode_node_metric(item, {}, interner));
        add_report(found, metric.meta.name.view(), metric.pods);
        return {};
      },
      [] {});
  co_return listed ? std::string() : listed.error().message;
}

void add_hours(OnlineWorkload& workload, const policy::waterline::UsageProfile& profile, base::WallTime now) {
  for (std::size_t hour = 0; hour < workload.hours.size(); ++hour) {
    workload.hours.at(hour) = policy::waterline::usage_at(profile, static_cast<std::int64_t>(hour), now);
  }
  workload.hours_seen = policy::waterline::hours_seen(profile, now);
}

}  // namespace

net::Task<Result<OnlineServices>> read_online(net::EventLoop& loop, kube::Client& client, std::string config_namespace,
                                              base::Duration limit) {
  OnlineServices out;
  TM_CO_TRY(PodsFound found, co_await list_online_pods(loop, client, limit));
  if (std::string why = co_await add_use(loop, client, limit, found); !why.empty()) {
    out.notes.push_back(base::cat("use is unknown: ", why));
  }
  const base::WallTime now = loop.clock().wall();
  const auto stored = co_await manager::read_profiles(client, std::move(config_namespace), "", now, limit);
  if (!stored) out.notes.push_back(base::cat("use by hour is unknown: ", stored.error().message));
  for (OnlineWorkload& workload : found.workloads) {
    const auto* profile = stored ? stored->book.find(workload.name) : nullptr;
    if (profile != nullptr) add_hours(workload, *profile, now);
    workload.members.shrink_to_fit();
  }
  std::ranges::sort(found.workloads, {}, &OnlineWorkload::name);
  out.workloads = std::move(found.workloads);
  co_return out;
}

}  // namespace tidemark::operate
