// The least that each node could offer at each hour of the day lately (policy/sell/least.h): learned by every replica
// from its own decisions, kept by the leader over restarts (manager/history), and what an offer decays toward when the
// reports of a node stop. Of nodes whose pool says `profile: tidemark` alone; others have no motion.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "base/log.h"
#include "manager/history/store.h"
#include "model/names.h"
#include "model/resources.h"
#include "policy/sell/least.h"

namespace tidemark::manager {

inline constexpr std::string_view kLeastKind = "least";  // of manager/history
inline constexpr HistoryVersion kLeastVersion{2, 1};     // 1: as text

class LeastOffers {
 public:
  // `wanted`: whether any pool has motion. `known`: whether the node exists.
  LeastOffers(HistoryContext context, std::function<bool()> wanted, std::function<bool(const model::NodeName&)> known,
              const base::Log& log);

  void start();  // until destroyed; once the nodes are known
  void leadership_changed() { store_.look(); }

  std::optional<model::Resources> at(const model::NodeName& node, base::WallTime now) const;
  void learn(const model::NodeName& node, const model::Resources& could, base::WallTime now);
  void forget(const model::NodeName& node) { offers_.erase(node); }

 private:
  std::unordered_map<model::NodeName, policy::sell::LeastOffers> offers_;
  std::function<bool()> wanted_;
  std::function<bool(const model::NodeName&)> known_;
  HistoryStore store_;
};

}  // namespace tidemark::manager
