// Computes the patch of one node: what YARN's containers hold (Koordinator's annotation), and YARN's ledger. Both go in
// one write with the resourceVersion that they were made from, so that no entry of another program is lost.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/reason.h"
#include "model/resources.h"
#include "model/yarn_reclaim.h"
#include "yarn_operator/book.h"

namespace tidemark::yarn_operator {

struct NodeSight {
  std::optional<model::Resources> held;  // by YARN's containers; nullopt: unknown, keep the written value
  // Whether this node obeys the manager's offers. If not, the ledger is removed.
  enum class Book : std::uint8_t { kKeep, kWrite, kRemove } book = Book::kKeep;
  BookInput of_book;       // without `before` and `held`
  std::string nm;          // NodeManager of the ledger (kYarnBookOfAnnotation); "": unchanged
  bool renew_due = false;  // the last write is old
  // Whether agents may ask to reclaim; published before an agent asks. nullopt: unknown, unchanged.
  std::optional<bool> hears{};
  std::optional<model::ReclaimAnswer> lost_answer{};  // an answer to the agent
  // What ended there within the hour for more timely work (PreemptedContainers::to_write).
  std::optional<std::string> preempted{};
};

// Order of writes.
enum class Turn : std::uint8_t {
  kUrgent,   // another program waits: an offer came into force, an agent has no answer
  kNews,     // changes the node
  kRenewal,  // renewal without a change
};

struct NodeWrite {
  std::string body;    // a merge patch
  std::string before;  // the values it replaces, for the audit
  model::Reason reason = model::Reason::kYarnUsed;
  Turn turn = Turn::kNews;
};

// The value on the node; nullopt if absent or unreadable.
model::Resources held_as_written(const kube::Node& node);

// nullopt: the node has everything already.
std::optional<NodeWrite> node_write(const kube::Node& node, const NodeSight& sight, base::WallTime now);

}  // namespace tidemark::yarn_operator
