// Any bytes are parsed as a profile or rejected; a parsed one is written the same, continues, and gives ordered
// results.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/waterline/profile/usage_profile.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tidemark;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto profile = policy::waterline::decode_profile(bytes);
  if (!profile) return 0;
  TM_CHECK(policy::waterline::encode_profile(*profile) == bytes, "there is one text for each profile");
  const base::WallTime now{std::chrono::hours(24) * profile->last_day};
  if (profile->last_day < 100'000) {
    policy::waterline::add_sample(*profile, {model::CpuMilli{static_cast<std::int64_t>(size)}, model::MemoryBytes{1}},
                                  now);
  }
  for (std::int64_t hour = 0; hour < policy::waterline::kHoursADay; ++hour) {
    const auto at = policy::waterline::usage_at(*profile, hour, now);
    if (!at) continue;
    TM_CHECK(at->p50.cpu <= at->p95.cpu && at->p95.cpu <= at->max.cpu, "in order");
    TM_CHECK(at->p50.memory <= at->p95.memory && at->p95.memory <= at->max.memory, "in order");
  }
  policy::waterline::UsageProfile other;
  policy::waterline::merge_profile(other, *profile);
  TM_CHECK(policy::waterline::hours_seen(other, now) == policy::waterline::hours_seen(*profile, now) ||
               profile->current_hour >= 0,
           "merged");
  return 0;
}
