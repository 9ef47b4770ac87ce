#include "yarn_operator/yarn_operator.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/text.h"
#include "kube/annotation_patch.h"
#include "kube/informer.h"
#include "kube/recorder.h"
#include "model/annotations.h"
#include "model/names.h"
#include "net/admin.h"
#include "yarn_operator/cluster_link.h"
#include "yarn_operator/dues.h"
#include "yarn_operator/node_figures.h"
#include "yarn_operator/node_map.h"
#include "yarn_operator/node_words.h"
#include "yarn_operator/objects.h"
#include "yarn_operator/pool_modes.h"
#include "yarn_operator/shrink_book.h"
#include "yarn_operator/take_back.h"
#include "yarn_operator/take_back_book.h"

namespace tidemark::yarn_operator {
namespace {

using model::Reason;

constexpr std::string_view kPodsByNode = "node";
constexpr int kNodesAPage = 100;  // a node is a dozen KB, and a page is held as a whole while it is read
constexpr base::Duration kGather = std::chrono::milliseconds(50);  // changes that come together are told together
// After an update: has the scheduler taken it? And at a failover.
constexpr base::Duration kLookAgain = std::chrono::seconds(1);
constexpr base::Duration kPatchLimit = std::chrono::seconds(4);  // as kTellLimit of cluster_link.cc
// Writes in a row that nobody answered: each of the others would wait as long, and the log would name every node.
constexpr int kInVainMax = 3;
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
        nodes_(loop, client_, client_, log_, metrics, random.fork(), node_informer(),
               [this](std::string_view bytes) { return decode_node(bytes, interner_); }),
        pods_(loop, client_, client_, log_, metrics, random.fork(), pod_informer(),
              [this](std::string_view bytes) { return decode_pod_row(bytes, interner_); }),
        pool_modes_(loop, client_, interner_, log_, metrics, random.fork(), options_.config_namespace, rim.zones,
                    [this] { changed(); }),
        recorder_(loop, client_, log_, metrics, "tidemark-yarn-operator"),
        wrong_(metrics.gauge("tidemark_yarn_operator_mismatched_nodes",
                             "Nodes whose NodeManager is not known for certain: nothing is told of them.")),
        mapped_(metrics.gauge("tidemark_yarn_operator_nodes", "Nodes with a NodeManager.")),
        away_(metrics.gauge("tidemark_yarn_operator_clusters_away", "Clusters whose ResourceManager does not answer.")),
        closed_(metrics.gauge("tidemark_yarn_operator_clusters_closed",
                              "Clusters in which no node has room for a container: applications are refused.")),
        taken_back_(metrics.counter("tidemark_yarn_operator_taken_back_total",
                                    "Containers that ended as pre-empted, since their node's agent wanted them back.")),
        not_taken_back_(metrics.counter("tidemark_yarn_operator_not_taken_back_total",
                                        "Containers that an agent wanted back and that stayed, or others went.")),
        drained_(metrics.counter(
            "tidemark_yarn_operator_drained_nodes_total",
            "Nodes on which YARN held more than its offer when the time to drain was over: what was too much ended.")),
        reclaimed_(metrics.counter(
            "tidemark_yarn_operator_reclaimed_nodes_total",
            "Nodes on which YARN held more than its class may keep, for work that is more timely: what was too much "
            "ended.")),
        take_backs_(log_),
        annotate_(loop),
        scope_(loop) {
    pods_.add_index(std::string(kPodsByNode),
                    [](const PodRow& pod) { return std::vector<std::string>{std::string(pod.node)}; });
    pods_.hold_only([](const PodRow& pod) { return pod.matters(); });
    // A look at all nodes for each event of one would be most of what the operator does: kubelets report, and its own
    // writes come back.
    nodes_.subscribe([this](const kube::ObjectKey&, const kube::Node* before, const kube::Node* after) {
      if (!says_the_same(before, after)) {
        changed();
      } else if (!carries_the_same(before, after)) {
        annotate_.set();
      }
    });
    pods_.subscribe([this](const kube::ObjectKey&, const PodRow* before, const PodRow* after) {
      if (before == nullptr || after == nullptr || !says_the_same(*before, *after)) changed();
    });
    for (YarnCluster& cluster : clusters) {
      const base::Log named = log_.named(base::cat("yarn-operator ", cluster.id));
      lanes_.push_back(std::make_unique<Lane>(loop, rim, std::move(cluster), named, metrics, random.fork()));
    }
  }

