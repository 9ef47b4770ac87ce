// Idle batch capacity and quotas at Kubernetes, by a watch of nodes, of pods that request batch resources, and of
// ResourceQuotas.
//
// A node counts if it is ready and not cordoned. A pod counts from its binding until it has ended.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "base/result.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/intern.h"
#include "net/loop.h"
#include "policy/route/signals.h"

namespace tidemark::gateway {

// Projections; beside the heap bytes of their texts about 200 bytes each.
struct BatchNode {
  struct Meta {
    std::string ns;
    std::string name;
    std::string resource_version;
  } meta;
  std::string owner{};  // label tidemark.io/business
  model::Resources allocatable{};
  std::size_t bytes() const;
};
struct BatchPod {
  BatchNode::Meta meta;
  kube::Text node;        // "": it waits for one
  kube::Text run{};       // label tidemark.io/run
  kube::Text business{};  // label tidemark.io/business
  model::Resources batch{};
  std::size_t bytes() const;
};
struct NamespaceQuota {
  BatchNode::Meta meta;
  std::optional<policy::route::QuotaRoom> room;  // nullopt: one of its quantities cannot be read
  std::size_t bytes() const;
};

Result<BatchNode> decode_batch_node(std::string_view json, kube::Interner& interner);
Result<BatchPod> decode_batch_pod(std::string_view json, kube::Interner& interner);
// A quota with scopes limits nothing here: the API server alone knows the pods that it counts.
Result<NamespaceQuota> decode_namespace_quota(std::string_view json);

class IdleCapacity {
 public:
  // `store` names the store of the gateway: its runs claim what their pods do not request yet.
  IdleCapacity(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Registry& metrics,
               base::Random random, std::string store);
  void start();  // watches until destroyed
  // Called after changes, at most once a second.
  void follow(std::function<void()> on_change) { on_change_ = std::move(on_change); }

  // nullopt: not read yet, or the API server has not answered for minutes. The claims are those of pods that wait for a
  // node and belong to no run of this store.
  std::optional<policy::route::BatchCapacity> capacity() const;
  // nullopt also if a quantity of a quota of the namespace cannot be read: an unknown quota decides nothing.
  std::optional<policy::route::QuotaRoom> quota(std::string_view ns) const;
  // What the pods of a run of this store request.
  policy::route::RunNeed requested(std::int64_t run) const;

 private:
  void on_pod(const BatchPod* before, const BatchPod* after);
  void change();
  const std::vector<policy::route::OwnedCapacity>& owned() const;
  bool fresh(const kube::InformerCore& watch) const;

  net::EventLoop& loop_;
  kube::Interner interner_;
  kube::Informer<BatchNode> nodes_;
  kube::Informer<BatchPod> pods_;
  kube::Informer<NamespaceQuota> quotas_;
  const std::string store_;
  using Requests = std::map<std::string, policy::route::RunNeed, std::less<>>;
  Requests by_node_, by_run_;
  Requests waiting_;  // by business: of pods without a node that belong to no run of this store
  mutable std::optional<std::vector<policy::route::OwnedCapacity>> owned_;  // nullopt: to be summed up again
  std::function<void()> on_change_;
  net::Timer timer_;
  bool changes_ = false;  // on_change_ will be called
  net::Scope scope_;
};

}  // namespace tidemark::gateway
