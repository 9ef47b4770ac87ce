// The groups that the kubelet creates: which pods have one, and where. The kernel reports new ones when their directory
// is created; a periodic look finds the rest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/group_watch.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kubepods.h"
#include "net/loop.h"

namespace tidemark::agent {

struct PodGroupsConfig {
  std::string kubelet_root = "/";             // the kubelet's cgroupRoot
  std::optional<linux::CgroupDriver> driver;  // nullopt: detected from existing groups
  base::Duration interval = std::chrono::seconds(10);
  // For looks after kernel events (contract 7.1).
  double looks_per_second = 5;
  std::int64_t looks_burst = 10;
};

class PodGroups {
 public:
  // All arguments outlive it.
  PodGroups(net::EventLoop& loop, const linux::Hierarchies& hierarchies, base::Log log, PodGroupsConfig config);

  // Both before run(), called from it.
  void on_change(std::function<void()> told) { on_change_.push_back(std::move(told)); }    // pods() or kubepods()
  void on_new_pod(std::function<void()> told) { on_new_pod_.push_back(std::move(told)); }  // after on_change

  net::Task<void> run();
  // Looks now. If something cannot be read, the last result stays.
  Result<void> look();

  // Null: the kubelet has created no group yet, so its naming is unknown.
  const linux::Kubepods* kubepods() const { return kubepods_ ? &*kubepods_ : nullptr; }
  const std::vector<linux::LivePod>& pods() const { return pods_; }  // by uid
  const linux::LivePod* find(std::string_view uid) const;
  // The last look saw everything.
  bool current() const { return current_; }

 private:
  Result<void> walk();
  Result<void> detect();
  bool watch_all();  // whether one is new

  net::EventLoop& loop_;
  const linux::Hierarchies& hierarchies_;
  base::Log log_;
  PodGroupsConfig config_;
  std::size_t hierarchy_ = 0;  // the one that is searched for pods
  std::optional<linux::Kubepods> kubepods_;
  std::vector<linux::LivePod> pods_;
  bool current_ = false;
  std::vector<std::function<void()>> on_change_, on_new_pod_;

  net::Event woken_;
  GroupWatch watch_;
  base::TokenBucket looks_;
};

}  // namespace tidemark::agent
