// Limits the reads and writes of all YARN containers of this node on the disks of the NodeManager's local directories:
// an I/O limit of their common cgroup. The original values are restored at the end.
//
//   v1   a limit does not apply to cgroups below, so containers are in that cgroup itself (Machine)
//   v2   the cgroup of each container is below it and limited too
//
// The node's agent sends a permit (copilot/limit_permit.h):
//
//   none yet    keep the values for `permit_patience`; then like enforce: there is no Tidemark agent on the node
//   enforce     limit
//   keep        keep the values
//   restore     restore the original values
//   off         the same, but only when no container runs: running work is not loosened
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/json.h"
#include "base/log.h"
#include "base/metrics.h"
#include "copilot/limit_permit.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/io_limit.h"
#include "model/audit_line.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_copilot/containers.h"

namespace tidemark::yarn_copilot {

struct DiskLimitConfig {
  std::string group;  // contains all containers; a kubelet makes its parent, and nothing is made before that exists
  std::vector<std::string> folders;
  linux::IoLimit wanted;  // for each disk
  std::string sys_root = "/sys";
  base::Duration permit_patience = std::chrono::seconds(30);
  base::Duration interval = std::chrono::seconds(10);
};

class DiskLimit {
 public:
  // Loop, hierarchies and containers must outlive it.
  DiskLimit(net::EventLoop& loop, const linux::Hierarchies& hierarchies, Containers& containers, base::Log log,
            base::Registry& metrics, std::function<void(model::AuditLine)> audit, DiskLimitConfig config);

  // Whether this machine has I/O limits in v1: containers must then be in the cgroup itself.
  static bool wants_one_group(const linux::Hierarchies& hierarchies);

  net::Task<void> run();
  net::Task<void> put_back();  // restores original values, if ours is still there

  // The agent's permit; applied at once.
  void set_permit(copilot::LimitPermit permit);
  // The limit and its state, in one line; "" if no limit is configured.
  std::string says() const;
  // {"permit":"enforce","readBytesPerSecond":1,"writeBytesPerSecond":null,"group":"…","disks":[{"disk":"8:0",
  //  "inForce":true,"stands":{…},"before":{…}}],"wrong":["…"]}; the permit is null until an agent sent one
  void write(base::JsonWriter& json) const;

 private:
  struct Change {
    linux::DiskNumber disk;
    linux::IoLimit found, now;
  };
  struct Report {
    std::vector<Change> changes;
    std::map<linux::DiskNumber, linux::IoLimit> stands;  // now, written by any program
    std::set<std::string> wrong;
  };
  enum class Step : std::uint8_t { kKeep, kLimit, kRestore };

  static Report put_in_force(const linux::Hierarchies& hierarchies, const DiskLimitConfig& config);
  static Report restore(const linux::Hierarchies& hierarchies, const DiskLimitConfig& config,
                        const std::map<linux::DiskNumber, linux::IoLimit>& found);
  bool limits() const { return config_.wanted != linux::IoLimit(); }
  bool is_ours(const linux::IoLimit& stands) const;
  std::size_t in_force() const;
  net::Task<Step> next_step();
  net::Task<void> limit();
  void take(Report report, const char* what);
  void tell(const Change& change, const char* what);

  net::EventLoop& loop_;
  const linux::Hierarchies& hierarchies_;
  Containers& containers_;
  base::Log log_;
  base::Gauge& disks_;
  base::Gauge& enforced_;
  std::function<void(model::AuditLine)> audit_;
  const DiskLimitConfig config_;
  const base::MonotonicTime began_;
  std::optional<copilot::LimitPermit> permit_;
  net::Event said_;
  std::map<linux::DiskNumber, linux::IoLimit> found_;   // original values of limited disks
  std::map<linux::DiskNumber, linux::IoLimit> stands_;  // at the last pass
  std::set<std::string> wrong_;                         // at the last pass
  std::set<std::string> told_;
  net::WorkerPool worker_;  // its own, because a disk may hang
};

}  // namespace tidemark::yarn_copilot
