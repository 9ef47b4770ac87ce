// What of its pool's evictions each node is granted (policy/budget/grants.h), told in its NodeSLO; and YARN's operator
// where it may have to end work for more timely work, told in `tidemark-budgets`. Those are the memory: a new leader
// reads there what was granted before it.
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
#include "policy/budget/grants.h"
#include "policy/pools/pools.h"

namespace tidemark::manager {

struct GrantContext {
  net::EventLoop& loop;
  const kube::Informer<kube::Node>& nodes;
  base::Registry& metrics;
  std::function<const policy::Pool&(const kube::Node&)> pool_of;
  std::function<bool()> asked_for;  // there is a tidemark-config
  std::function<bool()> leading;
  std::function<bool()> synced;  // nodes, settings and NodeSLOs are there
  // Each NodeSLO that carries a grant.
  std::function<void(const std::function<void(const std::string& node, const policy::NodeGrant&)>&)> carried;
  std::function<const std::optional<policy::OperatorGrants>&()> of_operator;  // as `tidemark-budgets` has it
  std::function<void(const std::string& node)> look_at;
};

class NodeGrants {
 public:
  static constexpr base::Duration kStep = std::chrono::minutes(1);

  explicit NodeGrants(GrantContext context);

  void start();                 // until destroyed
  void look() { wake_.set(); }  // nodes, settings or leadership have changed

  // What this node is granted, if anything; nullopt: not known, or nobody asked for grants.
  std::optional<std::optional<policy::NodeGrant>> told(const kube::Node& node) const;
  // What YARN's operator is granted, by pool; nullopt: not known.
  std::optional<policy::OperatorGrants> of_operator() const;

 private:
  net::Task<void> run();
  void step();
  void learn();

  GrantContext context_;
  bool learned_ = false;  // since this process leads
  std::map<std::string, policy::GrantBook, std::less<>> pools_;
  std::set<std::string> shown_;
  net::Event wake_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
