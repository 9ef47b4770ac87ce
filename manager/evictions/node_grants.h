// The part of its pool's eviction budget that each node is granted (policy/evict/budget/grants.h), published in its
// NodeSLO;
// and the grant of the YARN operator, published in `tidemark-budgets`, for reclaims in favor of more timely work.
// These objects are the memory: a new leader reads earlier grants from them.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/metrics.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "policy/evict/budget/grants.h"
#include "policy/waterline/pools.h"

namespace tidemark::manager {

struct GrantContext {
  net::EventLoop& loop;
  const kube::Informer<kube::Node>& nodes;
  base::Registry& metrics;
  std::function<const model::Pool&(const kube::Node&)> pool_of;
  std::function<bool()> asked_for;  // there is a tidemark-config
  std::function<bool()> leading;
  std::function<bool()> synced;  // nodes, settings and NodeSLOs are there
  // Each NodeSLO that carries a grant.
  std::function<void(const std::function<void(const std::string& node, const model::NodeGrant&)>&)> carried;
  std::function<const std::optional<policy::evict::OperatorGrants>&()> of_operator;  // as `tidemark-budgets` has it
  std::function<void(const std::string& node)> look_at;
};

class NodeGrants {
 public:
  static constexpr base::Duration kStep = std::chrono::minutes(1);

  explicit NodeGrants(GrantContext context);

  void start();                 // until destroyed
  void look() { wake_.set(); }  // nodes, settings or leadership have changed

  // The grant of this node; nullopt: unknown, or grants are not requested.
  std::optional<std::optional<model::NodeGrant>> told(const kube::Node& node) const;
  // What YARN's operator is granted, by pool; nullopt: not known.
  std::optional<policy::evict::OperatorGrants> of_operator() const;

 private:
  net::Task<void> run();
  void step();
  void learn();

  GrantContext context_;
  bool learned_ = false;  // since this process leads
  std::map<std::string, policy::evict::GrantBook, std::less<>> pools_;
  std::set<std::string> shown_;
  net::Event wake_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
