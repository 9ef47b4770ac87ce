// The operator as it runs: its parts, and its loops: one for each YARN cluster (lanes.cc), one for what is written onto
// nodes (node_loop.cc); what both go by, and how it begins and ends, is in yarn_operator.cc. Nobody else includes it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/informer.h"
#include "kube/recorder.h"
#include "net/admin.h"
#include "yarn_operator/budgets_watch.h"
#include "yarn_operator/cluster_link.h"
#include "yarn_operator/contested.h"
#include "yarn_operator/dues.h"
#include "yarn_operator/given_back.h"
#include "yarn_operator/node_map.h"
#include "yarn_operator/node_words.h"
#include "yarn_operator/objects.h"
#include "yarn_operator/pool_modes.h"
#include "yarn_operator/shrink_book.h"
#include "yarn_operator/take_back.h"
#include "yarn_operator/take_back_book.h"
#include "yarn_operator/yarn_operator.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kGather =
    std::chrono::milliseconds(50);                                      // changes that come together are told together
inline constexpr base::Duration kPatchLimit = std::chrono::seconds(4);  // as kTellLimit of cluster_link.cc

class RunningOperator final : public YarnOperator {
 public:
  RunningOperator(net::EventLoop& loop, Rim rim, std::vector<YarnCluster> clusters, base::Log log,
                  base::Registry& metrics, base::Random random, OperatorOptions options);
  Result<void> prepare(kube::Client& election, base::Random random);

  void start() override;
  std::string not_ready() const override;
  std::string metrics_address() const override { return admin_ ? admin_->address() : ""; }
  net::Task<void> drain() override;

 private:
  struct Lane {
    Lane(RunningOperator& of, Rim& rim, YarnCluster cluster, base::Log named, base::Random random)
        : log(named),
          link(of.loop_, rim.workers, std::move(cluster), std::move(named), of.metrics_, random, rim.audit, rim.actor),
          wake(of.loop_),
          asked(of.loop_),
          taking_back(
              of.loop_, link, [&of] { return of.may_write(); },
              [&of, this](const Taking& taking, const model::TakenBack& answer) {
                of.taken_back(*this, taking, answer);
              }) {}
    base::Log log;
    ClusterLink link;
    net::Event wake;
    net::Event asked;  // an agent may want something back
    TakingBack taking_back;
    bool away = false;
    bool closed = false;  // no node has room for the smallest container
    // Partitions of which no node has room for the largest, and in which a container is waited for that none can hold.
    std::set<std::string> small, waits_in_vain;
    std::size_t silent = 0;  // nodes
    ContestedTotals contested;
    std::size_t contested_nodes = 0;
    bool classless = false;  // the settings do not name the class of its work
    std::size_t waits = 0;   // nodes of which the hour lets nothing end now
    Pace reclaims;
  };
  struct UnderWay {
    explicit UnderWay(int& all) : count(all) { ++count; }
    ~UnderWay() { --count; }
    UnderWay(const UnderWay&) = delete;
    UnderWay& operator=(const UnderWay&) = delete;
    int& count;
  };
  // What a NodeManager's containers were seen to hold last.
  struct Held {
    model::Resources batch;
    base::MonotonicTime seen;       // or when it was looked for first
    base::MonotonicTime may_begin;  // until then more may have begun: its NodeManager worked on, seen or not
  };
  struct WhatIsDue {
    Dues drains;
    Dues reclaims;
    std::size_t asked_to_give_back = 0;  // nodes, those that are done with it too
    HourRoom room;                       // for reclaims
    std::vector<std::string> wait;       // nodes, for their hour
    bool none() const { return drains.due.empty() && reclaims.due.empty(); }
  };

  // Of the writes of one look.
  struct WritePass {
    base::MonotonicTime order_old_at;
    int in_vain = 0;  // in a row: nobody answered
  };

  bool only_observes() const { return options_.mode == "observe"; }
  bool may_write() const { return !only_observes() && !draining_ && (elector_ == nullptr || elector_->leading()); }
  bool listed() const { return nodes_.synced() && pods_.synced() && nm_pods_.synced() && pool_modes_.synced(); }
  void changed();

  // ---- what the loops go by ----

  const NodeMap& map();
  void tell_without_node(const std::vector<NmName>& now);
  void tell_mismatch(const std::string& name, const std::string& why);
  // `keep_mib`: where containers were taken back, and the rest is held back for a moment.
  std::optional<policy::YarnTotal> total_of(const kube::Node& node,
                                            std::optional<std::int64_t> keep_mib = std::nullopt);
  void unreadable(const std::string& node, const std::string& why);
  const ClusterLink* link_of(const std::string& cluster) const;
  // Of the work of the YARN cluster that the node is in.
  std::string_view class_on(const kube::Node& node);
  std::string figures() const;

