// Writes the values that strategies want into the kernel's files, and restores files that no strategy wants any more.
//
//   before the first write of a file   what stands in it goes to the journal (found_journal.h)
//   before every write                 the new value goes to the journal
//   every write                        replaces only a value of ours or the original value
//   another program wrote the file     written again, several times; then left to that program for a while
//                                      (policy/state). While an order limits offline work, it is written every
//                                      second. If the original value comes back now and then, that is a reset, not a
//                                      contest
//   not wanted any more                the original value is written, only over a value of ours
//
// For one thread. It decides no values.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "agent/enforcer/found_journal.h"
#include "base/clock.h"
#include "base/result.h"
#include "linux/cgroup/group.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/cgroup/write.h"
#include "linux/kernel_files.h"
#include "model/node_strategy.h"
#include "model/reason.h"
#include "policy/protect/knobs.h"
#include "policy/state/contest.h"
#include "policy/state/permits.h"

namespace tidemark::agent {

using policy::state::Permit;
using Permits = std::array<Permit, model::kStrategies.size()>;

// How often each file in force is checked if no new value is wanted.
inline constexpr base::Duration kLookInterval = std::chrono::seconds(10);
// While an order limits offline work, a file left to another writer is checked and tightened this often.
inline constexpr base::Duration kNarrowAgain = std::chrono::seconds(1);
// A value that a kernel refused is tried again after this pause (v1 counts a removed group for a moment); the pause
// doubles each time. A memory limit below the usage may be refused for the life of its pod.
inline constexpr base::Duration kRefusedPause = std::chrono::seconds(1);
inline constexpr base::Duration kRefusedPauseMax = std::chrono::seconds(30);

// What became of a wanted value. kNotWritten also if a looser or tighter value of ours stands there.
enum class LimitState : std::uint8_t { kInForce, kRefused, kLeft, kNotWritten };

// One write, or one that failed.
struct Deed {
  std::string group;
  linux::File file = linux::File::kCpuQuota;
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string before, after;
  model::Reason reason = model::Reason::kAgentEnforces;
  std::optional<Error> error;
  bool reset = false;  // kAgentRepaired: over the original value, which the owner of the group wrote again
};

struct Enforced {
  std::vector<Deed> deeds;       // no checks, only writes
  std::int64_t put_back = 0;     // files restored to their original values
  std::int64_t in_force = 0;     // files that hold a value of ours now
  std::int64_t left = 0;         // files left to another writer
  std::int64_t refused = 0;      // wanted, but refused by the kernel
  std::optional<Error> journal;  // set if the journal cannot be written: nothing new was written
};

class Enforcer {
 public:
  // All arguments outlive the enforcer. It checks the entries of the existing journal: values of ours stay known;
  // entries of files that another program changed or that are gone are closed. A file that cannot be read (no
  // descriptors) is reported, stays in the journal, and is neither written nor restored until a later pass can read it.
  Enforcer(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer, FoundJournal& journal,
           const base::Clock& clock);
  Enforcer(const Enforcer&) = delete;
  Enforcer& operator=(const Enforcer&) = delete;

  // `wanted` has all wanted values, at most one for each file of a group. `off`: an order limits offline work and
  // outranks another writer. The answer is valid until the next call.
  const Enforced& carry_out(std::span<const policy::protect::KnobWrite> wanted, const Permits& permits,
                            bool off = false);

  // Reports a value that the caller just read. If it is not ours in force, the next call checks the file at once.
  void saw(std::string_view group, linux::File file, std::int64_t value);

  // ---- for the writer between two calls, over our values in force (agent/reaction) ----

  // Our value in force, as written. nullopt: there is none, the kernel refused it, or the file is left to another
  // writer.
  std::optional<std::string_view> value_in_force(std::string_view group, linux::File file) const;
  // Adds these values to the journal, since the caller may write each of them. Only if value_in_force() has a value.
  Result<void> announce(std::string_view group, linux::File file, std::span<const std::string> texts);
  // Records that the caller wrote one of them: it is now a value of ours. `value`, `cpus`: as in a KnobWrite.
  void wrote(std::string_view group, linux::File file, const std::string& text, std::int64_t value,
             const std::vector<std::int32_t>& cpus);

  // Restores nothing in these groups, because offline work in them would become unlimited.
  void keep(std::set<std::string, std::less<>> groups) { kept_ = std::move(groups); }
  // Groups of online work. A value that slows one of them, in its own or a parent group, is restored even under
  // `tighten` when no longer wanted: that loosens no limit of offline work.
  void spare(std::vector<std::string> online) { spared_ = std::move(online); }

  std::size_t unread() const { return unread_.size(); }  // files that could not be read so far

  std::int64_t in_force(model::Strategy strategy) const;        // files that hold a value of this strategy
  bool stands(std::string_view group, linux::File file) const;  // the wanted value is in the kernel
  LimitState state_of(const policy::protect::KnobWrite& write) const;
  // The strategy wants a file that the kernel refused or that is left to another writer.
  bool lacks(model::Strategy strategy) const;

