#include "policy/sell/usage/collect.h"

#include <algorithm>

namespace tidemark::policy::sell {
namespace {

base::Duration seconds(std::int64_t asked_s, base::Duration least, base::Duration most) {
  const auto least_s = std::chrono::duration_cast<std::chrono::seconds>(least).count();
  const auto most_s = std::chrono::duration_cast<std::chrono::seconds>(most).count();
  return std::chrono::seconds(std::clamp<std::int64_t>(asked_s, least_s, most_s));
}

}  // namespace

base::Duration CollectInForce::node_window() const {
  base::Duration longest = aggregate;
  for (const base::Duration each : durations) longest = std::max(longest, each);
  return std::min(longest, kNodeWindowMax);
}

CollectInForce collect_in_force(const CollectAsked& asked, bool hot_page_cache) {
  CollectInForce out;
  if (asked.report_interval_s) {
    out.report_interval = seconds(*asked.report_interval_s, kReportIntervalMin, kReportIntervalMax);
  }
  if (asked.aggregate_duration_s) {
    out.aggregate = seconds(*asked.aggregate_duration_s, kAggregateMin, kAggregateMax);
    out.aggregate_cut = *asked.aggregate_duration_s > kAggregateMax / std::chrono::seconds(1);
  }
  if (!asked.durations.empty()) out.durations = asked.durations;
  if (out.durations.size() > kDurationsMax) {
    out.durations_left_out = out.durations.size() - kDurationsMax;
    out.durations.resize(kDurationsMax);
  }
  out.durations_not_whole = static_cast<std::size_t>(
      std::ranges::count_if(out.durations, [](base::Duration each) { return each > kNodeWindowMax; }));
  if (asked.memory_collect_policy == "usageWithPageCache") {
    out.memory = MemoryCollect::kWithPageCache;
  } else if (asked.memory_collect_policy == "usageWithHotPageCache") {
    out.memory = hot_page_cache ? MemoryCollect::kWithHotPageCache : MemoryCollect::kWithoutPageCache;
    out.memory_not_as_asked = !hot_page_cache;
  } else {
    out.memory_not_as_asked =
        !asked.memory_collect_policy.empty() && asked.memory_collect_policy != "usageWithoutPageCache";
  }
  return out;
}

}  // namespace tidemark::policy::sell
