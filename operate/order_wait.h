// Waiting until an order has come about.
//
// `off`: until nothing of what was switched off is offered any more, draining is over, and each agent that was ever
// there says that what runs is held to its least; where the agents are to be taken out, until none of them has a file
// of the kernel in force. The manager need not be there: what is off by time is off without it. Who cannot be
// waited for like that is counted apart: nodes without a word of any agent, whose kubelet is silent too, or whose agent
// says what this version does not know.
//
// `on`, `observe`: until a manager has taken it up, by what it says in the node's condition of this very order; amounts
// prove nothing of a node with nothing to sell, nor of one that kept them. A node without that condition, as beside
// Koordinator's manager, is on when it offers something. Where a wider order is stricter nothing comes after the mark.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "net/loop.h"
#include "operate/order.h"

namespace tidemark::operate {

struct WaitProgress {
  std::size_t nodes = 0;  // that were marked and are still there
  std::size_t draining = 0;
  std::size_t offering = 0;     // off, and the node still carries amounts
  std::size_t limiting = 0;     // nothing is offered, and its agent has not said yet that it obeys
  std::size_t silent = 0;       // of those limiting: its kubelet does not answer either
  std::size_t other_words = 0;  // of those limiting: its agent is of another version
  std::size_t in_force = 0;     // its agent obeys, and where none is to be some file of the kernel is in force
  std::size_t unheard = 0;      // on or observed by its mark, and no manager has said so
  std::size_t reached = 0;
  bool operator==(const WaitProgress&) const = default;
};

struct WaitReport {
  bool reached = false;  // by every node that the order is for
  bool listed = false;   // false: it is unknown how far it is
  WaitProgress last;
  std::vector<std::string> not_reached;  // by name
  std::vector<std::string> in_force;     // those in_force, each with what its agent says
  // Of those limiting: whose kubelet does not answer either, and "n1 (Sleeping)" whose agent says a word of another
  // version.
  std::vector<std::string> silent, other_words;
  // Reached, but no agent says that what runs is held: no agent of ours ever reported there.
  std::vector<std::string> without_agent;
  std::vector<std::string> not_marked;  // that failed in the report, by name: there is nothing to wait for
};

// Whether something of what `off` is about is still offered by the node, or drains.
bool still_offers(const kube::Node& node, const OrderOptions& options, base::WallTime now);

// What the agent of a node says about an order for all its offline work.
enum class AgentAnswer : std::uint8_t {
  kNoAgent,      // no agent of ours ever reported
  kUnconfirmed,  // it has not reported that it obeys the mark that the node has now
  kInForce,      // it obeys, and some kernel file is in force
  kNothing,      // it obeys, and no kernel file is in force
};
AgentAnswer agent_answer(const kube::Node& node);

struct NodesInForce {
  std::vector<std::string> nodes;        // whose agents may have files of the kernel in force, by name
  std::vector<std::string> beside_peer;  // where Koordinator's agent runs, and ours has none
};
net::Task<Result<NodesInForce>> nodes_in_force(kube::Client& client, base::Duration limit);

struct WaitOptions {
  base::Duration limit;
  std::function<void(const WaitProgress&)> on_progress = nullptr;  // gets each change, once a second at most
  bool until_drained = false;                                      // of `off`: ends when no node drains any more
};

// Follows the nodes of the report with one watch.
net::Task<WaitReport> wait_for_order(net::EventLoop& loop, kube::Client& client, const base::Log& log,
                                     base::Random random, const OrderReport& report, const OrderOptions& options,
                                     WaitOptions wait);

}  // namespace tidemark::operate
