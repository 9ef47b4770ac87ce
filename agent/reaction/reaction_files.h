// The files of a reaction, held open: counters of what online work uses, and what holds offline work, which is its
// quota or its processors.
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
#include "policy/reaction/reaction.h"

namespace tidemark::agent {

linux::File file_of(policy::SuppressPolicy policy);

class ReactionFiles {
 public:
  // What is open for such a plan already stays open. True: online work is another one than before, of other groups. An
  // error leaves none.
  Result<bool> open(const linux::Hierarchies& hierarchies, const policy::ReactionPlan& plan, bool to_write);
  void close();

  // What online work used since its groups were opened, as far as it is known; it never falls. Offline pods outside of
  // the besteffort group may come and go meanwhile: of a look in which one went nothing counts, since what that used
  // last is not known. nullopt: the group of all pods, or the besteffort group, cannot be read any more.
  std::optional<std::int64_t> used_ns();

  // Of what is written, in the order of the plan's groups.
  std::size_t size() const { return written_.size(); }
  // As it is shown, without the period of a quota of v2, in `space`. Empty: it cannot be read.
  std::string_view shown(std::size_t at, std::span<char> space) const;
  // The errno; 0: written.
  int put(std::size_t at, std::string_view bytes) const;

 private:
  struct Held {
    std::string group;
    Fd fd;
  };
  struct Counter {
    std::string group;
    Fd fd;  // none: the group is not there (any more)
    std::optional<std::int64_t> last_ns;
  };
  bool is_of_same_groups(const policy::ReactionPlan& plan) const;
  bool has_counters(const policy::ReactionPlan& plan) const;
  bool has_written(const policy::ReactionPlan& plan, bool to_write) const;
  Result<void> open_counters(const linux::Hierarchies& hierarchies, const policy::ReactionPlan& plan);
  Result<void> open_written(const linux::Hierarchies& hierarchies, const policy::ReactionPlan& plan, bool to_write);

  std::vector<Counter> counters_;                 // of the whole, then of what is less
  bool one_went_ = false;                         // since the last look
  std::int64_t sum_ns_ = 0, used_ns_ = 0;         // the whole without what is less; the most that it ever was
  linux::Version version_ = linux::Version::kV1;  // of the counters
  std::vector<Held> written_;
  linux::File file_ = linux::File::kCpuQuota;
  bool writable_ = false;
};

}  // namespace tidemark::agent
