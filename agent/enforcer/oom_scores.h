// Sets the oom_score_adj of processes (policy/protect/priority/oom_order.h) and restores the original values.
//
//   before a process gets a value        its original value goes to the journal (oom_journal.h)
//   a child of such a process            inherits its value: it is restored to the parent's original value
//   in a group that the plan omits       the original value is written, only over a value of ours
//   switched off                         lowered values are restored; raised ones stay until the process ends: as with
//                                        groups, running offline work is not loosened
//
// A value that cannot be read or written now stays, also in the journal, until a later pass succeeds: a group that
// could not be read keeps its processes. Only a process that the kernel does not allow to be lowered is left alone for
// good.
//
// A process that ends or leaves its group meanwhile is no error. A reused pid is never written by mistake: each process
// is held open, then seen in its group, and identified by its start time.
//
// For one thread, which holds the journal of files of that folder.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/enforcer/oom_journal.h"
#include "base/result.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "linux/proc/oom_score.h"
#include "model/reason.h"
#include "policy/protect/priority/oom_order.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

inline constexpr std::size_t kOomWritesAPass = 256;  // descriptors held at a time; the others follow in the next pass

// One write, or one that failed.
struct OomDeed {
  pid_t pid = 0;
  std::string group;
  std::int64_t before = 0, after = 0;
  model::Reason reason = model::Reason::kOomOfflineFirst;
  std::optional<Error> error;
};

struct OomReport {
  std::vector<OomDeed> deeds;
  bool more = false;             // some must wait for the next pass
  std::int64_t refused = 0;      // processes that the kernel does not allow to be lowered here
  std::int64_t foreign = 0;      // processes of another pid namespace, which have no pid here
  std::optional<Error> journal;  // set if it cannot be written: nothing new was written
  std::string trouble;           // why a group or process could not be read or written now; "" if all could
};

class OomScores {
 public:
  // `hierarchies` outlives it. The journal in the folder has what an earlier process wrote.
  static Result<OomScores> open(const linux::Hierarchies& hierarchies, const std::string& proc_root, std::string folder,
                                std::string boot_id);

  // kTighten raises and lowers nothing; kKeep does nothing at all. The answer is valid until the next call.
  const OomReport& carry_out(const policy::protect::OomPlan& plan, policy::state::Permit permit);
  // As if co-location is off.
  const OomReport& wind_down();

  const OomReport& report() const { return report_; }
  // Processes that have a value of ours.
  const OomEntries& entries() const { return entries_; }
  bool may_lower() const { return may_lower_; }

 private:
  struct Pending {
    linux::HeldProcess process;
    std::string group;
    std::int64_t before = 0, after = 0;
    model::Reason reason = model::Reason::kOomOfflineFirst;
    bool back = false;
    std::optional<OomEntry> previously{};  // its entry before this pass changed it
  };

  OomScores(const linux::Hierarchies& hierarchies, linux::Folder proc, std::string folder, std::string boot_id)
      : hierarchies_(hierarchies), proc_(std::move(proc)), folder_(std::move(folder)), boot_id_(std::move(boot_id)) {}

  void begin();
  void look_at(const policy::protect::OomIntent& intent, std::int64_t line, policy::state::Permit permit);
  std::optional<linux::HeldProcess> hold(pid_t pid);
  void look_at(pid_t pid, const policy::protect::OomIntent& intent, std::int64_t line, policy::state::Permit permit);
  void inherit(pid_t pid, std::int64_t value);
  bool is_child_of_eldest(std::int64_t value, std::int64_t start_ticks) const;
  void drop_who_left(std::size_t first, const linux::Group& group);
  void restore(pid_t pid, const OomEntry& entry);
  const OomReport& finish();
  void forget_who_ended();
  void as_before(const Pending& pending);
  void settle(Pending& pending);
  void trouble(const Error& error);

  const linux::Hierarchies& hierarchies_;
  linux::Folder proc_;
  std::string folder_, boot_id_;
  linux::Buffer buffer_;
  OomEntries entries_;
  bool may_lower_ = false;
  bool changed_ = false;                              // differs from the stored journal
  std::set<pid_t> seen_;                              // in this pass, in a group that the plan names
  std::set<std::string> unread_;                      // in this pass: unreadable groups, too
  std::set<std::pair<pid_t, std::int64_t>> refused_;  // already reported; with their start times
  std::set<std::pair<pid_t, std::int64_t>> refused_now_;
  std::optional<OomEntry> eldest_;  // of the current group: the first that was written
  std::vector<pid_t> processes_;
  std::vector<Pending> pending_;
  OomReport report_;
};

}  // namespace tidemark::agent
