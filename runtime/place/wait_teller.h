// Tells waiting pods what they wait for, in their condition PodScheduled. Only where it is another thing than before
// (policy/single_node/telling.h), one write after the other, and none sooner than kTellPause after the last to that
// pod.
//
// Each write names the revision of the pod that it was decided on: a pod that was bound meanwhile is not told anything.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "kube/client.h"
#include "net/loop.h"
#include "policy/single_node/queue_types.h"
#include "runtime/place/queued_pod.h"

namespace tidemark::runtime {

inline constexpr base::Duration kTellPause = std::chrono::seconds(5);
inline constexpr base::Duration kTellRetry = std::chrono::seconds(30);  // after a write that failed

class WaitTeller {
 public:
  struct Waits {
    std::string uid, ns, name;
    policy::single_node::QueueWait wait;
  };
  using FindPod = std::function<const QueuedPod*(std::string_view ns, std::string_view name)>;

  WaitTeller(net::EventLoop& loop, kube::Writer& client, const base::Log& log, FindPod find_pod);

  net::Task<void> run();
  // All waiting pods, in the order of their writes.
  void set(std::vector<Waits> waiting);

 private:
  struct Told {
    std::optional<policy::single_node::QueueWait> wait;  // nullopt: not by this process
    std::optional<base::MonotonicTime> not_before;
    bool waits = false;
  };
  const Waits* next_due(std::optional<base::Duration>& later);
  bool is_news(const Waits& waits, Told& told) const;
  net::Task<void> write(Waits waits);
  std::string body_of(const QueuedPod& pod, const policy::single_node::QueueWait& wait) const;

  net::EventLoop& loop_;
  kube::Writer& client_;
  base::Log log_;
  FindPod find_pod_;
  std::vector<Waits> waiting_;
  std::map<std::string, Told, std::less<>> told_;  // by uid; of those that wait, and their writes a moment ago
  bool failing_ = false;
  net::Event changed_;
};

}  // namespace tidemark::runtime
