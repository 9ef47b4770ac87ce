#include "yarn_operator/yarn_operator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/informer.h"
#include "kube/recorder.h"
#include "model/annotations.h"
#include "model/names.h"
#include "net/admin.h"
#include "yarn_operator/cluster_link.h"
#include "yarn_operator/node_map.h"
#include "yarn_operator/objects.h"

namespace tidemark::yarn_operator {
namespace {

using model::Reason;

constexpr std::string_view kPodsByNode = "node";
constexpr base::Duration kGather = std::chrono::milliseconds(50);  // changes that come together are told together
constexpr base::Duration kLookAgain = std::chrono::seconds(1);     // after an update: has the scheduler taken it?
constexpr base::Duration kPatchLimit = std::chrono::seconds(4);    // as kTellLimit of cluster_link.cc
constexpr base::Duration kDrainLimit = std::chrono::seconds(10);

// What a NodeManager's containers were seen to hold last.
struct Held {
  model::Resources batch;
  base::MonotonicTime seen;
};

class RunningOperator final : public YarnOperator {
 public:
  RunningOperator(net::EventLoop& loop, Rim rim, std::vector<YarnCluster> clusters, base::Log log,
                  base::Registry& metrics, base::Random random, OperatorOptions options)
      : loop_(loop),
        client_(rim.client),
        log_(std::move(log)),
        metrics_(metrics),
        options_(std::move(options)),
        interner_(metrics, "yarn_operator"),
        nodes_(loop, client_, client_, log_, metrics, random.fork(), informer(kube::kNodes),
               [this](std::string_view bytes) { return kube::decode_node(bytes, node_fields(), interner_); }),
        pods_(loop, client_, client_, log_, metrics, random.fork(), pod_informer(),
              [this](std::string_view bytes) { return decode_pod_row(bytes, interner_); }),
        recorder_(loop, client_, log_, metrics, "tidemark-yarn-operator"),
        wrong_(metrics.gauge("tidemark_yarn_operator_mismatched_nodes",
                             "Nodes whose NodeManager is not known for certain: nothing is told of them.")),
        mapped_(metrics.gauge("tidemark_yarn_operator_nodes", "Nodes with a NodeManager.")),
        away_(metrics.gauge("tidemark_yarn_operator_clusters_away", "Clusters whose ResourceManager does not answer.")),
        annotate_(loop),
        scope_(loop) {
    pods_.add_index(std::string(kPodsByNode),
                    [](const PodRow& pod) { return std::vector<std::string>{std::string(pod.node)}; });
    nodes_.subscribe([this](const kube::ObjectKey&, const kube::Node*, const kube::Node*) { changed(); });
    pods_.subscribe([this](const kube::ObjectKey&, const PodRow* before, const PodRow* after) {
      const auto matters = [](const PodRow* pod) {
        return pod != nullptr && (pod->node_manager || pod->batch != model::Resources());
      };
      if (matters(before) || matters(after)) changed();
    });
    for (YarnCluster& cluster : clusters) {
      const base::Log named = log_.named(base::cat("yarn-operator ", cluster.id));
      lanes_.push_back(
          std::make_unique<Lane>(loop, rim, std::move(cluster), options_.overcommit, named, metrics, random.fork()));
    }
  }

  Result<void> prepare(kube::Client& election, base::Random random) {
    if (options_.leader_elect && !only_observes()) {
      TM_TRY(elector_, kube::LeaderElector::make(loop_, election, election, log_, metrics_, random, options_.lease));
      elector_->on_change([this](bool) { changed(); });
    }
    TM_TRY(admin_, net::serve_admin(
                       loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); },
                       [this] { return node_figures(); }));
    TM_TRY(health_, net::serve_health(loop_, log_, options_.health_address, [this] { return not_ready(); }));
    return {};
  }

  void start() override {
    scope_.spawn(nodes_.run());
    scope_.spawn(pods_.run());
    if (!only_observes()) scope_.spawn(recorder_.run());
    if (elector_) scope_.spawn(elector_->run());
    for (const auto& lane : lanes_) scope_.spawn(follow(*lane));
    scope_.spawn(annotate());
  }

