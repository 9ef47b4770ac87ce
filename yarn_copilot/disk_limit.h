// How fast YARN's containers of this node may read from and write to the disks of their NodeManager's local folders,
// all of them together: a limit of the group that they are in. What was in force before is put back at the end.
//
//   v1   a group's limit does not hold the groups below it, so containers are in the group itself there (Machine)
//   v2   the group of each is below it, and held
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/io_limit.h"
#include "model/audit_line.h"
#include "net/loop.h"
#include "net/worker.h"

namespace tidemark::yarn_copilot {

struct DiskLimitConfig {
  std::vector<std::string> folders;
  linux::IoLimit wanted;  // of each disk
  std::string sys_root = "/sys";
  base::Duration interval = std::chrono::seconds(10);
};

class DiskLimit {
 public:
  // Loop and hierarchies outlive it. `group`: of all containers; its own parent is a kubelet's, and nothing is made
  // before that is there.
  DiskLimit(net::EventLoop& loop, const linux::Hierarchies& hierarchies, std::string group, base::Log log,
            base::Registry& metrics, std::function<void(model::AuditLine)> audit, DiskLimitConfig config);

  // Whether this machine has it in v1: containers are then to be in the group itself.
  static bool wants_one_group(const linux::Hierarchies& hierarchies);

  net::Task<void> run();
  net::Task<void> pass();      // somebody else may have written, a disk may have come
  net::Task<void> put_back();  // what was found, where ours is still there

 private:
  struct Change {
    linux::DiskNumber disk;
    linux::IoLimit found, now;
  };
  struct Report {
    std::vector<Change> changes;
    std::set<linux::DiskNumber> in_force;
    std::set<std::string> wrong;
  };
  static Report put_in_force(const linux::Hierarchies& hierarchies, const std::string& group,
                             const DiskLimitConfig& config);
  void tell(const Change& change, const char* what);

  net::EventLoop& loop_;
  const linux::Hierarchies& hierarchies_;
  const std::string group_;
  base::Log log_;
  base::Gauge& disks_;
  std::function<void(model::AuditLine)> audit_;
  const DiskLimitConfig config_;
  std::map<linux::DiskNumber, linux::IoLimit> found_;
  std::set<std::string> told_;
  net::WorkerPool worker_;  // of its own: a disk may hang
};

}  // namespace tidemark::yarn_copilot
