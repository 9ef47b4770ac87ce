#include "operate/override_wait.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/metrics.h"
#include "base/text.h"
#include "kube/informer.h"
#include "kube/node_resource_topology.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/capacity/pod_projection.h"
#include "manager/settings/effective.h"
#include "manager/specs/node_slo.h"
#include "operate/cluster_now.h"
#include "operate/in_force.h"
#include "operate/surroundings.h"
#include "policy/sell/overcommit/writes.h"
#include "policy/settings/nodeslo/nodeslo.h"

namespace tidemark::operate {
namespace {

constexpr std::string_view kByNode = "node";
constexpr base::Duration kReadLimit =
    std::chrono::seconds(5);  // of an answer, so that the reason of a failure is shown soon
constexpr base::Duration kLookMin = std::chrono::milliseconds(100);

kube::InformerConfig watched(const kube::Resource& resource, bool may_be_absent = false) {
  kube::InformerConfig config;
  config.resource = resource;
  config.may_be_absent = may_be_absent;
  return config;
}

kube::InformerConfig bound_pods() {
  kube::InformerConfig config = watched(kube::kPods);
  config.field_selector = kBoundPods;
  return config;
}

class Follower {
 public:
  Follower(net::EventLoop& loop, kube::Client& client, const base::Log& log, base::Random random,
           OverrideOptions options)
      : loop_(loop),
        client_(client),
        options_(std::move(options)),
        nodes_({loop, client, client, log, metrics_, random.fork()}, watched(kube::kNodes),
               [this](std::string_view bytes) { return kube::decode_node(bytes, manager::node_fields(), interner_); }),
        reports_({loop, client, client, log, metrics_, random.fork()}, watched(kube::kNodeMetrics, true),
                 [this](std::string_view bytes) {
                   return kube::decode_node_metric(bytes, manager::metric_fields(), interner_);
                 }),
        topologies_({loop, client, client, log, metrics_, random.fork()}, watched(kube::kNodeResourceTopologies, true),
                    [this](std::string_view bytes) {
                      return kube::decode_node_resource_topology(bytes, manager::topology_fields(), interner_);
                    }),
        pods_({loop, client, client, log, metrics_, random.fork()}, bound_pods(),
              [this](std::string_view bytes) { return manager::decode_pod_projection(bytes, interner_); }),
        slos_({loop, client, client, log, metrics_, random.fork()}, watched(kube::kNodeSlos, true),
              [this](std::string_view bytes) { return manager::decode_node_slo_projection(bytes, interner_); }),
        scope_(loop) {
    pods_.add_index(std::string(kByNode), [](const manager::PodProjection& pod) {
      return std::vector<std::string>{std::string(pod.node_name)};
    });
    nodes_.subscribe([this](const kube::ObjectKey& key, const kube::Node*, const kube::Node* after) {
      if (after == nullptr) known_.erase(key.name);
      look_at(key.name);
    });
    const auto by_name = [this](const kube::ObjectKey& key, const auto*, const auto*) { look_at(key.name); };
    reports_.subscribe(by_name);
    topologies_.subscribe(by_name);
    slos_.subscribe(by_name);
    pods_.subscribe(
        [this](const kube::ObjectKey&, const manager::PodProjection* before, const manager::PodProjection* after) {
          for (const auto* pod : {before, after}) {
            if (pod != nullptr) look_at(std::string(pod->node_name));
          }
        });
    scope_.spawn(nodes_.run());
    scope_.spawn(reports_.run());
    scope_.spawn(topologies_.run());
    scope_.spawn(pods_.run());
    scope_.spawn(slos_.run());
  }

  // `left`: until the wait is over.
  net::Task<OverrideWait> look(base::Duration left) {
    OverrideWait out;
    out.trouble = co_await read_settings(std::min({kReadLimit, options_.settings.limit, left}));
    if (settings_ && out.trouble.empty()) out.trouble = not_listed();
    if (settings_ && synced()) {
      for (const auto& name : std::exchange(changed_, {})) decide(name);
      for (auto& [name, known] : known_) {
        if (known != Follows::kNot && known != Follows::kOtherWords) continue;
        known = follows(*nodes_.find({"", name}));  // time alone may have changed it
      }
      for (const auto& [name, known] : known_) {
        if (known == Follows::kNotOurs) continue;
        ++out.nodes;
        if (known == Follows::kNot) out.not_reached.push_back(name);
        if (known == Follows::kOtherWords) out.other_words.push_back(name);
      }
      for (const auto& [pool, guard] : guards_of(settings_->budgets)) {
        if (guard.stopped && (options_.pool.empty() || options_.pool == pool)) out.stopped.push_back(pool);
      }
      if (out.trouble.empty()) out.trouble = trouble_;
      out.reached = out.trouble.empty() && out.not_reached.empty() && out.other_words.empty();
    }
    co_return out;
  }

 private:
  enum class Follows { kNotOurs, kNot, kOtherWords, kYes };

  void look_at(std::string name) { changed_.insert(std::move(name)); }

  bool synced() const { return not_listed().empty(); }
  std::string not_listed() const {
    if (!nodes_.synced()) return "nodes are not listed yet";
    if (!reports_.synced()) return "nodemetrics are not listed yet";
    if (!topologies_.synced()) return "noderesourcetopologies are not listed yet";
    if (!pods_.synced()) return "pods are not listed yet";
    if (!slos_.synced()) return "nodeslos are not listed yet";
    return "";
  }

