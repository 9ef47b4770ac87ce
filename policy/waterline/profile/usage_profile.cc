#include "policy/waterline/profile/usage_profile.h"

#include <algorithm>

namespace tidemark::policy::waterline {
namespace {

constexpr std::size_t kHourBytes = 6;
constexpr std::size_t kHeadBytes = 8;  // last_day, little-endian
constexpr std::size_t kSeenBytes = kProfileDays * kHoursADay / 8;

std::int64_t hours_since_epoch(base::WallTime now) {
  const std::int64_t hours = std::chrono::floor<std::chrono::hours>(now.since_epoch).count();
  return std::max<std::int64_t>(hours, 0);
}

std::size_t row_of(std::int64_t day) {
  return static_cast<std::size_t>(day % kProfileDays);
}

// The day of a row.
std::int64_t day_of_row(const UsageProfile& profile, std::int64_t row) {
  const std::int64_t back = ((profile.last_day - row) % kProfileDays + kProfileDays) % kProfileDays;
  return profile.last_day - back;
}

bool is_recent(std::int64_t day, std::int64_t today) {
  return day >= 0 && day > today - kProfileDays;
}

HourUsage larger(const HourUsage& a, const HourUsage& b) {
  return {std::max(a.cpu_p50, b.cpu_p50),
          std::max(a.cpu_p95, b.cpu_p95),
          std::max(a.cpu_max, b.cpu_max),
          std::max(a.memory_p50, b.memory_p50),
          std::max(a.memory_p95, b.memory_p95),
          std::max(a.memory_max, b.memory_max),
          a.seen || b.seen};
}

HourUsage running_hour(const UsageProfile& profile) {
  if (profile.cpu.total() == 0) return {};
  return {profile.cpu.percentile(50),
          profile.cpu.percentile(95),
          profile.cpu.largest(),
          profile.memory.percentile(50),
          profile.memory.percentile(95),
          profile.memory.largest(),
          true};
}

void go_to_day(UsageProfile& profile, std::int64_t day) {
  const std::int64_t first = std::max(profile.last_day + 1, day - kProfileDays + 1);
  for (std::int64_t each = first; each <= day; ++each) profile.hours[row_of(each)].fill({});
  profile.last_day = std::max(profile.last_day, day);
}

// The current hour belongs into its place.
void settle_running(UsageProfile& profile) {
  if (profile.current_hour < 0) return;
  const std::int64_t day = profile.current_hour / kHoursADay;
  if (!is_recent(day, profile.last_day) || day > profile.last_day) return;
  HourUsage& place = profile.hours[row_of(day)][static_cast<std::size_t>(profile.current_hour % kHoursADay)];
  place = larger(place, running_hour(profile));
}

}  // namespace

void CodeCounts::add(LogCode code, std::uint32_t times) {
  const auto at = std::lower_bound(entries_.begin(), entries_.end(), code,
                                   [](const Entry& entry, LogCode wanted) { return entry.code < wanted; });
  if (at == entries_.end() || at->code != code) {
    entries_.insert(at, {code, std::min(times, kTimesMax)});
    return;
  }
  at->times = std::min<std::uint64_t>(std::uint64_t{at->times} + times, kTimesMax);
}

std::uint64_t CodeCounts::total() const {
  std::uint64_t total = 0;
  for (const Entry& entry : entries_) total += entry.times;
  return total;
}

LogCode CodeCounts::percentile(std::uint32_t percent) const {
  const std::uint64_t rank = (total() * std::min<std::uint32_t>(percent, 100) + 99) / 100;
  std::uint64_t counted = 0;
  for (const Entry& entry : entries_) {
    counted += entry.times;
    if (counted >= std::max<std::uint64_t>(rank, 1)) return static_cast<LogCode>(entry.code);
  }
  return 0;
}

bool add_sample(UsageProfile& profile, const model::Resources& use, base::WallTime now) {
  const std::int64_t now_hour = hours_since_epoch(now);
  if (now_hour + kHoursADay < std::max(profile.current_hour, profile.last_day * kHoursADay)) {
    profile = UsageProfile();  // the clock was far ahead: those samples belong to no real day
  }
  const std::int64_t hour = std::max(now_hour, profile.current_hour);
  const bool completed = hour != profile.current_hour;
  if (completed) {
    settle_running(profile);
    profile.cpu.clear();
    profile.memory.clear();
    profile.current_hour = hour;
    go_to_day(profile, hour / kHoursADay);
  }
  profile.cpu.add(cpu_code(use.cpu));
  profile.memory.add(memory_code(use.memory));
  return completed;
}

std::optional<UsageAt> usage_at(const UsageProfile& profile, std::int64_t hour_of_day, base::WallTime now) {
  if (hour_of_day < 0 || hour_of_day >= kHoursADay) return std::nullopt;
  const std::int64_t today = hours_since_epoch(now) / kHoursADay;
  std::array<LogCode, kProfileDays> cpu{};
  std::array<LogCode, kProfileDays> memory{};
  std::size_t days = 0;
  HourUsage all;
  const std::int64_t running_day = profile.current_hour < 0 ? -1 : profile.current_hour / kHoursADay;
  for (std::int64_t row = 0; row < kProfileDays; ++row) {
    const std::int64_t day = day_of_row(profile, row);
    HourUsage hour = profile.hours[static_cast<std::size_t>(row)][static_cast<std::size_t>(hour_of_day)];
    if (day == running_day && profile.current_hour % kHoursADay == hour_of_day) {
      hour = larger(hour, running_hour(profile));
    }
    if (!hour.seen || !is_recent(day, today)) continue;
    cpu[days] = hour.cpu_p50;
    memory[days] = hour.memory_p50;
    ++days;
    all = larger(all, hour);
  }
  if (days == 0) return std::nullopt;
  const auto middle = [days](std::array<LogCode, kProfileDays>& codes) {
    std::sort(codes.begin(), codes.begin() + static_cast<std::ptrdiff_t>(days));
    return codes[days / 2];
  };
  UsageAt told;
  told.p50 = {cpu_of(middle(cpu)), memory_of(middle(memory))};
  told.p95 = {cpu_of(all.cpu_p95), memory_of(all.memory_p95)};
  told.max = {cpu_of(all.cpu_max), memory_of(all.memory_max)};
  told.days = static_cast<std::int64_t>(days);
  return told;
}

std::optional<UsageAt> usage_now(const UsageProfile& profile, base::WallTime now) {
  return usage_at(profile, hours_since_epoch(now) % kHoursADay, now);
}

std::optional<UsageAt> usage_of_all_hours(const UsageProfile& profile, base::WallTime now) {
  std::optional<UsageAt> all;
  for (std::int64_t hour = 0; hour < kHoursADay; ++hour) {
    const auto each = usage_at(profile, hour, now);
    if (!each) continue;
    if (!all) {
      all = each;
      continue;
    }
    all->p50 = model::max(all->p50, each->p50);
    all->p95 = model::max(all->p95, each->p95);
    all->max = model::max(all->max, each->max);
    all->days = std::max(all->days, each->days);
  }
  return all;
}

std::int64_t hours_seen(const UsageProfile& profile, base::WallTime now) {
  std::int64_t hours = 0;
  for (std::int64_t hour = 0; hour < kHoursADay; ++hour) {
    if (const auto each = usage_at(profile, hour, now)) hours += each->days;
  }
  return hours;
}

// last_day, which hours were seen, and those hours.
std::string encode_profile(const UsageProfile& profile) {
  UsageProfile settled = profile;
  settle_running(settled);
  std::string out(kHeadBytes + kSeenBytes, '\0');
  for (std::size_t i = 0; i < kHeadBytes; ++i) {
    out[i] = static_cast<char>((static_cast<std::uint64_t>(settled.last_day) >> (8 * i)) & 0xff);
  }
  std::size_t place = 0;
  for (const auto& day : settled.hours) {
    for (const HourUsage& hour : day) {
      if (hour.seen) {
        char& bits = out[kHeadBytes + place / 8];
        bits = static_cast<char>(static_cast<unsigned char>(bits) | (1U << (place % 8)));
        for (const LogCode code :
             {hour.cpu_p50, hour.cpu_p95, hour.cpu_max, hour.memory_p50, hour.memory_p95, hour.memory_max}) {
          out += static_cast<char>(code);
        }
      }
      ++place;
    }
  }
  return out;
}

Result<UsageProfile> decode_profile(std::string_view bytes) {
  if (bytes.size() < kHeadBytes + kSeenBytes)
    return fail(ErrorKind::kInvalid, bytes.size(), " bytes are not a profile");
  const auto byte = [bytes](std::size_t at) { return static_cast<std::uint8_t>(bytes[at]); };
  std::uint64_t day = 0;
  for (std::size_t i = 0; i < kHeadBytes; ++i) day |= std::uint64_t{byte(i)} << (8 * i);
  constexpr std::uint64_t kDayMax = 100'000;  // the range of a time in nanoseconds
  if (day > kDayMax) return fail(ErrorKind::kInvalid, "a profile of day ", day);
  UsageProfile profile;
  profile.last_day = static_cast<std::int64_t>(day);
  std::size_t at = kHeadBytes + kSeenBytes;
  std::size_t place = 0;
  for (auto& row : profile.hours) {
    for (HourUsage& hour : row) {
      const bool seen = (byte(kHeadBytes + place / 8) >> (place % 8) & 1U) != 0;
      ++place;
      if (!seen) continue;
      if (at + kHourBytes > bytes.size()) return fail(ErrorKind::kInvalid, "the profile is truncated");
      hour = {byte(at), byte(at + 1), byte(at + 2), byte(at + 3), byte(at + 4), byte(at + 5), true};
      if (hour.cpu_p50 > hour.cpu_p95 || hour.cpu_p95 > hour.cpu_max || hour.memory_p50 > hour.memory_p95 ||
          hour.memory_p95 > hour.memory_max) {
        return fail(ErrorKind::kInvalid, "a profile whose percentiles are not in order");
      }
      at += kHourBytes;
    }
  }
  if (at != bytes.size()) return fail(ErrorKind::kInvalid, "a profile with ", bytes.size() - at, " bytes too many");
  return profile;
}

void merge_profile(UsageProfile& into, const UsageProfile& other) {
  go_to_day(into, other.last_day);
  for (std::int64_t row = 0; row < kProfileDays; ++row) {
    const std::int64_t day = day_of_row(other, row);
    if (!is_recent(day, into.last_day)) continue;
    for (std::size_t hour = 0; hour < kHoursADay; ++hour) {
      HourUsage& place = into.hours[row_of(day)][hour];
      place = larger(place, other.hours[static_cast<std::size_t>(row)][hour]);
    }
  }
}

}  // namespace tidemark::policy::waterline
