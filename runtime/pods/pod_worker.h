// One pod of this machine: carries out what policy/single_node says of it, follows its containers and probes, tells the
// server how it stands, and removes the object once it was deleted and nothing of it is left.
//
// What it needs to go on after this process lies in the folders of its containers (runtime/containers.h) and in the
// object itself; nothing is kept beside them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "kube/client.h"
#include "linux/cgroup/hierarchies.h"
#include "net/loop.h"
#include "policy/single_node/pod_life.h"
#include "runtime/containers.h"
#include "runtime/pods/pod_groups.h"
#include "runtime/pods/pod_spec.h"
#include "runtime/pods/pod_status.h"
#include "runtime/pods/probe.h"

namespace tidemark::runtime {

struct PodLogs {
  std::string dir;  // DIR/NAMESPACE_NAME_UID/CONTAINER/ATTEMPT.log
  std::int64_t bytes_max = std::int64_t{10} << 20;
  std::int64_t files_max = 5;
  base::Duration whole_for =
      std::chrono::seconds(30);  // after a pod's end, so that a command that follows the log reads all of it
  // What a container keeps beside the attempt that runs, of all before it; and of all once its pod has ended for good.
  std::int64_t before_bytes_max() const { return bytes_max * files_max; }
  std::int64_t ended_bytes_max() const { return bytes_max; }
};

// What all pods share; it outlives them.
struct PodSurroundings {
  net::EventLoop& loop;
  kube::Client& client;
  base::Log log;
  Containers& containers;
  PodGroups* groups = nullptr;                      // null: no permission to make cgroups
  const linux::Hierarchies* hierarchies = nullptr;  // with groups
  PodLogs logs;
};

class PodWorker {
 public:
  // `over` is called on the loop once nothing of the pod is left here and the server has forgotten it.
  PodWorker(PodSurroundings& around, std::shared_ptr<const RunPod> pod, std::function<void()> over);
  ~PodWorker();
  PodWorker(const PodWorker&) = delete;
  PodWorker& operator=(const PodWorker&) = delete;

  void use(std::shared_ptr<const RunPod> pod);  // as the server has it now
  void lost();                                  // the server has it no more
  void look(const ContainerPlace& place);       // something of a container or of a probe's program changed

  bool runs() const;                                      // something of it, here
  bool clears() const { return clearing_ && !cleared_; }  // its groups are being ended
  const RunPod& pod() const { return *pod_; }
  // "status" as it is now, whether the server took it already or not; "" while nothing is known.
  const std::string& status() const { return status_; }

 private:
  struct Held {
    policy::single_node::ContainerRun run;
    ContainerTold told;
    std::int32_t attempt = -1;  // the newest; -1: none
    std::unique_ptr<Probe> startup, liveness, readiness;
  };

  void adopt();
  void step_soon();
  void step();
  void see(std::size_t i);
  void see_end(std::size_t i, const ShimEnded& ended);
  bool ends() const;
  bool past_deadline() const;
  void act(const policy::single_node::LifeAct& act);
  void ask(std::size_t i);
  void begin(std::size_t i);
  void not_made(std::size_t i, const std::string& why);
  Result<ShimBegin> how_to_begin(std::size_t i, std::int32_t attempt);
  void follow_probes(std::size_t i);
  std::unique_ptr<Probe> probe(std::size_t i, const std::optional<ProbeSpec>& spec, std::string_view kind,
                               std::function<void(Held&, bool)> told);
  void show(const policy::single_node::PodLifeStep& life);
  void refuse();
  void finish();
  net::Task<void> write();
  net::Task<void> remove();
  bool clears_away();
  net::Task<void> clear_away();
  net::Task<void> remove_group(std::string id);
  ContainerPlace place(std::size_t i) const;
  std::string name_of_pod() const;
  std::string logs_of(std::string_view container) const;  // the folder; "": of all of them

  PodSurroundings& around_;
  std::shared_ptr<const RunPod> pod_;
  std::function<void()> over_called_;
  std::vector<policy::single_node::LifeContainer> roles_;
  std::vector<Held> held_;
  bool stepping_ = false, lost_ = false, over_ = false, writing_ = false, removing_ = false;
  bool clearing_ = false, cleared_ = false;
  base::WallTime started_;     // as its status says
  base::MonotonicTime began_;  // the same on the monotonic clock: its deadline counts from here
  ConditionTimes times_;
  std::string status_, written_;
  net::Timer again_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>(true);  // for what is posted
  net::Scope scope_;                                           // last: its tasks use everything above
};

}  // namespace tidemark::runtime
