#include "gateway/idle_capacity.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "gateway/driver_objects.h"
#include "kube/convert.h"
#include "kube/objects.h"
#include "model/names.h"
#include "model/quantity.h"

namespace tidemark::gateway {
namespace {

using namespace policy::route;
using model::Resources;

constexpr kube::Resource kQuotas{"", "v1", "resourcequotas", "ResourceQuota", true};
constexpr std::size_t kInternerBytes = std::size_t{4} * 1024 * 1024;
constexpr std::size_t kCapacityPodBytes = std::size_t{64} * 1024 * 1024;
constexpr std::size_t kCapacityNodeBytes = std::size_t{16} * 1024 * 1024;
constexpr base::Duration kChangeInterval = std::chrono::seconds(1);
// Beyond this age, the signals are unknown.
constexpr base::Duration kCapacityContactMax = std::chrono::minutes(3);

kube::InformerConfig capacity_config(kube::Resource resource, std::string name, std::size_t bytes_max) {
  kube::InformerConfig config;
  config.resource = resource;
  config.name = std::move(name);
  config.bytes_max = bytes_max;
  return config;
}

std::size_t meta_bytes(const BatchNode::Meta& meta) {
  return kube::string_bytes(meta.ns) + kube::string_bytes(meta.name) + kube::string_bytes(meta.resource_version);
}

BatchNode::Meta meta_of(const kube::ObjectMeta& meta) {
  return {std::string(meta.ns.view()), std::string(meta.name.view()), meta.resource_version};
}

// hard − used; nullopt: the quota does not limit it.
Result<std::optional<std::int64_t>> left_of(const Json& quota, std::string_view resource) {
  const Json* hard = quota.at("status", "hard", resource);
  const Json* used = quota.at("status", "used", resource);
  if (hard == nullptr || used == nullptr) return std::nullopt;
  TM_TRY(const auto most, model::Quantity::from_json(*hard));
  TM_TRY(const auto taken, model::Quantity::from_json(*used));
  return std::max<std::int64_t>(most.scaled_value_saturated(0) - taken.scaled_value_saturated(0), 0);
}

template <class T>
std::optional<T> tighter(std::optional<T> a, std::optional<T> b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

template <class Unit>
std::optional<model::Amount<Unit>> amount_of(std::optional<std::int64_t> value) {
  return value ? std::optional(model::Amount<Unit>{*value}) : std::nullopt;
}

QuotaRoom tighter(const QuotaRoom& a, const QuotaRoom& b) {
  return {tighter(a.batch_cpu, b.batch_cpu), tighter(a.batch_memory, b.batch_memory), tighter(a.pods, b.pods)};
}

Result<QuotaRoom> room_in(const Json& quota) {
  TM_TRY(const auto cpu, left_of(quota, base::cat("requests.", model::kBatchCpu)));
  TM_TRY(const auto memory, left_of(quota, base::cat("requests.", model::kBatchMemory)));
  TM_TRY(const auto pods, left_of(quota, "pods"));
  TM_TRY(const auto counted, left_of(quota, "count/pods"));
  return QuotaRoom{amount_of<model::CpuMilliUnit>(cpu), amount_of<model::MemoryBytesUnit>(memory),
                   tighter(pods, counted)};
}

}  // namespace

std::size_t BatchNode::bytes() const {
  return sizeof(*this) + meta_bytes(meta) + kube::string_bytes(owner);
}
std::size_t BatchPod::bytes() const {
  return sizeof(*this) + meta_bytes(meta) + node.bytes() + run.bytes() + business.bytes();
}
std::size_t NamespaceQuota::bytes() const {
  return sizeof(*this) + meta_bytes(meta);
}

Result<BatchNode> decode_batch_node(std::string_view json, kube::Interner& interner) {
  kube::NodeFields fields;
  fields.meta.labels = {model::kBusinessLabel};
  fields.info = false;
  TM_TRY(const kube::Node node, kube::decode_node(json, fields, interner));
  BatchNode out{.meta = meta_of(node.meta), .owner = std::string(node.meta.labels.get(model::kBusinessLabel))};
  if (node.unschedulable || node.ready() != kube::Truth::kTrue) return out;
  out.allocatable = {{node.allocatable.get(model::kBatchCpu)}, {node.allocatable.get(model::kBatchMemory)}};
  return out;
}

Result<BatchPod> decode_batch_pod(std::string_view json, kube::Interner& interner) {
  kube::PodFields fields;
  fields.meta.labels = {kRunLabel, model::kBusinessLabel};
  fields.statuses = false;
  TM_TRY(const kube::Pod pod, kube::decode_pod(json, fields, interner));
  BatchPod out{.meta = meta_of(pod.meta), .node = pod.node_name};
  if (const kube::Text* run = pod.meta.labels.find(kRunLabel)) out.run = *run;
  if (const kube::Text* business = pod.meta.labels.find(model::kBusinessLabel)) out.business = *business;
  if (!pod.terminal()) out.batch = kube::batch_request(pod);
  return out;
}

Result<NamespaceQuota> decode_namespace_quota(std::string_view text) {
  TM_TRY(const Json json, Json::parse(text));
  NamespaceQuota out{
      .meta = {std::string(json.text_at("metadata", "namespace")), std::string(json.text_at("metadata", "name")),
               std::string(json.text_at("metadata", "resourceVersion"))},
      .room = QuotaRoom()};
  const Json* scopes = json.at("spec", "scopes");
  if (json.at("spec", "scopeSelector") != nullptr || (scopes != nullptr && !scopes->is_null())) return out;
  const auto room = room_in(json);
  out.room = room ? std::optional(*room) : std::nullopt;
  return out;
}

IdleCapacity::IdleCapacity(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics,
                           base::Random random, std::string store)
    : loop_(loop),
      interner_(kInternerBytes),
      nodes_({loop, client, client, log.named("capacity"), metrics, random.fork()},
             capacity_config(kube::kNodes, "capacity-nodes", kCapacityNodeBytes),
             [this](std::string_view json) { return decode_batch_node(json, interner_); }),
      pods_({loop, client, client, log.named("capacity"), metrics, random.fork()},
            capacity_config(kube::kPods, "capacity-pods", kCapacityPodBytes),
            [this](std::string_view json) { return decode_batch_pod(json, interner_); }),
      quotas_({loop, client, client, log.named("capacity"), metrics, random.fork()},
              capacity_config(kQuotas, "capacity-quotas", kCapacityNodeBytes), decode_namespace_quota),
      store_(std::move(store)),
      scope_(loop) {
  pods_.hold_only([](const BatchPod& pod) { return pod.batch != Resources(); });
  pods_.subscribe(
      [this](const kube::ObjectKey&, const BatchPod* before, const BatchPod* after) { on_pod(before, after); });
  nodes_.subscribe([this](const kube::ObjectKey&, const BatchNode* before, const BatchNode* after) {
    if (before == nullptr || after == nullptr || before->allocatable != after->allocatable ||
        before->owner != after->owner) {
      change();
    }
  });
  quotas_.subscribe([this](const kube::ObjectKey&, const NamespaceQuota*, const NamespaceQuota*) { change(); });
}

void IdleCapacity::start() {
  scope_.spawn(nodes_.run());
  scope_.spawn(pods_.run());
  scope_.spawn(quotas_.run());
}

void IdleCapacity::on_pod(const BatchPod* before, const BatchPod* after) {
  const auto count = [](Requests& requests, std::string_view key, const BatchPod& pod, bool adds) {
    const auto at = requests.try_emplace(std::string(key)).first;
    RunNeed& sum = at->second;
    sum.batch = adds ? sum.batch + pod.batch : sum.batch - pod.batch;
    sum.pods += adds ? 1 : -1;
    if (sum.pods == 0) requests.erase(at);
  };
  const auto add = [&](const BatchPod& pod, bool adds) {
    const bool ours = pod.run.view().starts_with(base::cat(store_, "-"));
    if (ours) count(by_run_, pod.run, pod, adds);
    if (!pod.node.empty()) count(by_node_, pod.node, pod, adds);
    if (pod.node.empty() && !ours) count(waiting_, pod.business, pod, adds);
  };
  if (before != nullptr && after != nullptr && before->batch == after->batch && before->node == after->node) return;
  if (before != nullptr) add(*before, false);
  if (after != nullptr) add(*after, true);
  change();
}

void IdleCapacity::change() {
  owned_.reset();
  if (changes_ || !on_change_) return;
  changes_ = true;
  timer_ = loop_.after(kChangeInterval, [this] {
    changes_ = false;
    on_change_();
  });
}

bool IdleCapacity::fresh(const kube::InformerCore& watch) const {
  return watch.synced() && !watch.over_budget() && !watch.unheard().lasts &&
         loop_.clock().monotonic() - watch.last_contact() < kCapacityContactMax;
}

const std::vector<OwnedCapacity>& IdleCapacity::owned() const {
  if (owned_) return *owned_;
  std::map<std::string_view, OwnedCapacity> by_owner;
  nodes_.for_each([&](const kube::ObjectKey& key, const BatchNode& node) {
    OwnedCapacity& sum = by_owner[node.owner];
    const auto requested = by_node_.find(key.name);
    const Resources idle = requested == by_node_.end() ? node.allocatable : node.allocatable - requested->second.batch;
    sum.total += node.allocatable;
    sum.idle += max(idle, Resources());
  });
  owned_.emplace();
  for (auto& [owner, sum] : by_owner) {
    sum.owner = owner;
    owned_->push_back(std::move(sum));
  }
  return *owned_;
}

std::optional<BatchCapacity> IdleCapacity::capacity() const {
  if (!fresh(nodes_.core()) || !fresh(pods_.core())) return std::nullopt;
  BatchCapacity out{.nodes = owned(), .claims = {}};
  for (const auto& [business, sum] : waiting_) out.claims.push_back({business, sum.batch});
  return out;
}

std::optional<QuotaRoom> IdleCapacity::quota(std::string_view ns) const {
  if (!fresh(quotas_.core())) return std::nullopt;
  std::optional<QuotaRoom> out = QuotaRoom();
  quotas_.for_each([&](const kube::ObjectKey& key, const NamespaceQuota& quota) {
    if (key.ns == ns) out = out && quota.room ? std::optional(tighter(*out, *quota.room)) : std::nullopt;
  });
  return out;
}

RunNeed IdleCapacity::requested(std::int64_t run) const {
  const auto at = by_run_.find(base::cat(store_, "-", run));
  return at == by_run_.end() ? RunNeed{} : at->second;
}

}  // namespace tidemark::gateway
