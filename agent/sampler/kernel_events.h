// Events of the kernel's log that concern the node's tasks: out-of-memory kills, hung tasks, stuck CPUs, each with the
// task that owns the group.
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kmsg.h"

namespace tidemark::agent {

struct KernelEvent {
  linux::KernelIncidentKind kind = linux::KernelIncidentKind::kOomKill;
  std::int64_t since_boot_us = 0;
  std::optional<pid_t> pid;
  std::string task;  // the process's name, cut by the kernel
  std::string group,
      limit_group;  // a kill: the victim's group, and the group whose limit was hit; empty: unknown, or the machine's
  std::optional<TaskHandle> owner;        // of the group; nullopt: the system's, or no group is known
  std::optional<TaskHandle> limit_owner;  // of the limit
  std::optional<std::int64_t> anon_bytes;
  std::optional<int> cpu;
  std::optional<std::int64_t> seconds;
};

class KernelEvents {
 public:
  static constexpr std::size_t kEventsMax = 256;  // waiting for take(); beyond that, the oldest are dropped
  static constexpr int kMessagesMax = 1000;       // read in one call
  static constexpr base::Duration kDearInterval = std::chrono::seconds(10);  // if each read is expensive

  // Reads the log from now on. The log names groups from the root of their hierarchy, and the mount may show only a
  // part of it.
  static Result<KernelEvents> open(const std::string& path, linux::KernelLog::From, const linux::Hierarchies&);

  base::Duration interval() const { return log_.is_dear() ? kDearInterval : base::Duration(0); }  // between two read()

  // False: the limit was reached before the end of the log; call again.
  Result<bool> read(const TaskSnapshot&);
  // Those since the last call, oldest first.
  std::vector<KernelEvent> take();

  std::int64_t count(linux::KernelIncidentKind kind) const { return counts_[static_cast<std::size_t>(kind)]; }
  std::int64_t dropped() const { return dropped_; }
  std::int64_t lost() const { return log_.lost(); }  // messages overwritten by the kernel before they were read

 private:
  KernelEvents(linux::KernelLog log, std::string mount_root)
      : log_(std::move(log)), mount_root_(std::move(mount_root)) {}
  bool completes_a_kill(const linux::KernelIncident&);
  std::optional<TaskHandle> owner(const TaskSnapshot&, std::string_view group) const;

  static constexpr std::size_t kKinds = 6;
  linux::KernelLog log_;
  std::string mount_root_;
  std::vector<KernelEvent> events_;
  std::array<std::int64_t, kKinds> counts_{};
  std::int64_t dropped_ = 0;
};

}  // namespace tidemark::agent
