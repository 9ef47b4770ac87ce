// Whether batch pods wait for capacity: ledgers of pools give by that. Looked at in steps, since one pod that is bound
// a second later moves no node's offer.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "manager/capacity/pod_projection.h"
#include "net/loop.h"
#include "policy/ledger/books.h"
#include "policy/pools/pools.h"

namespace tidemark::manager {

inline constexpr std::string_view kWaitingPods = "spec.nodeName=,status.phase=Pending";  // as a field selector

// How timely what a pod waits for is; nullopt where it asks for no batch resources.
std::optional<std::int64_t> waits_as(const PodProjection& pod, std::span<const policy::WorkClass> classes);

class WaitingPods {
 public:
  static constexpr base::Duration kLook = std::chrono::seconds(5);

  WaitingPods(net::EventLoop& loop, kube::Client& client, kube::Interner& interner, const base::Log& log,
              base::Registry& metrics, base::Random random, std::function<const policy::TidemarkConfig&()> settings,
              std::function<void()> on_change);

  void start();  // until destroyed
  const policy::Waiting& state() const { return state_; }

 private:
  net::Task<void> watch();

  net::EventLoop& loop_;
  kube::Informer<PodProjection> pods_;  // those that are not bound; the ones that are bound come by another watch
  std::function<const policy::TidemarkConfig&()> settings_;
  std::function<void()> on_change_;  // whether something waits, or how timely it is
  policy::Waiting state_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::manager
