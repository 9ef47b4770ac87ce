// The files of a reaction, held open: counters of online work's use, and the quota or CPU set of offline work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "linux/cgroup/files.h"
#include "linux/cgroup/hierarchies.h"
#include "policy/protect/reaction/reaction.h"

namespace tidemark::agent {

linux::File file_of(policy::protect::SuppressPolicy policy);

class ReactionFiles {
 public:
  // Files that are already open stay open. True: the set of online groups changed. An error leaves none open.
  Result<bool> open(const linux::Hierarchies& hierarchies, const policy::protect::ReactionPlan& plan, bool to_write);
  void close();

  // The use of online work since its groups were opened, as far as known; never falls. Offline pods outside the
  // besteffort group may come and go: a look in which one went counts nothing, because its last use is unknown.
  // nullopt: the group of all pods, or the besteffort group, cannot be read any more.
  std::optional<std::int64_t> used_ns();

  // Of written files, in the order of the plan's groups.
  std::size_t size() const { return written_.size(); }
  // The current value, without the period of a v2 quota, in `space`. Empty: it cannot be read.
  std::string_view shown(std::size_t at, std::span<char> space) const;
  // Returns the errno; 0: written.
  int put(std::size_t at, std::string_view bytes) const;

 private:
  struct Held {
    std::string group;
    Fd fd;
  };
  struct Counter {
    std::string group;
    Fd fd;  // none: the group does not exist (any more)
    std::optional<std::int64_t> last_ns;
  };
  bool is_of_same_groups(const policy::protect::ReactionPlan& plan) const;
  bool has_counters(const policy::protect::ReactionPlan& plan) const;
  bool has_written(const policy::protect::ReactionPlan& plan, bool to_write) const;
  Result<void> open_counters(const linux::Hierarchies& hierarchies, const policy::protect::ReactionPlan& plan);
  Result<void> open_written(const linux::Hierarchies& hierarchies, const policy::protect::ReactionPlan& plan,
                            bool to_write);

  std::vector<Counter> counters_;                 // of the total, then of the parts to subtract
  bool one_went_ = false;                         // a counter vanished since the last look
  std::int64_t sum_ns_ = 0, used_ns_ = 0;         // the total minus the parts to subtract; its maximum so far
  linux::Version version_ = linux::Version::kV1;  // of the counters
  std::vector<Held> written_;
  linux::File file_ = linux::File::kCpuQuota;
  bool writable_ = false;
};

}  // namespace tidemark::agent