  // ---- the loop of one cluster ----

  net::Task<void> follow(Lane& lane);
  WhatIsDue what_is_due(const Lane& lane);
  // What drains and reclaims leave no room for. The next totals of their nodes follow at once. Answers how long until
  // another one is due.
  net::Task<std::optional<base::Duration>> end_what_is_due(Lane& lane);
  net::Task<bool> end(Lane& lane, std::vector<Shrink> shrinks);
  // Of these nodes, less what their pools gave back within the hour.
  HourRoom hour_room(const std::set<std::string>& bounded);
  void count_given_back(Lane& lane, const ShrinkBook::Begun& begun);
  void note_waits(Lane& lane, const WhatIsDue& found);
  // What agents want back, beside the totals of other nodes; their own follow at once.
  net::Task<void> hear_agents(Lane& lane);
  net::Task<void> take_back(Lane& lane);
  std::vector<Taking> takings_of(const Lane& lane);
  static void leave_out_who_gives_back(const Lane& lane, std::vector<Wanted>& wanted);
  static std::size_t leave_out_who_is_silent(std::vector<Wanted>& wanted);
  void note_silent(Lane& lane, std::size_t nodes);
  void taken_back(Lane& lane, const Taking& asked, const model::TakenBack& answer);
  net::Task<void> answer_agent(std::string node, model::TakenBack answer);
  void note(Lane& lane, const Result<void>& seen);
  static void note_not_told(Lane& lane, const Error& why);
  void note_room(Lane& lane, const std::vector<Wanted>& wanted);
  void note_largest(Lane& lane, const ContainerRoom& room);
  void note_largest(Lane& lane, const std::string& partition, const PartitionRoom& room);
  std::size_t lanes_that(const std::function<bool(const Lane&)>& are) const;
  // It may be named in a moment: no reason to stop.
  void note_class(Lane& lane);
  void tell_set_again(const std::vector<std::string>& names);
  void note_contested(Lane& lane);
  std::vector<Wanted> wanted_of(const std::string& cluster);

  // ---- the loop of what is written onto nodes ----

  // nullopt: nobody knows now, and what is written stays.
  std::optional<model::Resources> held_by_yarn(const kube::Node& object);
  // Whether what its NodeManager hands out has not been seen for so long that nobody may go by it.
  bool long_unseen(const std::string& node) const;
  net::Task<void> annotate();
  // Those with a NodeManager, and those that had one, by their turn: for an offer that came into force capacity waits
  // that one side gave up.
  std::vector<std::string> nodes_to_annotate();
  // Until all are written, or something came and their order is old: then it is looked again who goes first.
  net::Task<void> write_in_turn(std::vector<std::string> names, base::Duration order_holds);
  bool is_over(const WritePass& pass) const;
  void note_renewals(std::size_t nodes);
  NodeSight sight_of(const kube::Node& node);
  model::Resources worth(std::int64_t memory_mib, std::int64_t vcores) const;
  net::Task<void> annotate_one(std::string name, WritePass& pass);
  void note_unwritten(const std::string& node, const Error& error, WritePass& pass);

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Registry& metrics_;
  const OperatorOptions options_;
  kube::Interner interner_;
  kube::Informer<kube::Node> nodes_;
  kube::Informer<PodRow> pods_;  // that hold of batch
  kube::Informer<NmPodRow> nm_pods_;
  PoolModes pool_modes_;
  BudgetsWatch budgets_;
  kube::EventRecorder recorder_;
  std::unique_ptr<kube::LeaderElector> elector_;
  base::Gauge& wrong_;
  base::Gauge& mapped_;
  base::Gauge& without_node_;
  base::Gauge& away_;
  base::Gauge& closed_;
  base::Gauge& small_;
  base::Gauge& wait_in_vain_;
  base::Gauge& silent_;
  base::Gauge& contested_;
  base::Gauge& renew_after_;
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
  base::Counter& given_back_containers_;
  base::Gauge& reclaims_wait_;
  TakeBackBook take_backs_;
  ShrinkBook drains_;
  ShrinkBook reclaims_;
  GivenBackBook given_back_;
  net::Event annotate_;
  bool renews_too_seldom_ = false;  // said
  int under_way_ = 0;
  bool draining_ = false;
  std::unique_ptr<net::HttpServer> admin_;
  std::unique_ptr<net::HttpServer> health_;
  net::Scope scope_;
};

}  // namespace tidemark::yarn_operator