  std::string not_ready() const override {
    if (draining_) return "on its way out";
    if (!nodes_.synced()) return "nodes are not listed yet";
    if (!pods_.synced()) return "pods are not listed yet";
    return "";
  }

  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }

  net::Task<void> drain() override {
    draining_ = true;
    const auto end = loop_.clock().monotonic() + kDrainLimit;
    while (under_way_ > 0 && loop_.clock().monotonic() < end) co_await loop_.sleep(std::chrono::milliseconds(20));
    if (elector_) co_await elector_->release();
  }

 private:
  struct Lane {
    Lane(net::EventLoop& loop, Rim& rim, YarnCluster cluster, hadoop::Overcommit overcommit, base::Log named,
         base::Registry& metrics, base::Random random)
        : log(named),
          link(loop, rim.workers, std::move(cluster), overcommit, std::move(named), metrics, random, rim.audit,
               rim.actor),
          wake(loop) {}
    base::Log log;
    ClusterLink link;
    net::Event wake;
    bool away = false;
  };
  struct UnderWay {
    explicit UnderWay(int& all) : count(all) { ++count; }
    ~UnderWay() { --count; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    int& count;
  };

  static kube::InformerConfig informer(const kube::Resource& resource) {
    kube::InformerConfig config;
    config.resource = resource;
    return config;
  }
  static kube::InformerConfig pod_informer() {
    kube::InformerConfig config = informer(kube::kPods);
    config.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
    return config;
  }

  bool only_observes() const { return options_.mode == "observe"; }
  bool may_write() const { return !only_observes() && !draining_ && (elector_ == nullptr || elector_->leading()); }
  bool listed() const { return nodes_.synced() && pods_.synced(); }

  void changed() {
    map_old_ = true;
    for (const auto& lane : lanes_) lane->wake.set();
    annotate_.set();
  }

  net::Task<void> follow(Lane& lane) {
    base::MonotonicTime next_look = loop_.clock().monotonic();
    while (true) {
      if (loop_.clock().monotonic() >= next_look) {
        note(lane, co_await lane.link.refresh());
        next_look = loop_.clock().monotonic() + options_.poll;
        map_old_ = true;
        annotate_.set();
      }
      if (lane.link.synced() && !lane.away && listed()) {
        std::vector<Wanted> wanted = wanted_of(lane.link.id());
        if (may_write()) {
          const UnderWay mine(under_way_);
          auto told = co_await lane.link.tell(std::move(wanted));
          if (!told) lane.log.warn("totals were not taken", {{"why", told.error().message}});
          if (!told || *told > 0) next_look = std::min(next_look, loop_.clock().monotonic() + kLookAgain);
        }
      }
      const base::Duration wait = next_look - loop_.clock().monotonic();
      if (wait > base::Duration(0) && co_await lane.wake.wait_for(wait)) co_await loop_.sleep(kGather);
      lane.wake.clear();
    }
  }

  void note(Lane& lane, const Result<void>& seen) {
    if (seen && lane.away) lane.log.info("its ResourceManager answers again");
    if (!seen && !lane.away) lane.log.warn("its ResourceManager does not answer", {{"why", seen.error().message}});
    lane.away = !seen;
    away_.set(static_cast<double>(std::ranges::count_if(lanes_, [](const auto& each) { return each->away; })));
  }

  const NodeMap& map() {
    if (!map_old_) return map_;
    map_old_ = false;
    MapInput input;
    nodes_.for_each([&](const kube::ObjectKey&, const kube::Node& node) { input.nodes.push_back(place_of(node)); });
    pods_.for_each([&](const kube::ObjectKey&, const PodRow& pod) {
      if (pod.node_manager) input.pods.push_back(nm_pod_of(pod));
    });
    std::ranges::sort(input.pods, {}, &NmPod::name);
    for (const auto& lane : lanes_) {
      auto& ids = input.known[lane->link.id()];
      // One that began anew on a port of its own choice leaves its old name behind, as lost.
      for (const auto& [id, report] : lane->link.nodes()) {
        if (hadoop::is_active(report.state)) ids.push_back(id);
      }
    }
    NodeMap made = map_nodes(input);
    for (const auto& [node, why] : made.wrong) {
      const auto before = map_.wrong.find(node);
      if (before == map_.wrong.end() || before->second != why) tell_mismatch(node, why);
    }
    map_ = std::move(made);
    wrong_.set(static_cast<double>(map_.wrong.size()));
    mapped_.set(static_cast<double>(map_.nm_of.size()));
    return map_;
  }

  void tell_mismatch(const std::string& name, const std::string& why) {
    log_.warn("a node and a NodeManager that do not fit", {{"node", name}, {"why", why}});
    const kube::Node* node = nodes_.find({"", name});
    if (node == nullptr || !may_write()) return;
    recorder_.record({"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning,
                     "TidemarkYarnMismatch", base::cat(why, " [", model::reason_id(Reason::kYarnMismatch), "]"));
  }

  std::optional<policy::YarnTotal> total_of(const kube::Node& node) {
    model::Resources held;
    for (const PodRow* pod : pods_.by_index(kPodsByNode, std::string(node.meta.name))) held += pod->batch;
    const auto share = share_of(node, held, loop_.clock().wall());
    if (!share) {
      unreadable(std::string(node.meta.name), share.error().message);
      return std::nullopt;
    }
    unreadable_.erase(std::string(node.meta.name));
    return policy::yarn_total(*share, options_.totals);
  }

  void unreadable(const std::string& node, const std::string& why) {
    std::string& said = unreadable_[node];
    if (said == why) return;
    said = why;
    log_.warn("nothing is told of a node that cannot be read", {{"node", node}, {"why", why}});
  }

  std::vector<Wanted> wanted_of(const std::string& cluster) {
    std::vector<Wanted> wanted;
    for (const auto& [name, nm] : map().nm_of) {
      if (nm.cluster != cluster) continue;
      const kube::Node* node = nodes_.find({"", name});
      if (node == nullptr) continue;
      const auto total = total_of(*node);
      if (!total || !total->send) continue;
      wanted.push_back({nm.id, {total->memory_mib, total->vcores, {}}, total->reason});
    }
    return wanted;
  }

  const ClusterLink* link_of(const std::string& cluster) const {
    for (const auto& lane : lanes_) {
      if (lane->link.id() == cluster) return &lane->link;
    }
    return nullptr;
  }

  // nullopt: nobody knows now, and what is written stays.
  std::optional<model::Resources> held_by_yarn(const std::string& node) {
    const base::MonotonicTime now = loop_.clock().monotonic();
    const auto mapped = map().nm_of.find(node);
    if (mapped != map_.nm_of.end()) {
      const ClusterLink* link = link_of(mapped->second.cluster);
      if (link == nullptr || !link->synced()) return std::nullopt;
      const hadoop::NodeReport* report = link->find(mapped->second.id);
      if (report != nullptr && hadoop::is_active(report->state)) {
        const auto batch = policy::batch_of_yarn(report->used.memory_mib, report->used.vcores, options_.totals);
        held_[node] = {batch, now};
        return batch;
      }
    } else if (std::ranges::any_of(lanes_, [](const auto& lane) { return !lane->link.synced(); })) {
      return std::nullopt;
    }
    const auto [last, first_time] = held_.try_emplace(node, Held{{}, now});
    if (now - last->second.seen < options_.lost_hold) return std::nullopt;
    return model::Resources();
  }

  net::Task<void> annotate() {
    while (true) {
      co_await annotate_.wait_for(options_.poll);
      annotate_.clear();
      co_await loop_.sleep(kGather);
      if (!listed() || !may_write()) continue;
      for (const std::string& name : nodes_to_annotate()) {
        if (!may_write()) break;
        co_await annotate_one(name);
      }
    }
  }

  // Those with a NodeManager, and those that had one.
  std::vector<std::string> nodes_to_annotate() {
    std::vector<std::string> names;
    const NodeMap& found = map();
    nodes_.for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
      const std::string_view written = node.meta.annotations.get(model::kThirdPartyAllocationsAnnotation);
      if (found.nm_of.contains(key.name) || written.find(model::kYarnThirdParty) != std::string_view::npos) {
        names.push_back(key.name);
      }
    });
    std::erase_if(held_, [&](const auto& each) { return nodes_.find({"", each.first}) == nullptr; });
    return names;
  }

  net::Task<void> annotate_one(std::string name) {
    const auto held = held_by_yarn(name);
    const kube::Node* node = nodes_.find({"", name});
    if (!held || node == nullptr) co_return;
    const std::string before(node->meta.annotations.get(model::kThirdPartyAllocationsAnnotation));
    const std::string after = model::with_third_party_allocation(before, model::kYarnThirdParty, *held);
    if (after == before) co_return;
    std::string body;
    base::JsonWriter(body)
        .begin_object()
        .key("metadata")
        .begin_object()
        .member("resourceVersion", node->meta.resource_version)  // somebody else's allocation is not lost
        .key("annotations")
        .begin_object()
        .member(model::kThirdPartyAllocationsAnnotation, after)
        .end_object()
        .end_object()
        .end_object();
    kube::WriteOptions options;
    options.note = {model::reason_id(Reason::kYarnUsed), before.empty() ? "" : base::Json(before).dump()};
    const UnderWay mine(under_way_);
    const auto patched =
        co_await client_.patch(kube::kNodes, name, kube::PatchType::kMerge, std::move(body), options, kPatchLimit);
    // A conflict is another writer's turn: the watch brings what he wrote, and the next pass starts from that.
    if (patched || patched.error().kind == ErrorKind::kConflict || patched.error().kind == ErrorKind::kNotFound) {
      co_return;
    }
    log_.warn("what YARN holds of a node is not written", {{"node", name}, {"why", patched.error().message}});
  }

  // By the peer's names and labels (yarn-copilot.md, section 6).
  std::string node_figures() {
    if (!may_write()) return "";
    struct Family {
      std::string_view name, help;
      double (*value)(const hadoop::NodeReport&);
    };
    static constexpr double kMiB = 1024.0 * 1024.0;
    static constexpr Family kFamilies[] = {
        {"yarn_node_cpu_resource", "Total vcores of a NodeManager.",
         [](const hadoop::NodeReport& node) { return double(node.capability.vcores); }},
        {"yarn_node_memory_resource", "Total memory of a NodeManager, in bytes.",
         [](const hadoop::NodeReport& node) { return double(node.capability.memory_mib) * kMiB; }},
        {"yarn_node_cpu_allocated_resource", "Vcores that its containers hold.",
         [](const hadoop::NodeReport& node) { return double(node.used.vcores); }},
        {"yarn_node_memory_allocated_resource", "Memory that its containers hold, in bytes.",
         [](const hadoop::NodeReport& node) { return double(node.used.memory_mib) * kMiB; }},
    };
    std::string out;
    for (const Family& family : kFamilies) {
      out += base::cat("# HELP ", family.name, " ", family.help, "\n# TYPE ", family.name, " gauge\n");
      for (const auto& lane : lanes_) {
        std::string_view host_before;
        for (const auto& [id, report] : lane->link.nodes()) {
          // Two NodeManagers of one host have the same labels, and a scrape with a series twice is refused whole.
          if (!hadoop::is_active(report.state) || id.host == host_before) continue;
          host_before = id.host;
          out += base::cat(family.name, "{instance=\"", id.host, "\",cluster=\"", lane->link.id(), "\"} ",
                           family.value(report), "\n");
        }
      }
    }
    return out;
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Registry& metrics_;
  const OperatorOptions options_;
  kube::Interner interner_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<PodRow> pods_;
  kube::EventRecorder recorder_;
  std::unique_ptr<kube::LeaderElector> elector_;
  base::Gauge& wrong_;
  base::Gauge& mapped_;
  base::Gauge& away_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  NodeMap map_;
  bool map_old_ = true;
  std::map<std::string, std::string> unreadable_;
  std::map<std::string, Held> held_;  // by node
  net::Event annotate_;
  int under_way_ = 0;
  bool draining_ = false;
  std::unique_ptr<net::HttpServer> admin_;
  std::unique_ptr<net::HttpServer> health_;
  net::Scope scope_;
};

}  // namespace

Result<std::unique_ptr<YarnOperator>> YarnOperator::make(net::EventLoop& loop, Rim rim,
                                                         std::vector<YarnCluster> clusters, base::Log log,
                                                         base::Registry& metrics, base::Random random,
                                                         OperatorOptions options) {
  kube::Client& election = rim.election;
  auto made = std::make_unique<RunningOperator>(loop, std::move(rim), std::move(clusters), std::move(log), metrics,
                                                random.fork(), std::move(options));
  TM_TRY_VOID(made->prepare(election, random));
  return made;
}

}  // namespace tidemark::yarn_operator
