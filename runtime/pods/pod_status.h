// How a pod of this machine stands, as a kubelet tells it in the status.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "policy/single_node/pod_life.h"
#include "runtime/pods/pod_spec.h"
#include "runtime/shim/shim_files.h"

namespace tidemark::runtime {

// Values for the status of a container, beside the decisions of its life.
struct ContainerTold {
  std::string id;             // of the newest attempt; "": none yet
  std::int32_t restarts = 0;  // as the status counts them
  std::optional<ShimRunning> running;
  std::optional<ShimEnded> ended;   // the newest attempt
  std::optional<ShimEnded> before;  // the attempt before it
  std::string before_id;
  std::string not_made;        // why the newest try to begin it came to nothing
  bool out_of_memory = false;  // the kernel ended it for want of memory in its own group
};

// Since when each condition is what it is: only a turn has a time.
class ConditionTimes {
 public:
  base::WallTime of(std::string_view type, bool status, base::WallTime now);

 private:
  struct Turn {
    bool status = false;
    base::WallTime since;
  };
  std::map<std::string, Turn, std::less<>> turns_;
};

struct PodTold {
  const RunPod& pod;
  const policy::single_node::PodLifeStep& life;
  std::span<const ContainerTold> containers;  // in the order of the pod's
  base::WallTime started;
  std::string_view reason;  // of a pod that failed by another cause than its containers
  std::string_view message;
};

// The object of "status" for a patch, the same text where nothing changed.
std::string pod_status(const PodTold& told, ConditionTimes& times, base::WallTime now);

}  // namespace tidemark::runtime
