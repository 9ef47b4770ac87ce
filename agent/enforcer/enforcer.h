// Makes the kernel's files say what strategies want, and puts back what nobody wants any more.
//
//   before the first write of a file   what stands in it goes to the journal (found_journal.h)
//   before every write                 what is going to be written does
//   every write                        only over what stood there by our hand, or was found there
//   somebody else set the file         set again, and again; then it is left to him for a while (policy/contest), but
//                                      for what holds offline work while an order says so: each second. What was found
//                                      there, come back now and then, is a reset and no contest
//   not wanted any more                what was found is written, only over a value of ours
//
// For one thread. Nothing here decides what is right for a group.
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
#include "policy/contest/contest.h"
#include "policy/knobs/knobs.h"
#include "policy/stance/stance.h"

namespace tidemark::agent {

using policy::Permit;
using Permits = std::array<Permit, model::kStrategies.size()>;

// So often each file that is in force is looked at, where nothing new is wanted of it.
inline constexpr base::Duration kLookInterval = std::chrono::seconds(10);
// While an order holds offline work, a file that is left to somebody else is looked at so often, and narrowed again.
inline constexpr base::Duration kNarrowAgain = std::chrono::seconds(1);
// A value that a kernel refused is tried again after this (v1 goes on counting a removed group for a moment), and each
// next time after twice as long: a limit of memory below what is used may be refused for as long as its pod lives.
inline constexpr base::Duration kRefusedPause = std::chrono::seconds(1);
inline constexpr base::Duration kRefusedPauseMax = std::chrono::seconds(30);

// One write, or one that did not come about.
struct Deed {
  std::string group;
  linux::File file = linux::File::kCpuQuota;
  model::Strategy strategy = model::Strategy::kCpuSuppress;
  std::string before, after;
  model::Reason reason = model::Reason::kAgentEnforces;
  std::optional<Error> error;
  bool reset = false;  // kAgentRepaired: over what was found there, come back by whoever keeps the group
};

struct Enforced {
  std::vector<Deed> deeds;       // nothing that only was looked at
  std::int64_t put_back = 0;     // files that are as they were found
  std::int64_t in_force = 0;     // files that say something of ours, now
  std::int64_t left = 0;         // files that are left to somebody else
  std::int64_t refused = 0;      // wanted, and the kernel said no
  std::optional<Error> journal;  // it takes nothing: nothing new was written
};

class Enforcer {
 public:
  // All of it outlives the enforcer. What the journal has from before is looked at: what is ours stays known, what
  // somebody else has or is not there any more is crossed out. What cannot be looked at (no descriptors) is told, stays
  // in the journal, and is neither written nor put back until a later pass could.
  Enforcer(const linux::Hierarchies& hierarchies, linux::GroupWriter& writer, FoundJournal& journal,
           const base::Clock& clock);
  Enforcer(const Enforcer&) = delete;
  Enforcer& operator=(const Enforcer&) = delete;

  // `wanted` is everything that is wanted, one at most for each file of a group. `off`: somebody ordered offline work
  // to be held, and another writer does not outrank him. The answer holds until the next call.
  const Enforced& carry_out(std::span<const policy::KnobWrite> wanted, const Permits& permits, bool off = false);

  // Somebody read that there a moment ago. Where it is not what stands there by our hand, the next call looks, and not
  // only the next look.
  void saw(std::string_view group, linux::File file, std::int64_t value);

  // ---- for who writes between two calls, over what stands there by our hand (agent/reaction) ----

  // That, as it was written. nullopt: nothing does, the kernel refused it, or it is left to somebody else.
  std::optional<std::string_view> standing(std::string_view group, linux::File file) const;
  // Each of these may come to stand there from here on: the journal has them. Only where standing() answers.
  Result<void> announce(std::string_view group, linux::File file, std::span<const std::string> texts);
  // One of them does: it is a value of ours as any other. `value`, `cpus`: as a KnobWrite has them.
  void wrote(std::string_view group, linux::File file, const std::string& text, std::int64_t value,
             const std::vector<std::int32_t>& cpus);

  // In these groups nothing is put back: somebody whom it would let loose runs there.
  void keep(std::set<std::string, std::less<>> groups) { kept_ = std::move(groups); }
  // Groups of online work. What puts one of them behind others, itself or by a group above it, and is not wanted any
  // more is put back also while only what narrows may be written: it takes nothing from offline work's limits.
  void spare(std::vector<std::string> online) { spared_ = std::move(online); }

