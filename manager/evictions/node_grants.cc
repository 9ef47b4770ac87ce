#include "manager/evictions/node_grants.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tidemark::manager {
namespace {

// Changes that come together are looked at together.
constexpr base::Duration kGather = std::chrono::seconds(2);

}  // namespace

NodeGrants::NodeGrants(GrantContext context)
    : context_(std::move(context)), wake_(context_.loop), scope_(context_.loop) {}

void NodeGrants::start() {
  scope_.spawn(run());
}

net::Task<void> NodeGrants::run() {
  while (true) {
    wake_.clear();
    if (context_.leading() && context_.synced()) {
      if (!learned_) learn();
      step();
    } else if (!context_.leading()) {
      learned_ = false;
    }
    co_await wake_.wait_for(kStep);
    co_await context_.loop.sleep(kGather);
  }
}

void NodeGrants::learn() {
  learned_ = true;
  pools_.clear();
  context_.carried([this](const std::string& name, const model::NodeGrant& grant) {
    const kube::Node* node = context_.nodes.find({"", name});
    if (node != nullptr) pools_[context_.pool_of(*node).name].insert_or_assign(name, grant);
    context_.look_at(name);  // earlier settings may have published a grant for it
  });
  for (const auto& [pool, grant] : context_.of_operator().value_or(policy::evict::OperatorGrants())) {
    pools_[pool].insert_or_assign(std::string(policy::evict::kOperatorHolder), grant);
  }
}

void NodeGrants::step() {
  struct Members {
    std::optional<std::int64_t> limit;
    std::vector<std::string> nodes;
    bool yarn_preempts = false;  // to more timely work, by its operator
  };
  std::map<std::string, Members> members;
  for (const auto& [pool, book] : pools_) members[pool];
  if (context_.asked_for()) {
    context_.nodes.for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
      const model::Pool& pool = context_.pool_of(node);
      Members& of = members[pool.name];
      // During a rollout, nodes of the pool may have different limits. All use the smallest: a cut applies from its
      // first node on, a raise with its last. A node whose settings grant nothing uses no share.
      if (!pool.budget.grants || !pool.budget.pool_per_hour) return;
      of.limit = std::min(of.limit.value_or(*pool.budget.pool_per_hour), *pool.budget.pool_per_hour);
      of.nodes.push_back(key.name);
      of.yarn_preempts = of.yarn_preempts || pool.ledger.class_aware;
    });
  }
  const base::WallTime now = context_.loop.clock().wall();
  for (const auto& [pool, of] : members) {
    auto done = policy::evict::grant(pools_[pool], of.nodes, of.limit, now, of.yarn_preempts);
    pools_[pool] = std::move(done.book);
    for (const auto& change : done.changes) {
      const bool of_node = change.node != policy::evict::kOperatorHolder;
      if (of_node && change.reason != model::Reason::kBudgetNoRoom) context_.look_at(change.node);
    }
    const bool shows = of.limit.has_value() || !pools_[pool].empty();
    if (shows || shown_.contains(pool)) {
      context_.metrics
          .gauge("tidemark_pool_evictions_granted",
                 "Evictions an hour that the nodes of a pool, and YARN's operator there, may still go by.",
                 {{"pool", pool}})
          .set(static_cast<double>(policy::evict::held(pools_[pool], now)));
    }
    if (shows) shown_.insert(pool);
  }
}

std::optional<std::optional<model::NodeGrant>> NodeGrants::told(const kube::Node& node) const {
  using Granted = std::optional<model::NodeGrant>;
  if (!learned_) return std::nullopt;
  // Without tidemark-config there are no grants, and leftovers of earlier settings are removed.
  if (!context_.asked_for()) return Granted();
  const model::Pool& pool = context_.pool_of(node);
  if (!pool.budget.grants || !pool.budget.pool_per_hour) return Granted();
  const auto book = pools_.find(pool.name);
  if (book == pools_.end()) return std::nullopt;  // not looked at yet
  const auto grant = book->second.find(node.meta.name.view());
  return grant == book->second.end() ? Granted() : Granted(grant->second);
}

std::optional<policy::evict::OperatorGrants> NodeGrants::of_operator() const {
  if (!learned_) return std::nullopt;
  policy::evict::OperatorGrants grants;
  for (const auto& [pool, book] : pools_) {
    const auto grant = book.find(policy::evict::kOperatorHolder);
    if (grant != book.end()) grants.emplace(pool, grant->second);
  }
  return grants;
}

}  // namespace tidemark::manager
