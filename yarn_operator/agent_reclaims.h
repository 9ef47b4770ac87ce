// Lets the ResourceManager preempt containers on nodes because their agents reclaim capacity (model/yarn_reclaim.h).
//
//   1  request the sizes of the named containers, then what the node holds. Right after a failover the ResourceManager
//      may not know all containers yet; then nothing is taken
//   2  set the node's total to the held amount minus the named containers, with the grace of the request as its
//   timeout:
//      masters are notified at once, and the newest containers end after it. The ResourceManager chooses which ones
//   3  with a grace, answer that they are leaving
//   4  poll until the named containers are gone or others ended instead, at most kGoneWithin, after a grace
//      kGoneAfterGrace
//   5  the next total of the node ends no container (Overcommit::kill_never)
//
// A later request of the node within the grace names the containers of the earlier one again. All of them end at the
// deadline of the earlier one: a total has one timeout, and to set it anew would move the deadline each time.
//
// Each node gets its answer when it is done. The held amount is known for all nodes or for none, because a request
// lists the whole cluster. So all agents that ask before the next listing share it (rest_after), also those already
// waiting. An agent waits for three seconds for the first answer.
//
// The agent is responsible for the rest: it kills what stays on the node if that is needed.
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
#include "model/yarn_reclaim.h"
#include "net/loop.h"
#include "yarn_operator/cluster_link.h"

namespace tidemark::yarn_operator {

inline constexpr base::Duration kGoneWithin = std::chrono::seconds(1);
// Its ResourceManager ends a container at a heartbeat of its node after the deadline: every three seconds in a large
// cluster. The agent waits for eight.
inline constexpr base::Duration kGoneAfterGrace = std::chrono::seconds(5);
inline constexpr base::Duration kKeepMax =
    std::chrono::minutes(5);  // longest time that a request may keep a node's total down
// An older request was left by an operator that stopped; the agent has acted without it. Also the largest accepted
// difference between the clocks of node and operator, for a request whose arrival was not seen.
inline constexpr base::Duration kAskedAgoMax = std::chrono::minutes(10);

struct AgentReclaim {
  std::string node;
  hadoop::NodeId nm;
  model::ReclaimRequest request;
  std::int32_t offered_vcores = 0;
  base::Duration age{};  // of the request (OpenRequest)
};

// For one cluster.
class AgentReclaims {
 public:
  using MayWrite = std::function<bool()>;
  using Answer = std::function<void(const AgentReclaim&, const model::ReclaimAnswer&)>;
  AgentReclaims(net::EventLoop& loop, ClusterLink& link, MayWrite may_write, Answer answer);

  // Runs in run(). A node in progress stays unchanged, except in its grace.
  void add(AgentReclaim reclaim);
  // This request of the node, or a later one, is in progress.
  bool has(const std::string& node, std::int64_t generation) const;
  // From the first request until its answer a node gets no other total: a larger one would save the containers that the
  // ResourceManager is about to end.
  bool has(const std::string& node) const { return has(node, 0); }
  // Returns when every node has its answer, or at once if already running. If the ResourceManager cannot be reached,
  // each request is refused. If nothing may be written any more, requests in their grace stay open for the next
  // operator.
  net::Task<void> run();

 private:
  struct Named {
    std::string name;
    hadoop::ContainerId id;
    std::optional<Result<hadoop::ContainerReport>> said{};  // last answer
  };
  struct Going {
    AgentReclaim of;
    std::vector<Named> there;  // named and not gone
    model::ReclaimAnswer answer;
    std::int64_t given_mib = 0;  // to the named ones that existed at the start
    bool preempting = false;
    bool last = false;  // the rest fits: a container still there at the next request stays
    base::MonotonicTime begin, end;
    std::optional<base::MonotonicTime> deadline{};  // of the grace; nullopt: no total was sent
    base::MonotonicTime next_ask;                   // within the grace

    bool is_refused() const { return !answer.refused.empty(); }
    bool is_in_grace(base::MonotonicTime now) const { return preempting && deadline && now < *deadline; }
  };
  static void refuse(Going& going, std::string_view why);
  static void hear(Going& going);
  void begin_added();
  void begin(Going& going, AgentReclaim reclaim);
  base::Duration pause() const;
  std::vector<Going*> still_there(bool preempting);
  std::vector<Going*> to_ask();
  net::Task<void> follow(std::vector<Going*> ending);
  net::Task<void> look(std::vector<Going*> fresh, std::vector<Going*> ending);
  void rest_after(base::Duration took);
  net::Task<void> ask(const std::vector<Going*>& of);
  net::Task<void> ask_one(Named& named);
  net::Task<void> preempt(const std::vector<Going*>& fresh);
  std::optional<Preemption> preemption_of(Going& going) const;
  base::Duration grace_of(const Going& going) const;
  base::WallTime kept_until(const Going& going, base::Duration after) const;
  void tell_leaving(const Going& going);
  bool fits(const Going& going) const;
  void answer_done();

  net::EventLoop& loop_;
  ClusterLink& link_;
  MayWrite may_write_;
  Answer answer_;
  std::map<std::string, Going> going_;  // by node; without a last answer so far
  std::vector<AgentReclaim> added_;     // while run() is suspended it uses what going_ holds
  net::Event more_;
  base::MonotonicTime next_look_;
  bool running_ = false;
};

}  // namespace tidemark::yarn_operator
