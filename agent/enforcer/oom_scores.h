// Gives processes their place before a kernel that is out of memory (policy/priority/oom_order.h), and what they had
// back.
//
//   before a process gets a value        what it has goes to the journal (oom_journal.h)
//   a child of such a process            has its value by birth: it goes back with the parent's
//   in a group that nobody names now     what was found is written, only over a value of ours
//   switched off                         what was lowered goes back; what was raised stays until the process ends: as
//                                        with groups, nobody offline who still runs is let loose
//
// What cannot be read or written now stays as it is, and in the journal, until a later pass can: a group that could not
// be looked at still names its processes. Only a process that the kernel lets nobody lower is left alone for good.
//
// A process that ends, or that leaves its group meanwhile, is no trouble; one that takes the number of one that ended
// is never written to by mistake: each is held open, seen in its group after that, and known by when it began.
//
// For one thread, and for whoever holds the journal of files of that folder.
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
#include "policy/priority/oom_order.h"
#include "policy/stance/stance.h"

namespace tidemark::agent {

inline constexpr std::size_t kOomWritesAPass = 256;  // descriptors held at a time; the others get theirs in the next

// One write, or one that did not come about.
struct OomDeed {
  pid_t pid = 0;
  std::string group;
  std::int64_t before = 0, after = 0;
  model::Reason reason = model::Reason::kOomOfflineFirst;
  std::optional<Error> error;
};

struct OomReport {
  std::vector<OomDeed> deeds;
  bool more = false;             // some have to wait for the next pass
  std::int64_t refused = 0;      // processes that the kernel lets nobody lower here
  std::int64_t foreign = 0;      // processes of another pid namespace, which nobody can reach by number
  std::optional<Error> journal;  // it takes nothing: nothing new was written
  std::string trouble;           // why a group or process could not be read, or written to now; "" where all could
};

class OomScores {
 public:
  // `hierarchies` outlives it. What a process before this one wrote is known from the journal in the folder.
  static Result<OomScores> open(const linux::Hierarchies& hierarchies, const std::string& proc_root, std::string folder,
                                std::string boot_id);

  // kTighten raises and lowers nothing; kKeep does nothing at all. The answer holds until the next call.
  const OomReport& carry_out(const policy::OomPlan& plan, policy::Permit permit);
  // As where co-location is off.
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
    std::optional<OomEntry> previously{};  // of its entry, where this pass made it another one
  };

  OomScores(const linux::Hierarchies& hierarchies, linux::Folder proc, std::string folder, std::string boot_id)
      : hierarchies_(hierarchies), proc_(std::move(proc)), folder_(std::move(folder)), boot_id_(std::move(boot_id)) {}

  void begin();
  void look_at(const policy::OomWish& wish, std::int64_t line, policy::Permit permit);
  std::optional<linux::HeldProcess> hold(pid_t pid);
  void look_at(pid_t pid, const policy::OomWish& wish, std::int64_t line, policy::Permit permit);
  void inherit(pid_t pid, std::int64_t value);
  bool is_child_of_eldest(std::int64_t value, std::int64_t start_ticks) const;
  void drop_who_left(std::size_t first, const linux::Group& group);
  void give_back(pid_t pid, const OomEntry& entry);
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
  bool changed_ = false;                              // not in the journal as it stands there
  std::set<pid_t> seen_;                              // in this pass, in a group that somebody names
  std::set<std::string> unread_;                      // in this pass: groups that somebody names, too
  std::set<std::pair<pid_t, std::int64_t>> refused_;  // told already; with when they began
  std::set<std::pair<pid_t, std::int64_t>> refused_now_;
  std::optional<OomEntry> eldest_;  // of the group that is looked at: the first that was written to
  std::vector<pid_t> processes_;
  std::vector<Pending> pending_;
  OomReport report_;
};

}  // namespace tidemark::agent