  std::size_t unread() const { return unread_.size(); }  // files that could not be looked at so far

  std::int64_t in_force(model::Strategy strategy) const;        // files that say something of its
  bool stands(std::string_view group, linux::File file) const;  // there, what was wanted of it
  // It wants a file that the kernel refused, or that is left to somebody else.
  bool lacks(model::Strategy strategy) const;

 private:
  struct HeldFile {
    linux::File file = linux::File::kCpuQuota;
    model::Strategy strategy = model::Strategy::kCpuSuppress;
    std::uint32_t id = 0;               // in the journal; 0: never written
    bool ours = false;                  // a value of ours may stand there
    std::optional<std::string> stands;  // as far as is known
    std::string made_with;              // what was found there first, whatever somebody else put since
    model::Reason reason = model::Reason::kAgentEnforces;
    std::uint64_t turn = 0;  // the last one that wanted it
    std::int64_t value = 0;  // as it was wanted
    std::vector<std::int32_t> cpus;
    base::MonotonicTime next_look;
    policy::ContestState contest;
    std::optional<std::string> foreign;  // what somebody else put, seen last; what stood there last, where left to him
    bool refused = false;
    base::Duration refused_pause{0};  // the last one
    // Somebody else has it. False where an order had it narrowed over him: that is ours until he comes again.
    bool left() const { return contest.standing_back && !ours; }
  };
  struct HeldGroup {
    std::optional<linux::Group> group;
    std::list<HeldFile> files;  // what is going to be written points at them
  };
  using Groups = std::map<std::string, HeldGroup, std::less<>>;

  // One file that is going to be written.
  struct Pending {
    HeldGroup* group = nullptr;
    HeldFile* file = nullptr;
    std::string path;
    std::string text;
    std::string over;  // only over this
    model::Reason reason = model::Reason::kAgentEnforces;
    bool back = false;   // it is put back
    bool reset = false;  // over what was found there
  };

  void recall(const std::vector<std::uint32_t>& ids);
  // Whether it is held from now on. False: there is nothing to put back. An error: nobody knows.
  Result<bool> recall(std::uint32_t id, const FoundFile& left);
  bool is_unread(std::string_view path, linux::File file) const;
  static HeldFile* find(HeldGroup& group, linux::File file);
  static HeldFile& held(HeldGroup& group, linux::File file);
  const HeldFile* ours(std::string_view group, linux::File file) const;  // nullptr: nothing of ours stands there
  Result<bool> open(const std::string& path, HeldGroup& group);          // false: it is not there
  // Whether the group is there, and what stands in the file known.
  Result<bool> reach(const std::string& path, HeldGroup& group, HeldFile& file);
  void want(const policy::KnobWrite& write, Permit permit);
  bool still_stands(const HeldGroup& group, HeldFile& file, const std::string& text);
  bool may_write(HeldFile& file, const linux::Group& group, Permit permit, const std::string& text);
  bool may_write_beside_another(HeldFile& file, const linux::Group& group, const std::string& text);
  void look_at_left();
  void want_back(const std::string& path, HeldGroup& group, HeldFile& file);
  bool find_out(const std::string& path, HeldGroup& group, HeldFile& file);
  Result<std::optional<std::string>> look(const linux::Group& group, linux::File file);  // nullopt: it is not there
  std::optional<std::string> read(const linux::Group& group, linux::File file);          // nor where it cannot be read
  std::string before_ours(std::string_view path, linux::File file, linux::Version version, std::string found);
  void write_pending();
  std::optional<std::string> standing_unsaid(const Pending& each, linux::Version version) const;
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
  std::vector<Pending> again_;         // over what somebody else put there meanwhile
  std::vector<std::uint32_t> unread_;  // of the journal, from before: nobody could look at them yet
  std::vector<std::uint32_t> over_;
  Enforced enforced_;
};

linux::File file_of(policy::Knob knob);

// Of the group, in the hierarchy that has that file. nullptr: there is none, or the group is not there in it.
const linux::Directory* directory_of(const linux::Hierarchies& hierarchies, const linux::Group& group,
                                     linux::File file);

}  // namespace tidemark::agent
