// Has containers of nodes end as pre-empted, because their agents want them back (model/take_back.h).
//
//   1  what the containers were given, and then what is held on the node, are asked of the ResourceManager now; of one
//      that may not know all of them yet, after a failover, nothing is taken
//   2  the node's total becomes what is held less that, with a timeout of zero: the newest end at once, and masters
//      hear of a pre-emption. Which those are is the ResourceManager's choice
//   3  it is asked until those that were named are gone, or others went in their place, kGoneWithin at most
//   4  the next total that the node is told ends nobody (Overcommit::kill_never)
//
// Each node is answered when it is done. What is held is known of all nodes or of none: a look lists the whole cluster,
// so who asks before the next one is due shares it (rest_after), those that are awaited too. An agent waits for three
// seconds.
//
// Who goes for good is the agent's matter: it kills what stays on the node where that is needed.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "hadoop/containers.h"
#include "hadoop/yarn_records.h"
#include "model/take_back.h"
#include "net/loop.h"
#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kGoneWithin = std::chrono::seconds(1);
inline constexpr base::Duration kKeepMax = std::chrono::minutes(5);  // that a request may hold a node's total down
// What was asked longer ago was left by an operator that went away: since then the agent has done without. Of a request
// that nobody saw come the clocks of node and operator may be so far apart.
inline constexpr base::Duration kAskedAgoMax = std::chrono::minutes(10);

struct Taking {
  std::string node;
  hadoop::NodeId nm;
  model::TakeBack request;
  std::int32_t offered_vcores = 0;
  base::Duration age{};  // of the request (OpenRequest)
  base::WallTime now;
};

// Of one cluster.
class TakingBack {
 public:
  using MayWrite = std::function<bool()>;
  using Answer = std::function<void(const Taking&, const model::TakenBack&)>;
  TakingBack(net::EventLoop& loop, ClusterLink& link, MayWrite may_write, Answer answer);

  // Goes on in run(). A node that is on its way already stays as it is.
  void add(Taking taking);
  // Between its first question and its answer a node is told no other total: one that is larger would save whom the
  // ResourceManager is about to end.
  bool has(const std::string& node) const { return going_.contains(node); }
  // Until every node is answered; at once where that is under way already. Of a ResourceManager that cannot be asked
  // each is refused.
  net::Task<void> run();

 private:
  struct Named {
    std::string name;
    hadoop::ContainerId id;
    std::optional<Result<hadoop::ContainerReport>> said{};  // by the last question
  };
  struct Going {
    Taking of;
    std::vector<Named> there;  // named, and not gone
    model::TakenBack answer;
    std::int64_t given_mib = 0;  // to those that were there when it began
    bool shrunk = false;
    bool last = false;  // the rest fits: who is there at the next question stays
    base::MonotonicTime begin, end;

    bool is_refused() const { return !answer.refused.empty(); }
  };
  static void refuse(Going& going, std::string_view why);
  static void hear(Going& going);
  std::vector<Going*> still_there(bool shrunk);
  net::Task<void> follow(std::vector<Going*> ending);
  net::Task<void> look(std::vector<Going*> fresh, std::vector<Going*> ending);
  void rest_after(base::Duration took);
  net::Task<void> ask(const std::vector<Going*>& of);
  net::Task<void> ask_one(Named& named);
  net::Task<void> shrink(const std::vector<Going*>& fresh);
  std::optional<Shrink> shrink_of(Going& going) const;
  bool fits(const Going& going) const;
  void answer_done();

  net::EventLoop& loop_;
  ClusterLink& link_;
  MayWrite may_write_;
  Answer answer_;
  std::map<std::string, Going> going_;  // by node; not answered yet
  base::MonotonicTime next_look_;
  bool running_ = false;
};

}  // namespace tidemark::yarn_operator
