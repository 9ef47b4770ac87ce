// Remembers the last write of this process to each node and whether it is still in place. Only this decides whether a
// node needs a repair, which goes ahead of everything else.
//
//   kAsWritten   the node carries the values of the last write
//   kLost        an amount or the origin annotation is gone (the node was recreated, or another writer removed it)
//   kChanged     an amount or the origin differs
//
// A node that was not yet written under this epoch was written by a predecessor: the values it had before it lost some
// count as ours. Fields of disabled plugins do not count.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>

#include "base/clock.h"
#include "kube/objects.h"
#include "model/names.h"
#include "model/node.h"
#include "policy/sell/overcommit/plugins.h"

namespace tidemark::manager {

// A node that is recreated within this time is recognized as recreated.
inline constexpr base::Duration kMadeAnewWithin = std::chrono::minutes(10);
// If the cache is behind our own write for longer than this, the server was restored to an older state.
inline constexpr base::Duration kBehindMax = std::chrono::seconds(30);

enum class LeftAs : std::uint8_t { kNotWritten, kBehind, kAsWritten, kLost, kChanged };

inline bool needs_repair(LeftAs left) {
  return left == LeftAs::kLost || left == LeftAs::kChanged;
}

class OwnWrites {
 public:
  explicit OwnWrites(policy::sell::PluginSet plugins) : plugins_(plugins) {}

  // `after`: the node in the server's answer.
  void wrote(const kube::Node& after, std::int64_t epoch, base::MonotonicTime now);
  // Another writer wrote the same values: nothing to repair.
  void accept(const kube::Node& node);
  // A write would change nothing and counts as made: the next refresh is due after the same interval.
  void stands(const kube::Node& node, base::MonotonicTime now);
  void forget(const model::NodeName& node) { writes_.erase(node), inherited_.erase(node); }
  // A node changed or is gone (`after` null). While another replica leads, our last write means nothing.
  void saw(const kube::Node& before, const kube::Node* after, bool leading, std::optional<std::int64_t> epoch,
           base::MonotonicTime now);
  // The node is deleted.
  void gone(const model::NodeName& node, base::MonotonicTime now);

  // How long ago it was written under this epoch; nullopt: never. A write under another epoch counts as none: a new
  // leader writes every node once, so that each carries its epoch and a write of its predecessor's that is still under
  // way meets another revision.
  std::optional<base::Duration> since(const model::NodeName& node, std::optional<std::int64_t> epoch,
                                      base::MonotonicTime now) const;
  LeftAs left_as(const kube::Node& node, std::optional<std::int64_t> epoch, base::MonotonicTime now) const;
  // Whether the node carries exactly these values in capacity and allocatable.
  bool carries(const kube::Node& node, const model::ExtendedResources& amounts,
               const std::optional<model::Resources>& origin) const;

 private:
  struct Carried {
    model::ExtendedResources capacity;
    model::ExtendedResources allocatable;
    std::optional<model::Resources> origin;
    bool operator==(const Carried&) const = default;
  };
  struct Written {
    base::MonotonicTime when;
    std::int64_t epoch = 0;
    std::uint64_t revision = 0;
    Carried carried;
  };
  struct Inherited {
    base::MonotonicTime when;
    Carried carried;
  };
  struct Gone {
    base::MonotonicTime when;
    model::NodeName node;
  };
  const Written* written(const model::NodeName& node, std::optional<std::int64_t> epoch) const;
  Carried carried_by(const kube::Node& node) const;
  void keep_ours(Carried& carried) const;
  static bool lacks(const Carried& now, const Carried& written);

  policy::sell::PluginSet plugins_;
  std::unordered_map<model::NodeName, Written> writes_;
  std::unordered_map<model::NodeName, Inherited> inherited_;  // of those that lost some of it
  std::deque<Gone> gone_;                                     // by time; entries expire after kMadeAnewWithin
};

}  // namespace tidemark::manager
