#include "operate/online.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/text.h"
#include "kube/objects.h"
#include "manager/capacity/pod_projection.h"
#include "manager/profiles/profile_reader.h"
#include "model/names.h"
#include "model/node.h"
#include "operate/list_pages.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::operate {
namespace {

struct Pod {
  std::string workload;
  OnlinePod pod;
};
using Pods = std::map<model::PodId, Pod>;

struct PodsFound {
  Pods pods;
  std::map<std::string, std::string> business;  // of workloads
};

Result<std::string> business_of(std::string_view item, kube::Interner& interner) {
  kube::PodFields fields;
  fields.resources = fields.statuses = false;
  fields.meta.labels = {model::kBusinessLabel};
  TM_TRY(const kube::Pod pod, kube::decode_pod(item, fields, interner));
  return std::string(pod.meta.labels.get(model::kBusinessLabel));
}

net::Task<Result<PodsFound>> list_online_pods(net::EventLoop& loop, kube::Client& client,
                                              const OnlineQuestion& question) {
  PodsFound found;
  kube::Interner interner;
  kube::ListOptions list;
  const policy::waterline::Workload workload = policy::waterline::parse_workload(question.workload);
  list.ns = workload.ns;
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kPods, std::move(list), question.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto pod, manager::decode_pod_projection(item, interner));
        const bool over = pod.phase == model::PodPhase::kSucceeded || pod.phase == model::PodPhase::kFailed;
        if (over || !pod.online() || pod.workload.empty()) return {};
        std::string name(pod.workload.view());
        if (!question.workload.empty() && name != question.workload) return {};
        if (!found.business.contains(name)) {
          TM_TRY(found.business[name], business_of(item, interner));
        }
        found.pods[pod.id] = {std::move(name),
                              {std::string(pod.meta.ns.view()), std::string(pod.meta.name.view()),
                               std::string(pod.node_name.view()), pod.request, std::nullopt}};
        return {};
      },
      [&] { found = {}; }));
  co_return found;
}

// Adds what the reports say of the pods. Answers why they could not be read; "" if they could.
net::Task<std::string> add_use(net::EventLoop& loop, kube::Client& client, const OnlineQuestion& question, Pods& pods) {
  kube::Interner interner;
  const auto listed = co_await list_pages(
      loop, client, kube::kNodeMetrics, {}, question.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const auto metric, kube::decode_node_metric(item, {}, interner));
        for (const model::PodUsage& each : metric.pods) {
          const auto at = pods.find(each.id);
          if (at != pods.end()) at->second.pod.used = each.usage;
        }
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

net::Task<Result<OnlineServices>> read_online(net::EventLoop& loop, kube::Client& client, OnlineQuestion question) {
  OnlineServices out;
  TM_CO_TRY(PodsFound found, co_await list_online_pods(loop, client, question));
  if (std::string why = co_await add_use(loop, client, question, found.pods); !why.empty()) {
    out.notes.push_back(base::cat("use is unknown: ", why));
  }
  std::map<std::string, OnlineWorkload> workloads;
  for (auto& [id, each] : found.pods) {
    OnlineWorkload& workload = workloads[each.workload];
    ++workload.pods;
    workload.request += each.pod.request;
    if (each.pod.used) {
      ++workload.reported;
      workload.used += *each.pod.used;
    }
    if (!question.workload.empty()) workload.members.push_back(std::move(each.pod));
  }
  const base::WallTime now = loop.clock().wall();
  const auto stored =
      co_await manager::read_profiles(client, question.config_namespace, question.workload, now, question.limit);
  if (!stored) out.notes.push_back(base::cat("use by hour is unknown: ", stored.error().message));
  for (auto& [name, workload] : workloads) {
    workload.name = name;
    workload.business = found.business[name];
    const auto* profile = stored ? stored->book.find(name) : nullptr;
    if (profile != nullptr) add_hours(workload, *profile, now);
    std::ranges::sort(workload.members, {}, &OnlinePod::name);
    out.workloads.push_back(std::move(workload));
  }
  co_return out;
}

}  // namespace tidemark::operate