 private:
  struct HeldFile {
    linux::File file = linux::File::kCpuQuota;
    model::Strategy strategy = model::Strategy::kCpuSuppress;
    std::uint32_t id = 0;               // in the journal; 0: never written
    bool ours = false;                  // a value of ours may stand there
    std::optional<std::string> stands;  // as far as is known
    std::string made_with;              // the first original value, whatever another program wrote since
    model::Reason reason = model::Reason::kAgentEnforces;
    std::uint64_t turn = 0;  // the last one that wanted it
    std::int64_t value = 0;  // as wanted
    std::vector<std::int32_t> cpus;
    base::MonotonicTime next_look;
    policy::state::ContestState contest;
    std::optional<std::string> foreign;  // the last value of another writer; if left to it, the last value seen
    bool refused = false;
    base::Duration refused_pause{0};  // the last one
    // Another writer owns it. False if an order tightened it: then it is ours until that writer changes it again.
    bool left() const { return contest.standing_back && !ours; }
  };
  struct HeldGroup {
    std::optional<linux::Group> group;
    std::list<HeldFile> files;  // pending writes point into it
  };
  using Groups = std::map<std::string, HeldGroup, std::less<>>;

  // One file that is about to be written.
  struct Pending {
    HeldGroup* group = nullptr;
    HeldFile* file = nullptr;
    std::string path;
    std::string text;
    std::string over;  // replaces only this value
    model::Reason reason = model::Reason::kAgentEnforces;
    bool back = false;   // it is restored
    bool reset = false;  // replaces the original value
  };

  void recall(const std::vector<std::uint32_t>& ids);
  // True: held from now on. False: nothing to restore. Error: cannot be read.
  Result<bool> recall(std::uint32_t id, const FoundFile& left);
  bool is_unread(std::string_view path, linux::File file) const;
  static HeldFile* find(HeldGroup& group, linux::File file);
  static HeldFile& held(HeldGroup& group, linux::File file);
  const HeldFile* ours(std::string_view group, linux::File file) const;  // nullptr: no value of ours stands there
  Result<bool> open(const std::string& path, HeldGroup& group);          // false: the group does not exist
  // Whether the group exists and the value of the file is known.
  Result<bool> reach(const std::string& path, HeldGroup& group, HeldFile& file);
  void want(const policy::protect::KnobWrite& write, Permit permit);
  bool still_stands(const HeldGroup& group, HeldFile& file, const std::string& text);
  bool may_write(HeldFile& file, const linux::Group& group, Permit permit, const std::string& text);
  bool may_write_beside_another(HeldFile& file, const linux::Group& group, const std::string& text);
  void look_at_left();
  void want_back(const std::string& path, HeldGroup& group, HeldFile& file);
  bool find_out(const std::string& path, HeldGroup& group, HeldFile& file);
  Result<std::optional<std::string>> look(const linux::Group& group, linux::File file);  // nullopt: it does not exist
  std::optional<std::string> read(const linux::Group& group, linux::File file);  // nullopt also if it cannot be read
  std::string before_ours(std::string_view path, linux::File file, linux::Version version, std::string found);
  void write_pending();
  std::optional<std::string> unsaid_in_force(const Pending& each, linux::Version version) const;
  void drop_vanished();
  void settle(Pending& pending, linux::WriteReport& report);
  void overwritten(Pending& pending, const std::string& foreign);
  void weight_goes(const Pending& pending);
  void weight_comes_back(const Pending& pending);
  void put_off(HeldFile& file) const;
  void cross_out(HeldFile& file);
  void look_again_now(HeldFile& file) const { file.next_look = clock_.monotonic(); }
  void put_back_unwanted(const Permits& permits);
  void forget_unused();
  void count();
  bool weight_is_hidden(HeldGroup& group) const;
  bool puts_online_work_behind(std::string_view group, const HeldFile& file) const;
  void tell(std::string_view group, linux::File file, model::Strategy strategy, std::string before, std::string after,
            model::Reason reason, std::optional<Error> error = {});
  void tell(const Pending& pending, std::string before, model::Reason reason, std::optional<Error> error = {});

  const linux::Hierarchies& hierarchies_;
  linux::GroupWriter& writer_;
  FoundJournal& journal_;
  const base::Clock& clock_;
  linux::Buffer buffer_;
  Groups groups_;
  std::set<std::string, std::less<>> kept_;
  std::vector<std::string> spared_;
  std::uint64_t turn_ = 0;
  bool off_ = false;
  std::vector<Pending> pending_;
  std::vector<Pending> again_;         // files that another program changed meanwhile
  std::vector<std::uint32_t> unread_;  // journal entries of an earlier process that could not be read yet
  std::vector<std::uint32_t> over_;
  Enforced enforced_;
};

linux::File file_of(policy::protect::Knob knob);

// The group's directory in the hierarchy that has the file. nullptr: no such hierarchy, or the group is not in it.
const linux::Directory* directory_of(const linux::Hierarchies& hierarchies, const linux::Group& group,
                                     linux::File file);

}  // namespace tidemark::agent
