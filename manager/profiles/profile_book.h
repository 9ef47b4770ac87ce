// The profiles of all workloads, within a budget of bytes: past it new workloads are turned away until the hourly
// sweep, which then forgets what is least useful.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "manager/history/record.h"
#include "model/resources.h"
#include "policy/waterline/profile/usage_profile.h"

namespace tidemark::manager {

inline constexpr std::size_t kProfileBytesMax = std::size_t{16} << 20;
inline constexpr std::string_view kProfileKind = "profiles";  // of the stored history
inline constexpr HistoryVersion kProfileVersion{policy::waterline::kProfileSchema,
                                                policy::waterline::kProfilePolicyVersion};

class ProfileBook {
 public:
  explicit ProfileBook(std::size_t bytes_max = kProfileBytesMax) : bytes_max_(bytes_max) {}

  // What one pod of the workload uses now. Answers whether there is something new to keep.
  bool add(std::string_view workload, const model::Resources& use, base::WallTime now);
  // Null where nothing is known.
  const policy::waterline::UsageProfile* find(std::string_view workload) const;
  // Forgets workloads of which nothing was seen for seven days, and where there is no room the least useful; in turns
  // of so many workloads, for others to have theirs in between. What comes meanwhile is looked at by the next sweep.
  struct Sweep {
    std::optional<std::vector<std::string>> names;
    std::size_t looked = 0;
    std::vector<std::pair<std::uint64_t, std::string>> by_worth;
    std::size_t given_up = 0;
    bool forgot = false;  // any
    bool done = false;
  };
  void sweep(Sweep& sweep, std::size_t turn, base::WallTime now);

  // A stored record: what this process saw itself is kept beside it.
  Result<void> take(const StoredRecord& stored, base::WallTime now);
  std::vector<std::string> names() const;
  std::optional<HistoryRecord> record(std::string_view workload, base::WallTime now) const;

  void for_each(
      const std::function<void(std::string_view workload, const policy::waterline::UsageProfile&)>& visit) const;
  std::size_t size() const { return profiles_.size(); }
  std::size_t bytes() const { return bytes_; }
  std::uint64_t turned_away() const { return turned_away_; }  // samples of workloads for which there was no room

 private:
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // Looked up thirty times per report, so unordered; listings are unordered too.
  using Profiles = std::unordered_map<std::string, policy::waterline::UsageProfile, Hash, std::equal_to<>>;
  static std::size_t cost(const Profiles::value_type& entry);
  policy::waterline::UsageProfile* make_room(std::string_view workload);
  void forget(Profiles::iterator at);

  Profiles profiles_;
  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::uint64_t turned_away_ = 0;
};

// The profile in a stored record, for readers outside the manager.
Result<policy::waterline::UsageProfile> profile_of(const StoredRecord& stored, base::WallTime now);

}  // namespace tidemark::manager