  // Five small objects, each look: what they were at first may be rolled out, or ordered otherwise, meanwhile.
  net::Task<std::string> read_settings(base::Duration limit) {
    if (loop_.clock().monotonic() < next_read_) co_return trouble_;
    auto fresh = std::make_unique<ClusterNow>();
    const auto read = co_await operate::read_settings(
        client_, {options_.settings.config_namespace, options_.settings.config_name, limit}, *fresh);
    if (!read) {
      pause_ = std::min(std::max(pause_ * 2, kFollowLook), kFollowBackoffMax);
      next_read_ = loop_.clock().monotonic() + pause_;
      trouble_ = read.error().message;
      co_return trouble_;
    }
    pause_ = base::Duration(0);
    trouble_.clear();
    const bool same = settings_ && same_texts(settings_->maps, fresh->maps) &&
                      settings_->overrides == fresh->overrides && settings_->desired == fresh->desired &&
                      settings_->budgets.newer == fresh->budgets.newer &&
                      guards_of(settings_->budgets) == guards_of(fresh->budgets);
    if (!same) {
      in_force_.reset();
      settings_ = std::move(fresh);
      in_force_.emplace(settings_->maps, options_.settings.zones);
      nodes_.for_each([this](const kube::ObjectKey& key, const kube::Node&) { look_at(key.name); });
    }
    co_return "";
  }

  // What was counted besides is new at each look, and changes no offer.
  static std::map<std::string, policy::sell::PoolGuard> guards_of(const manager::StoredBudgets& budgets) {
    std::map<std::string, policy::sell::PoolGuard> guards;
    if (!budgets.state) return guards;
    for (const auto& each : budgets.state->pools)
      guards[each.pool] = policy::evict::guard_of(*budgets.state, each.pool);
    return guards;
  }

  static bool same_texts(const manager::SettingsMaps& a, const manager::SettingsMaps& b) {
    const auto same = [](const std::optional<kube::ConfigMap>& x, const std::optional<kube::ConfigMap>& y) {
      return x.has_value() == y.has_value() && (!x || x->meta.resource_version == y->meta.resource_version);
    };
    return same(a.slo, b.slo) && same(a.tidemark, b.tidemark) && same(a.revisions, b.revisions);
  }

  void decide(const std::string& name) {
    const kube::Node* node = nodes_.find({"", name});
    if (node != nullptr) known_[name] = follows(*node);
  }

  Follows follows(const kube::Node& node) {
    const std::string name(node.meta.name);
    const auto in_force = in_force_->on(node);
    if (!in_force) {
      trouble_ = in_force.error().message;
      return Follows::kNot;
    }
    const manager::Revision& revision = (*in_force)->revision;
    const model::Pool& pool = policy::waterline::pool_of(revision.tidemark, node.meta.labels);
    if (!options_.pool.empty() && pool.name != options_.pool) return Follows::kNotOurs;
    const auto pods = pods_.by_index(kByNode, name);
    AboutNode around{pods, reports_.find({"", name}), topologies_.find({"", name})};
    // An offer that moves in steps has followed when it is where they end.
    const bool in_steps = pool.profile == model::Profile::kTidemark;
    if (in_steps) around.state = as_a_manager_remembers(node, around.metric, loop_.clock());
    const auto decision =
        decided(*settings_, node, in_steps ? at_its_end(revision) : revision, {}, loop_.clock(), around);
    if (!decision.writes()) return Follows::kNotOurs;  // observed, or left to another writer
    const auto* slo = slos_.find({"", name});
    const auto told =
        manager::decide_node_slo(&node, slo, revision, loop_.clock().wall(), settings_->overrides_known());
    const bool all_told = told.plan.action == manager::NodeObjectPlan::Action::kNone;
    const bool lines_told =
        all_told || (slo != nullptr && slo->fingerprint.parts == policy::settings::slo_fingerprint(told.spec).parts);
    const bool offers = decision.plan().action == policy::sell::PlanAction::kHold ||
                        !policy::sell::needs_write(decision.snapshot.published, decision.plan().publish,
                                                   base::Duration(0), decision.strategy().values)
                             .write;
    if (!lines_told || !offers) return Follows::kNot;
    return all_told ? Follows::kYes : Follows::kOtherWords;
  }

  const manager::Revision& at_its_end(const manager::Revision& revision) {
    if (!at_its_end_ || at_its_end_->hash != revision.hash) at_its_end_ = without_slew(revision);
    return *at_its_end_;
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  OverrideOptions options_;
  base::Registry metrics_;
  kube::Interner interner_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<kube::NodeMetric> reports_;
  kube::Informer<kube::NodeResourceTopology> topologies_;
  kube::Informer<manager::PodProjection> pods_;
  kube::Informer<manager::NodeSloProjection> slos_;
  std::unique_ptr<ClusterNow> settings_;         // without its objects
  std::optional<InForce> in_force_;              // refers to them
  std::optional<manager::Revision> at_its_end_;  // the last settings asked for, with growth at once
  base::MonotonicTime next_read_;
  base::Duration pause_{0};
  std::string trouble_;
  std::set<std::string> changed_;
  std::map<std::string, Follows> known_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace

net::Task<OverrideWait> wait_for_override(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                          base::Random random, OverrideOptions options, base::Duration limit,
                                          std::function<void(const OverrideWait&)> on_progress) {
  const base::MonotonicTime deadline = loop.clock().monotonic() + limit;
  Follower follower(loop, client, log, random, std::move(options));
  std::optional<OverrideWait> last;
  while (true) {
    OverrideWait seen = co_await follower.look(std::max(deadline - loop.clock().monotonic(), kLookMin));
    if (on_progress && (!last || *last != seen)) on_progress(seen);
    last = std::move(seen);
    const base::Duration left = deadline - loop.clock().monotonic();
    if (last->reached || left <= base::Duration(0)) co_return *last;
    co_await loop.sleep(std::min(kFollowLook, left));
  }
}

}  // namespace tidemark::operate