  Result<void> prepare(kube::Client& election, base::Random random) {
    if (options_.leader_elect && !only_observes()) {
      TM_TRY(elector_, kube::LeaderElector::make(loop_, election, election, log_, metrics_, random, options_.lease));
      elector_->on_change([this](bool) {
        map_.wrong.clear();  // who leads tells of what does not fit, whoever saw it first
        changed();
      });
    }
    TM_TRY(admin_, net::serve_admin(
                       loop_, log_, options_.metrics_address, metrics_, [this] { return not_ready(); },
                       [this] { return figures(); }));
    TM_TRY(health_, net::serve_health(loop_, log_, options_.health_address, [this] { return not_ready(); }));
    return {};
  }

  void start() override {
    scope_.spawn(nodes_.run());
    scope_.spawn(pods_.run());
    scope_.spawn(pool_modes_.run());
    if (!only_observes()) scope_.spawn(recorder_.run());
    if (elector_) scope_.spawn(elector_->run());
    for (const auto& lane : lanes_) scope_.spawn(follow(*lane));
    scope_.spawn(annotate());
  }

  std::string not_ready() const override {
    if (draining_) return "on its way out";
    if (!nodes_.synced()) return "nodes are not listed yet";
    if (!pods_.synced()) return "pods are not listed yet";
    if (!pool_modes_.synced()) return "settings are not read yet";
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
    Lane(net::EventLoop& loop, Rim& rim, YarnCluster cluster, base::Log named, base::Registry& metrics,
         base::Random random)
        : log(named),
          link(loop, rim.workers, std::move(cluster), std::move(named), metrics, random, rim.audit, rim.actor),
          wake(loop) {}
    base::Log log;
    ClusterLink link;
    net::Event wake;
    bool away = false;
    bool closed = false;
    bool classless = false;  // the settings do not name the class of its work
    Pace reclaims;
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
  static kube::InformerConfig node_informer() {
    kube::InformerConfig config = informer(kube::kNodes);
    config.page_size = kNodesAPage;
    return config;
  }
  static kube::InformerConfig pod_informer() {
    kube::InformerConfig config = informer(kube::kPods);
    config.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
    return config;
  }

  bool only_observes() const { return options_.mode == "observe"; }
  bool may_write() const { return !only_observes() && !draining_ && (elector_ == nullptr || elector_->leading()); }
  bool listed() const { return nodes_.synced() && pods_.synced() && pool_modes_.synced(); }

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
        // While nobody answers the next one may be active by now; and to one that is, nodes come one after another.
        const bool soon = lane.away || lane.link.begins();
        next_look = loop_.clock().monotonic() + (soon ? std::min(options_.poll, kLookAgain) : options_.poll);
        map_old_ = true;
        annotate_.set();
      }
      if (lane.link.synced() && listed() && may_write()) co_await take_back_of(lane);
      std::optional<base::Duration> next_drain;
      if (lane.link.synced() && !lane.away && listed() && may_write()) next_drain = co_await end_what_is_due(lane);
      if (lane.link.synced() && !lane.away && listed()) {
        std::vector<Wanted> wanted = wanted_of(lane.link.id());
        note_closed(lane, lane.link.closed(wanted));
        note_class(lane);
        if (may_write()) {
          const UnderWay mine(under_way_);
          auto told = co_await lane.link.tell(std::move(wanted));
          if (!told) lane.log.warn("totals were not taken", {{"why", told.error().message}});
          if (told) tell_set_again(told->set_again);
          if (!told || told->told > 0) next_look = std::min(next_look, loop_.clock().monotonic() + kLookAgain);
        }
      }
      base::Duration wait = next_look - loop_.clock().monotonic();
      if (next_drain) wait = std::min(wait, *next_drain);
      if (wait > base::Duration(0) && co_await lane.wake.wait_for(wait)) co_await loop_.sleep(kGather);
      lane.wake.clear();
    }
  }

  struct WhatIsDue {
    Dues drains;
    Dues reclaims;
    std::size_t asked_to_give_back = 0;  // nodes, those that are done with it too
    bool none() const { return drains.due.empty() && reclaims.due.empty(); }
  };
  WhatIsDue what_is_due(const Lane& lane) {
    const std::vector<Wanted> wanted = wanted_of(lane.link.id());
    const NodeOf node_of = [this](const std::string& name) { return nodes_.find({"", name}); };
    const base::MonotonicTime now = loop_.clock().monotonic();
    Dues reclaims = reclaims_due(wanted, node_of, lane.link.work_class(), options_.totals);
    const std::size_t asked = reclaims.due.size();
    return {drains_.to_try(drains_due(wanted, node_of, loop_.clock().wall()), now),
            reclaims_.to_try(std::move(reclaims), now), asked};
  }

  // What drains and reclaims leave no room for. The next totals of their nodes follow at once. Answers how long until
  // another one is due.
  net::Task<std::optional<base::Duration>> end_what_is_due(Lane& lane) {
    const UnderWay mine(under_way_);
    WhatIsDue found = what_is_due(lane);
    if (found.none() || !co_await lane.link.refresh() || !may_write()) co_return found.drains.next;
    found = what_is_due(lane);  // an order may have been taken back meanwhile
    const base::MonotonicTime now = loop_.clock().monotonic();
    auto drains = drains_.begin(found.drains.due, lane.link, now);
    if (co_await end(lane, std::move(drains.shrinks))) drained_.add(drains.first);
    auto reclaims =
        reclaims_.begin(found.reclaims.due, lane.link, now, lane.reclaims.room(found.asked_to_give_back, now));
    lane.reclaims.began(reclaims.first);
    if (co_await end(lane, std::move(reclaims.shrinks))) reclaimed_.add(reclaims.first);
    co_return found.drains.next;
  }

  net::Task<bool> end(Lane& lane, std::vector<Shrink> shrinks) {
    if (shrinks.empty()) co_return false;
    const auto told = co_await lane.link.shrink(std::move(shrinks));
    if (!told) lane.log.warn("what is due is not ended", {{"why", told.error().message}});
    co_return told.has_value();
  }

  // What agents want back. Their nodes' next totals follow at once.
  net::Task<void> take_back_of(Lane& lane) {
    std::vector<Taking> takings = takings_of(lane.link.id());
    if (takings.empty()) co_return;
    const UnderWay mine(under_way_);
    std::map<std::string, std::string> reasons;
    for (const Taking& each : takings) reasons[each.node] = each.request.reason;
    for (const Taken& each : co_await take_back(loop_, lane.link, std::move(takings), [this] { return may_write(); })) {
      const model::TakenBack& answer = each.answer;
      take_backs_.answered(each.node, answer);
      taken_back_.add(answer.gone.size());
      not_taken_back_.add(answer.stayed.size());
      lane.log.info("containers were wanted back", {{"node", each.node},
                                                    {"generation", std::to_string(answer.generation)},
                                                    {"gone", base::join(answer.gone, " ")},
                                                    {"stayed", base::join(answer.stayed, " ")},
                                                    {"refused", answer.refused},
                                                    {"reason", reasons.at(each.node)}});
      scope_.spawn(answer_agent(each.node, answer));
    }
  }

  std::vector<Taking> takings_of(const std::string& cluster) {
    std::vector<Taking> takings;
    for (const auto& [name, nm] : map().nm_of) {
      const kube::Node* node = nm.cluster == cluster ? nodes_.find({"", name}) : nullptr;
      if (node == nullptr) continue;
      auto open = take_backs_.open_request(*node, loop_.clock());
      const auto total = open ? total_of(*node) : std::nullopt;
      if (total && total->send) {
        takings.push_back({name, nm.id, std::move(open->request), total->vcores, open->age, loop_.clock().wall()});
      }
    }
    return takings;
  }

  net::Task<void> answer_agent(std::string node, model::TakenBack answer) {
    kube::WriteOptions options;
    options.note.reason = model::reason_id(Reason::kYarnTakenBack);
    const UnderWay mine(under_way_);
    const auto patched = co_await client_.patch(
        kube::kNodes, node, kube::PatchType::kMerge,
        kube::annotation_patch(model::kYarnTakenBackAnnotation, model::format_taken_back(answer)), std::move(options),
        kPatchLimit);
    if (!patched) log_.warn("an agent is not answered", {{"node", node}, {"why", patched.error().message}});
  }

  void note(Lane& lane, const Result<void>& seen) {
    if (seen && lane.away) lane.log.info("its ResourceManager answers again");
    if (!seen && !lane.away) lane.log.warn("its ResourceManager does not answer", {{"why", seen.error().message}});
    lane.away = !seen;
    away_.set(static_cast<double>(std::ranges::count_if(lanes_, [](const auto& each) { return each->away; })));
  }

  void note_closed(Lane& lane, bool closed) {
    if (closed && !lane.closed) {
      lane.log.warn("no node has room for a container", {{"reason", model::reason_id(Reason::kYarnClosed)},
                                                         {"means", model::reason_sentence(Reason::kYarnClosed)}});
    }
    if (!closed && lane.closed) lane.log.info("a node has room for a container again");
    lane.closed = closed;
    closed_.set(static_cast<double>(std::ranges::count_if(lanes_, [](const auto& each) { return each->closed; })));
  }

  // It may be named in a moment: no reason to stop.
  void note_class(Lane& lane) {
    const std::string& name = lane.link.work_class();
    const bool unknown = !name.empty() && !pool_modes_.names_class(name);
    if (unknown && !lane.classless) {
      lane.log.warn("the class of its work is none of `classes` of tidemark-config: the least timely of all",
                    {{"class", name}, {"file", lane.link.class_place()}, {"property", kClassProperty}});
    }
    lane.classless = unknown;
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

  void tell_set_again(const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      const kube::Node* node = nodes_.find({"", name});
      if (node == nullptr) continue;
      recorder_.record(
          {"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning, "TidemarkYarnSetAgain",
          base::cat(model::reason_sentence(Reason::kYarnForeign), " [", model::reason_id(Reason::kYarnForeign), "]"));
    }
  }

  void tell_mismatch(const std::string& name, const std::string& why) {
    log_.warn("a node and a NodeManager that do not fit", {{"node", name}, {"why", why}});
    const kube::Node* node = nodes_.find({"", name});
    if (node == nullptr || !may_write()) return;
    recorder_.record({"v1", "Node", "", name, std::string(node->meta.uid)}, kube::EventSeverity::kWarning,
                     "TidemarkYarnMismatch", base::cat(why, " [", model::reason_id(Reason::kYarnMismatch), "]"));
  }

  // `keep_mib`: where containers were taken back, and the rest is held back for a moment.
  std::optional<policy::YarnTotal> total_of(const kube::Node& node,
                                            std::optional<std::int64_t> keep_mib = std::nullopt) {
    model::Resources held;
    for (const PodRow* pod : pods_.by_index(kPodsByNode, std::string(node.meta.name))) held += pod->batch;
    auto share = share_of(node, held, pool_modes_.of(node), class_on(node), loop_.clock().wall());
    if (!share) {
      unreadable(std::string(node.meta.name), share.error().message);
      return std::nullopt;
    }
    unreadable_.erase(std::string(node.meta.name));
    share->keep_mib = keep_mib;
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
      const std::int64_t generation = total->reason == Reason::kYarnOffered ? offer_generation(*node) : 0;
      Wanted& each =
          wanted.emplace_back(Wanted{name, nm.id, {total->memory_mib, total->vcores, {}}, total->reason, generation});
      each.waits = [total = *total, this](const hadoop::Resource& now) {
        return policy::yarn_growth_waits({now.memory_mib, now.vcores}, total, options_.totals);
      };
      const auto keep = take_backs_.keep_mib(*node, loop_.clock().wall());
      const auto kept = keep ? total_of(*node, keep) : std::nullopt;
      if (!kept || kept->memory_mib == total->memory_mib) continue;
      each.counts_as = std::exchange(each.total, {kept->memory_mib, kept->vcores, {}});
      each.reason = kept->reason;
      each.waits = nullptr;
    }
    return wanted;
  }

  const ClusterLink* link_of(const std::string& cluster) const {
    for (const auto& lane : lanes_) {
      if (lane->link.id() == cluster) return &lane->link;
    }
    return nullptr;
  }

  // Of the work of the YARN cluster that the node is in.
  std::string_view class_on(const kube::Node& node) {
    const auto mapped = map().nm_of.find(std::string(node.meta.name));
    const ClusterLink* link = mapped == map_.nm_of.end() ? nullptr : link_of(mapped->second.cluster);
    return link == nullptr ? std::string_view() : std::string_view(link->work_class());
  }

  // nullopt: nobody knows now, and what is written stays.
  std::optional<model::Resources> held_by_yarn(const kube::Node& object) {
    const std::string node(object.meta.name);
    const base::MonotonicTime now = loop_.clock().monotonic();
    const auto mapped = map().nm_of.find(node);
    if (mapped != map_.nm_of.end()) {
      const ClusterLink* link = link_of(mapped->second.cluster);
      if (link == nullptr || !link->synced()) return std::nullopt;
      const hadoop::NodeReport* report = link->find(mapped->second.id);
      if (report != nullptr && hadoop::is_active(report->state)) {
        auto batch = policy::batch_of_yarn(report->used.memory_mib, report->used.vcores, options_.totals);
        if (link->may_hold_more(report->id)) {
          const auto before = held_.find(node);
          batch = model::max(batch, before == held_.end() ? held_as_written(object) : before->second.batch);
        }
        held_[node] = {batch, now};
        return batch;
      }
    } else if (std::ranges::any_of(lanes_, [](const auto& lane) { return !lane->link.synced(); })) {
      return std::nullopt;
    }
    const auto [last, first_time] = held_.try_emplace(node, Held{held_as_written(object), now});
    if (now - last->second.seen < options_.lost_hold) return std::nullopt;
    return model::Resources();
  }

  net::Task<void> annotate() {
    while (true) {
      co_await annotate_.wait_for(options_.poll);
      annotate_.clear();
      co_await loop_.sleep(kGather);
      if (!listed() || !may_write()) continue;
      int in_vain = 0;
      for (const std::string& name : nodes_to_annotate()) {
        if (!may_write() || in_vain == kInVainMax) break;
        in_vain = co_await annotate_one(name) ? 0 : in_vain + 1;
      }
    }
  }

  // Those with a NodeManager, and those that had one. First those whose offer came into force: capacity that one side
  // gave up waits for it.
  std::vector<std::string> nodes_to_annotate() {
    std::vector<std::string> names, urgent;
    const NodeMap& found = map();
    nodes_.for_each([&](const kube::ObjectKey& key, const kube::Node& node) {
      const std::string_view written = node.meta.annotations.get(model::kThirdPartyAllocationsAnnotation);
      if (!found.nm_of.contains(key.name) && !node.meta.annotations.has(model::kYarnBookAnnotation) &&
          !node.meta.annotations.has(model::kYarnTakenBackAnnotation) &&
          written.find(model::kYarnThirdParty) == std::string_view::npos) {
        return;
      }
      const auto write = node_write(node, sight_of(node), loop_.clock().wall());
      if (write) (write->urgent ? urgent : names).push_back(key.name);
    });
    const auto is_gone = [&](const auto& each) { return nodes_.find({"", each.first}) == nullptr; };
    std::erase_if(held_, is_gone);
    std::erase_if(written_, is_gone);
    take_backs_.forget(is_gone);
    for (ShrinkBook* book : {&drains_, &reclaims_}) {
      book->forget([&](const std::string& name) { return nodes_.find({"", name}) == nullptr; });
    }
    urgent.insert(urgent.end(), names.begin(), names.end());
    return urgent;
  }

  NodeSight sight_of(const kube::Node& node) {
    const std::string name(node.meta.name);
    NodeSight sight;
    sight.held = held_by_yarn(node);
    const auto mapped = map().nm_of.find(name);
    const ClusterLink* link = mapped == map_.nm_of.end() ? nullptr : link_of(mapped->second.cluster);
    if (link == nullptr ? sight.held.has_value() : link->synced()) {
      const auto total = link == nullptr ? std::nullopt : total_of(node);
      sight.hears = total && total->send;
    }
    if (options_.totals.rounding == policy::YarnRounding::kPeer) {
      sight.book = NodeSight::Book::kRemove;  // its numbers are no offer's
      return sight;
    }
    if (link == nullptr) {
      if (sight.held) sight.book = NodeSight::Book::kRemove;
      return sight;
    }
    if (!link->synced()) return sight;
    sight.book = NodeSight::Book::kWrite;
    if (const ActsOn* acts = link->acts_on(mapped->second.id)) {
      sight.of_book.in_force = {acts->generation, worth(acts->total.memory_mib, acts->total.vcores)};
    }
    sight.of_book.work_class = link->work_class();
    sight.of_book.long_unknown = loop_.clock().monotonic() - *link->seen() >= kSoldHold;
    if (const auto& waiting = link->waiting()) sight.of_book.waiting = worth(waiting->memory_mib, waiting->vcores);
    if (const auto share = share_of(node, {}, policy::Mode::kEnforce, {}, loop_.clock().wall());
        share && share->origin) {
      sight.of_book.origin = *share->origin;
    }
    const auto last = written_.find(name);
    sight.renew_due = last == written_.end() || loop_.clock().monotonic() - last->second >= kRenewAfter;
    return sight;
  }

  model::Resources worth(std::int64_t memory_mib, std::int64_t vcores) const {
    return policy::batch_of_yarn(memory_mib, vcores, options_.totals);
  }

  // False: nobody answers.
  net::Task<bool> annotate_one(std::string name) {
    const kube::Node* node = nodes_.find({"", name});
    if (node == nullptr) co_return true;
    auto write = node_write(*node, sight_of(*node), loop_.clock().wall());
    if (!write) co_return true;
    kube::WriteOptions options;
    options.note = {model::reason_id(write->reason), std::move(write->before)};
    const UnderWay mine(under_way_);
    const auto patched = co_await client_.patch(kube::kNodes, name, kube::PatchType::kMerge, std::move(write->body),
                                                options, kPatchLimit);
    if (patched) written_[name] = loop_.clock().monotonic();
    // A conflict is another writer's turn: the watch brings what he wrote, and the next pass starts from that.
    if (patched || patched.error().kind == ErrorKind::kConflict || patched.error().kind == ErrorKind::kNotFound) {
      co_return true;
    }
    log_.warn("what YARN holds of a node is not written", {{"node", name}, {"why", patched.error().message}});
    const ErrorKind kind = patched.error().kind;
    const bool nobody = kind == ErrorKind::kUnavailable || kind == ErrorKind::kDeadline;
    co_return !nobody;
  }

  std::string figures() const {
    std::vector<const ClusterLink*> links;
    links.reserve(lanes_.size());
    for (const auto& lane : lanes_) links.push_back(&lane->link);
    return cluster_figures(links) + (may_write() ? node_figures(links) : "");
  }

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Registry& metrics_;
  const OperatorOptions options_;
  kube::Interner interner_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<PodRow> pods_;
  PoolModes pool_modes_;
  kube::EventRecorder recorder_;
  std::unique_ptr<kube::LeaderElector> elector_;
  base::Gauge& wrong_;
  base::Gauge& mapped_;
  base::Gauge& away_;
  base::Gauge& closed_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  NodeMap map_;
  bool map_old_ = true;
  std::map<std::string, std::string> unreadable_;
  std::map<std::string, Held> held_;                    // by node
  std::map<std::string, base::MonotonicTime> written_;  // by node: when it was written last
  base::Counter& taken_back_;
  base::Counter& not_taken_back_;
  base::Counter& drained_;
  base::Counter& reclaimed_;
  TakeBackBook take_backs_;
  ShrinkBook drains_;
  ShrinkBook reclaims_;
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
