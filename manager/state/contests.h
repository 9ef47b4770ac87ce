// Detects a second writer of what this manager keeps for a node: the amounts, the NodeSLO, the spec of the NodeMetric
// and the NUMA zones, each by itself (policy/state). What is written again and again by another program is left to it
// and only observed, until the other program does not write for a while or a user orders the node on.
//
// An overwrite of amounts is a change of the node: an amount of ours became another one or went, and the state mark is
// the same. An overwrite of an object is a content that is not ours, in a newer revision, if we would write it again.
// The writer is read from managedFields. The node's condition names it, and a new leader continues from there.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/log.h"
#include "base/metrics.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "kube/recorder.h"
#include "manager/state/node_permit.h"
#include "model/names.h"
#include "model/node.h"
#include "model/reason.h"
#include "net/loop.h"
#include "policy/state/contest.h"

namespace tidemark::manager {

enum class KeptObject : std::uint8_t { kNodeSlo, kNodeMetric, kZones, kAmounts };
inline constexpr std::size_t kKeptObjects = 4;

struct ContestContext {
  kube::Reader& reader;
  kube::EventRecorder& recorder;
  const kube::Informer<kube::Node>& nodes;
  std::function<bool()> leading;
  std::function<void(const std::string& node)> look_at;  // the answer about the node has changed
  policy::state::ContestConfig config = {};
};

struct ObjectSeen {
  std::uint64_t content = 0;   // a hash of our part
  std::uint64_t revision = 0;  // of the object in the cache
  bool differs = false;        // we would write it
};

class Contests {
 public:
  Contests(net::EventLoop& loop, ContestContext context, const base::Log& log, base::Registry& metrics);

  // Around each write of the amounts.
  void before_write(const model::NodeName& node, const model::ExtendedResources& amounts);
  void after_write(const model::NodeName& node, bool written);
  // The write may exist or not; the next change is not attributed to a second writer.
  void lost_write(const model::NodeName& node);
  // Around each write of an object. A write without an answer may exist: nothing counts until the next one.
  void writes(KeptObject object, const model::NodeName& node);
  void wrote(KeptObject object, const model::NodeName& node, std::uint64_t content, std::uint64_t revision);

  LeftToOthers look(const kube::Node& node);  // the amounts
  LeftToOthers look(KeptObject object, const model::NodeName& node, const ObjectSeen& seen);
  // We have no content for the object any more: no second writer is tracked.
  void forget(KeptObject object, const std::string& node);

  void node_changed(const std::string& name, const kube::Node* before, const kube::Node* after);
  void take_over();  // a new leader continues from the nodes' conditions
  void begin();      // the nodes are known and were taken over; until then every object stays as it is
  void leave();      // another process leads: what is known here goes stale

  // The objects of the node that are left to other writers, for its condition; "" without one.
  std::string left(const kube::Node& node) const;

 private:
  struct Entry {
    std::optional<std::uint64_t> ours;     // the content of our last write
    std::optional<std::uint64_t> pending;  // the content of the present write of the amounts
    std::uint64_t revision = 0;            // with `ours`
    std::uint64_t seen = 0;                // while standing back
    policy::state::ContestState contest;
    std::int64_t mark_generation = 0;  // of the node's mark when we stood back
    std::string writer;
  };
  using Entries = std::unordered_map<std::string, Entry>;
  Entries& of(KeptObject object) { return entries_[static_cast<std::size_t>(object)]; }
  Entry* find(KeptObject object, const std::string& node);
  base::Gauge& contested(KeptObject object);
  policy::state::ContestStep happens(KeptObject object, const kube::Node& node, Entry& entry,
                                     policy::state::ContestEvent event);
  void stand_back_again(KeptObject object, const kube::Node& node, std::string writer);
  void stands_back(KeptObject object, const kube::Node& node, Entry& entry);
  void returns(KeptObject object, const std::string& name, Entry& entry, model::Reason reason);
  void count(KeptObject object, int by);
  net::Task<void> find_writer(KeptObject object, std::string name);

  net::EventLoop& loop_;
  ContestContext context_;
  bool begun_ = false;
  base::Log log_;
  base::Registry& metrics_;
  std::array<Entries, kKeptObjects> entries_;
  std::array<std::int64_t, kKeptObjects> counts_{};
  net::Scope scope_;
};

}  // namespace tidemark::manager
