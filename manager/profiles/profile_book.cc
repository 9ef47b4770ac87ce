#include "manager/profiles/profile_book.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::manager {
namespace {

constexpr std::size_t kNodeOverhead_bytes = 64;  // of the map and its block

// What is known of many hours, and of much, is worth most.
std::uint64_t worth_of(const policy::waterline::UsageProfile& profile, base::WallTime now) {
  const auto usage = policy::waterline::usage_of_all_hours(profile, now);
  if (!usage) return 0;
  const auto hours = static_cast<std::uint64_t>(policy::waterline::hours_seen(profile, now));
  constexpr std::uint64_t kBelowAnHour = 1 << 20;
  return hours * kBelowAnHour +
         std::min<std::uint64_t>(static_cast<std::uint64_t>(usage->p95.cpu.value), kBelowAnHour - 1);
}

}  // namespace

std::size_t ProfileBook::cost(const Profiles::value_type& entry) {
  return kNodeOverhead_bytes + sizeof(std::string) + entry.first.size() + entry.second.bytes();
}

policy::waterline::UsageProfile* ProfileBook::make_room(std::string_view workload) {
  if (bytes_ + kNodeOverhead_bytes + sizeof(Profiles::value_type) + workload.size() > bytes_max_) return nullptr;
  const auto at = profiles_.emplace(workload, policy::waterline::UsageProfile()).first;
  bytes_ += cost(*at);
  return &at->second;
}

bool ProfileBook::add(std::string_view workload, const model::Resources& use, base::WallTime now) {
  const auto at = profiles_.find(workload);
  policy::waterline::UsageProfile* profile = at == profiles_.end() ? make_room(workload) : &at->second;
  if (profile == nullptr) {
    ++turned_away_;
    return false;
  }
  const std::size_t before = profile->bytes();
  const bool keep = policy::waterline::add_sample(*profile, use, now);
  bytes_ = bytes_ - before + profile->bytes();
  return keep;
}

const policy::waterline::UsageProfile* ProfileBook::find(std::string_view workload) const {
  const auto at = profiles_.find(workload);
  return at == profiles_.end() ? nullptr : &at->second;
}

void ProfileBook::forget(Profiles::iterator at) {
  bytes_ -= cost(*at);
  profiles_.erase(at);
}

void ProfileBook::sweep(Sweep& sweep, std::size_t turn, base::WallTime now) {
  if (!sweep.names) sweep.names = names();
  // A sixteenth is made free, so that the next hour's new workloads find a place.
  const std::size_t wanted = bytes_max_ - bytes_max_ / 16;
  const bool full = bytes_ > wanted;
  for (; turn > 0 && sweep.looked < sweep.names->size(); --turn, ++sweep.looked) {
    const auto at = profiles_.find((*sweep.names)[sweep.looked]);
    if (at == profiles_.end()) continue;
    if (policy::waterline::hours_seen(at->second, now) == 0) {
      forget(at);
      sweep.forgot = true;
    } else if (full) {
      sweep.by_worth.emplace_back(worth_of(at->second, now), at->first);
    }
  }
  if (sweep.looked < sweep.names->size()) return;
  if (sweep.given_up == 0) std::sort(sweep.by_worth.begin(), sweep.by_worth.end());
  for (; turn > 0 && bytes_ > wanted && sweep.given_up < sweep.by_worth.size(); --turn, ++sweep.given_up) {
    const auto at = profiles_.find(sweep.by_worth[sweep.given_up].second);
    if (at == profiles_.end()) continue;
    forget(at);
    sweep.forgot = true;
  }
  sweep.done = bytes_ <= wanted || sweep.given_up == sweep.by_worth.size();
}

Result<policy::waterline::UsageProfile> profile_of(const StoredRecord& stored, base::WallTime now) {
  if (policy::waterline::parse_workload(stored.record.name).none()) {
    return fail(ErrorKind::kInvalid, base::in_quotes(stored.record.name), " names no workload");
  }
  TM_TRY(auto profile, policy::waterline::decode_profile(stored.record.bytes));
  const auto today = std::chrono::floor<std::chrono::days>(now.since_epoch).count();
  if (profile.last_day > today + 1) {
    return fail(ErrorKind::kInvalid, "the profile of ", base::in_quotes(stored.record.name), " is of a day to come");
  }
  return profile;
}

Result<void> ProfileBook::take(const StoredRecord& stored, base::WallTime now) {
  TM_TRY(const auto profile, profile_of(stored, now));
  if (policy::waterline::hours_seen(profile, now) == 0) return {};
  const auto at = profiles_.find(stored.record.name);
  policy::waterline::UsageProfile* place = at == profiles_.end() ? make_room(stored.record.name) : &at->second;
  if (place == nullptr) {
    ++turned_away_;
    return {};
  }
  const std::size_t before = place->bytes();
  policy::waterline::merge_profile(*place, profile);
  bytes_ = bytes_ - before + place->bytes();
  return {};
}

std::vector<std::string> ProfileBook::names() const {
  std::vector<std::string> names;
  names.reserve(profiles_.size());
  for (const auto& [workload, profile] : profiles_) names.push_back(workload);
  return names;
}

std::optional<HistoryRecord> ProfileBook::record(std::string_view workload, base::WallTime now) const {
  const policy::waterline::UsageProfile* profile = find(workload);
  if (profile == nullptr || policy::waterline::hours_seen(*profile, now) == 0) return std::nullopt;
  return HistoryRecord{std::string(workload), policy::waterline::encode_profile(*profile), worth_of(*profile, now)};
}

void ProfileBook::for_each(
    const std::function<void(std::string_view workload, const policy::waterline::UsageProfile&)>& visit) const {
  for (const auto& [workload, profile] : profiles_) visit(workload, profile);
}

}  // namespace tidemark::manager
