// How fast YARN's containers of this node may read from and write to the disks of their NodeManager's local folders,
// all of them together: a limit of the group that they are in. What was in force before is put back at the end.
//
//   v1   a group's limit does not hold the groups below it, so containers are in the group itself there (Machine)
//   v2   the group of each is below it, and held
//
// It stands as the node's agent says (copilot/limit_stance.h):
//
//   nobody said anything yet        what stands stays, for `stance_patience`; then as enforce: no agent of ours is here
//   enforce                         in force
//   keep                            what stands stays
//   observe                         what was found is put back
//   off                             the same, once no container runs: nobody who runs is loosened
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
#include "copilot/limit_stance.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/io_limit.h"
#include "model/audit_line.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_copilot/containers.h"

namespace tidemark::yarn_copilot {

struct DiskLimitConfig {
  std::vector<std::string> folders;
  linux::IoLimit wanted;  // of each disk
  std::string sys_root = "/sys";
  base::Duration stance_patience = std::chrono::seconds(30);
  base::Duration interval = std::chrono::seconds(10);
};

class DiskLimit {
 public:
  // Loop, hierarchies and containers outlive it. `group`: of all containers; its own parent is a kubelet's, and nothing
  // is made before that is there.
  DiskLimit(net::EventLoop& loop, const linux::Hierarchies& hierarchies, Containers& containers, std::string group,
            base::Log log, base::Registry& metrics, std::function<void(model::AuditLine)> audit,
            DiskLimitConfig config);

  // Whether this machine has it in v1: containers are then to be in the group itself.
  static bool wants_one_group(const linux::Hierarchies& hierarchies);

  net::Task<void> run();
  net::Task<void> put_back();  // what was found, where ours is still there

  // What the node's agent says; obeyed at once.
  void stand(copilot::LimitStance stance);
  // What is in force, or would be, in one line; "" where nothing is ever limited.
  std::string says() const;
  // {"stance":"enforce","readBytesPerSecond":1,"writeBytesPerSecond":null,"group":"…","disks":[{"disk":"8:0",
  //  "inForce":true,"stands":{…},"before":{…}}],"wrong":["…"]}; the stance is null where no agent said one
  void write(base::JsonWriter& json) const;

 private:
  struct Change {
    linux::DiskNumber disk;
    linux::IoLimit found, now;
  };
  struct Report {
    std::vector<Change> changes;
    std::map<linux::DiskNumber, linux::IoLimit> stands;  // now, ours or somebody else's
    std::set<std::string> wrong;
  };
  enum class Wish : std::uint8_t { kKeep, kLimit, kPutBack };

  static Report put_in_force(const linux::Hierarchies& hierarchies, const std::string& group,
                             const DiskLimitConfig& config);
  static Report restore(const linux::Hierarchies& hierarchies, const std::string& group, const DiskLimitConfig& config,
                        const std::map<linux::DiskNumber, linux::IoLimit>& found);
  bool limits() const { return config_.wanted != linux::IoLimit(); }
  bool is_ours(const linux::IoLimit& stands) const;
  std::size_t in_force() const;
  net::Task<Wish> wish();
  net::Task<void> limit();
  void take(Report report, const char* what);
  void tell(const Change& change, const char* what);

  net::EventLoop& loop_;
  const linux::Hierarchies& hierarchies_;
  Containers& containers_;
  const std::string group_;
  base::Log log_;
  base::Gauge& disks_;
  base::Gauge& enforced_;
  std::function<void(model::AuditLine)> audit_;
  const DiskLimitConfig config_;
  const base::MonotonicTime began_;
  std::optional<copilot::LimitStance> stance_;
  net::Event said_;
  std::map<linux::DiskNumber, linux::IoLimit> found_;   // before ours, of disks that are limited
  std::map<linux::DiskNumber, linux::IoLimit> stands_;  // at the last look
  std::set<std::string> wrong_;                         // at the last look
  std::set<std::string> told_;
  net::WorkerPool worker_;  // of its own: a disk may hang
};

}  // namespace tidemark::yarn_copilot
