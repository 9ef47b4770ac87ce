// The groups of pods, where a kubelet would have them and with what a kubelet would write, so that everything that
// knows a kubelet's groups knows these:
//
//   ROOT/kubepods[/burstable|/besteffort]/pod<uid>/<container id>
//   ROOT/shims                      those of online pods; and of all in hierarchies without processors
//   ROOT/kubepods/besteffort/shims  those of offline pods, where processors are shared out: to read what such a pod
//                                   writes without end would else take a processor beside whatever holds it
//
// Limits of batch resources are the agent's to write; it finds the groups by their names.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/kill.h"
#include "linux/cgroup/write.h"
#include "linux/kubepods.h"
#include "model/resources.h"
#include "net/loop.h"
#include "net/worker.h"
#include "runtime/pods/pod_spec.h"

namespace tidemark::runtime {

// The same for every attempt's shim, log and status: 64 hexadecimal digits, as runtimes of containers have them.
std::string container_id(std::string_view uid, std::string_view name, std::int32_t attempt);

// As a kubelet writes it for the specification of a pod, and of a container.
struct GroupLimits {
  std::int64_t shares = 0, quota_us = 0, memory = 0;  // v1's; -1: no limit
  bool operator==(const GroupLimits&) const = default;
};
GroupLimits pod_limits(const RunPod& pod);
GroupLimits container_limits(const RunContainer& container);

class PodGroups {
 public:
  // All outlive it. `root`: a cgroup of ours, "/tidemark"; no other program makes cgroups in it.
  PodGroups(net::EventLoop& loop, const linux::Hierarchies& hierarchies, linux::KillRim& rim, std::string_view root);

  // Those above the pods, and those of the shims. What another one like this left there stays.
  Result<void> make(model::Resources allocatable);
  // Answers the files that a process of the container joins by. The pod's own limits are written with its `first`
  // container, and where its group is made anew (after a reboot): what the agent made of them since is not undone.
  Result<std::vector<std::string>> make_container(const RunPod& pod, const RunContainer& container,
                                                  const std::string& id, bool first);
  std::vector<std::string> shim_processes(bool offline) const;
  std::string container_path(const RunPod& pod, const std::string& id) const;
  // SIGTERM to each process of the container, and of groups that it made below its own.
  Result<void> ask(const RunPod& pod, const std::string& id);
  // With whatever is in them, one after the other on a thread of their own: a process that the kernel does not let go
  // (its disk hangs) is waited for, for seconds.
  net::Task<Result<void>> remove_container(const RunPod& pod, const std::string& id);
  net::Task<Result<void>> remove_pod(const RunPod& pod);
  // Groups of pods that are not known, emptied and removed: of a process before this one. Each is asked for on the loop
  // just before its end.
  using IsKnown = std::function<bool(const std::string& uid)>;
  net::Task<Result<std::size_t>> remove_others(IsKnown is_known);
  // All of it, once no pod is there any more.
  Result<void> remove_all();

 private:
  bool runs_idle(const linux::Group& group);
  Result<void> write(const std::string& path, std::span<const std::pair<linux::File, std::int64_t>> values);
  Result<void> limit(const std::string& path, const GroupLimits& limits);
  Result<std::map<std::string, std::string>> uids_by_path() const;
  net::Task<Result<void>> end(std::string path);

  net::EventLoop& loop_;
  const linux::Hierarchies& hierarchies_;
  linux::KillRim& rim_;
  linux::KernelGroupKiller killer_;
  linux::Kubepods layout_;
  std::string root_;
  std::string shims_, offline_shims_;
  linux::Buffer buffer_;
  net::WorkerPool worker_;  // last: it uses what is above
};

}  // namespace tidemark::runtime
