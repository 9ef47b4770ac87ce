// Tracks pending batch pods for the ledgers of pools. The ledgers see it in steps, because one pod that is bound a
// second later should not move the offer of a node. The pending amount is current: a bound pod is held, and nothing is
// reclaimed for it again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "manager/capacity/pod_projection.h"
#include "manager/shared.h"
#include "net/loop.h"
#include "policy/sell/ledger/books.h"
#include "policy/waterline/pools.h"

namespace tidemark::manager {

inline constexpr std::string_view kWaitingPods = "spec.nodeName=,status.phase=Pending";  // as a field selector

// Timeliness class of the work that the pod waits for; nullopt if it requests no batch resources.
std::optional<std::int64_t> waits_as(const PodProjection& pod, std::span<const model::WorkClass> classes);

class WaitingPods {
 public:
  static constexpr base::Duration kLook = std::chrono::seconds(5);
  enum class Change : std::uint8_t {
    kWhat,     // whether work is pending, or its timeliness
    kHowMuch,  // by a tenth or more, or nothing does any more
  };
  using OnChange = std::function<void(Change)>;

  WaitingPods(const Shared& shared, base::Random random,
              std::function<const policy::waterline::TidemarkConfig&()> settings, OnChange on_change);

  void start();  // until destroyed
  // From the watch of bound pods, which may be ahead of ours; null: the pod is gone.
  void bound(const kube::ObjectKey& key, const PodProjection* pod);
  const policy::sell::Waiting& state() const { return state_; }

 private:
  struct Sum {
    std::int64_t pods = 0;
    model::Resources amount;
  };
  void changed(const kube::ObjectKey& key, const PodProjection* before, const PodProjection* after);
  void count(const PodProjection& pod, int sign);
  void recount();
  std::optional<policy::sell::WaitingWork> work() const;
  void amount_changed();
  net::Task<void> watch();

  net::EventLoop& loop_;
  kube::Informer<PodProjection> pods_;  // unbound pods; bound pods come from another watch
  std::function<const policy::waterline::TidemarkConfig&()> settings_;
  OnChange on_change_;
  policy::sell::Waiting state_;
  std::map<std::string, Sum, std::less<>> by_class_;
  std::set<kube::ObjectKey> bound_;  // of those that we have still
  model::Resources told_amount_;     // at the last change
  net::Scope scope_;                 // last: its tasks use everything above
};

}  // namespace tidemark::manager
