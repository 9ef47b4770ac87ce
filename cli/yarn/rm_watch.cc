#include "cli/yarn/rm_watch.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "kube/decode.h"
#include "model/names.h"
#include "yarn_operator/objects.h"

namespace tidemark::cli {
namespace {

constexpr base::Duration kPodsAgain = std::chrono::seconds(30);  // NodeManagers' pods seldom move
constexpr std::int64_t kMiB = 1 << 20;

std::string internal_ip(const Json& node) {
  const Json* addresses = node.at("status", "addresses");
  if (addresses == nullptr || !addresses->is_array()) return "";
  for (const Json& each : addresses->as_array()) {
    if (each.text_at("type") == "InternalIP") return std::string(each.text_at("address"));
  }
  return "";
}

AuditAmounts batch_of(const hadoop::Resource& resource, std::int64_t millicores_per_vcore) {
  return {resource.vcores * millicores_per_vcore, resource.memory_mib * kMiB};
}

}  // namespace

RmWatch::RmWatch(net::EventLoop& loop, kube::Client& client, RmWatchOptions options)
    : loop_(loop), client_(client), options_(std::move(options)) {
  base::Random random(options_.seed);
  for (const auto& each : options_.clusters) {
    auto manager = std::make_unique<hadoop::ResourceManager>(loop, options_.workers, each.managers, random.fork());
    clusters_.push_back({each.id, std::move(manager), {}});
  }
}

void RmWatch::put(const Json& node) {
  const auto annotation = [&](std::string_view key) {
    const Json* text = node.at("metadata", "annotations", key);
    return text != nullptr && text->is_string() ? text->as_string() : std::string();
  };
  const Json* host = node.at("metadata", "labels", "kubernetes.io/hostname");
  yarn_operator::NodePlace place;
  place.name = node.text_at("metadata", "name");
  place.host_name = host != nullptr && host->is_string() ? host->as_string() : "";
  place.internal_ip = internal_ip(node);
  place.claim = {annotation(model::kYarnNodeIdAnnotation), annotation(model::kYarnClusterIdAnnotation)};
  const std::string name = place.name;
  places_.insert_or_assign(name, std::move(place));
}

net::Task<void> RmWatch::follow(std::function<void(const Result<void>&)> looked) {
  while (true) {
    const auto done = co_await look();
    followed_ = done.has_value();
    looked(done);
    co_await loop_.sleep(options_.poll);
  }
}

net::Task<Result<void>> RmWatch::look() {
  yarn_operator::MapInput input;
  for (Cluster& cluster : clusters_) {
    auto answer = co_await cluster.manager->nodes({}, options_.limit);
    if (!answer) co_return std::unexpected(std::move(answer).error().within(base::cat("YARN cluster ", cluster.id)));
    cluster.reports.clear();
    auto& known = input.known[cluster.id];
    for (auto& report : answer->nodes) {
      if (!hadoop::is_active(report.state)) continue;  // it hands out nothing
      known.push_back(report.id);
      cluster.reports.insert_or_assign(report.id, std::move(report));
    }
  }
  if (!pods_at_ || loop_.clock().monotonic() - *pods_at_ >= kPodsAgain) TM_CO_TRY_VOID(co_await look_for_pods());
  input.pods = pods_;
  for (const auto& [name, place] : places_) {
    input.nodes.push_back(place);
    const auto last = map_.last.find(name);
    if (last != map_.last.end()) input.nodes.back().last = last->second;
  }
  map_ = yarn_operator::map_nodes(input);
  co_return Result<void>();
}

net::Task<Result<void>> RmWatch::look_for_pods() {
  kube::Interner interner;
  std::vector<yarn_operator::NmPod> pods;
  kube::ListOptions list;
  list.label_selector = yarn_operator::nm_pod_selector();
  list.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  auto done = co_await client_.list(
      kube::kPods, std::move(list),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto pod, yarn_operator::decode_nm_pod_row(item, interner));
          pods.push_back(yarn_operator::nm_pod_of(pod));
          return {};
        }));
        return {};
      },
      [&] { pods.clear(); }, options_.limit);
  if (!done) co_return std::unexpected(std::move(done).error().within("listing NodeManagers' pods"));
  std::ranges::sort(pods, {}, &yarn_operator::NmPod::name);
  pods_ = std::move(pods);
  pods_at_ = loop_.clock().monotonic();
  co_return Result<void>();
}

const hadoop::NodeReport* RmWatch::report_of(const yarn_operator::NmName& name) const {
  for (const Cluster& cluster : clusters_) {
    if (cluster.id != name.cluster) continue;
    const auto report = cluster.reports.find(name.id);
    return report == cluster.reports.end() ? nullptr : &report->second;
  }
  return nullptr;
}

AuditRm RmWatch::as_told(const hadoop::NodeReport& report) const {
  // What is unhealthy or being decommissioned hands out nothing, whatever its total.
  const bool hands_out = report.state == hadoop::NodeState::kRunning;
  return {hands_out ? batch_of(report.capability, options_.millicores_per_vcore) : AuditAmounts{},
          batch_of(report.used, options_.millicores_per_vcore)};
}

std::optional<AuditRm> RmWatch::of(const std::string& node) const {
  const auto mapped = map_.nm_of.find(node);
  const auto last = map_.last.find(node);
  const yarn_operator::NmName* name = nullptr;
  if (mapped != map_.nm_of.end()) {
    name = &mapped->second;
  } else if (map_.wrong.contains(node) && last != map_.last.end()) {
    name = &last->second;
  }
  const hadoop::NodeReport* report = name == nullptr ? nullptr : report_of(*name);
  return report == nullptr ? std::nullopt : std::optional(as_told(*report));
}

std::map<std::string, AuditRm> RmWatch::without_node() const {
  std::map<std::string, AuditRm> found;
  for (const yarn_operator::NmName& name : map_.without_node) {
    if (const auto* report = report_of(name)) found.emplace(name.text(), as_told(*report));
  }
  return found;
}

}  // namespace tidemark::cli
