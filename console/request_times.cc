#include "console/request_times.h"

#include <algorithm>
#include <cmath>

#include "kube/client_metrics.h"

namespace tidemark::console {
namespace {

// Observations up to the bound at `at`, between the two looks.
std::uint64_t between(const base::Histogram::Snapshot& from, const base::Histogram::Snapshot& to, std::size_t at) {
  const std::uint64_t before = at < from.cumulative.size() ? from.cumulative[at] : 0;
  return to.cumulative[at] - std::min(before, to.cumulative[at]);
}

std::uint64_t all_between(const base::Histogram::Snapshot& from, const base::Histogram::Snapshot& to) {
  return to.cumulative.empty() ? 0 : between(from, to, to.cumulative.size() - 1);
}

}  // namespace

std::optional<std::int64_t> quantile_ms(const base::Histogram::Snapshot& from, const base::Histogram::Snapshot& to,
                                        std::int64_t percent) {
  constexpr double kMillis = 1000;
  const std::uint64_t all = all_between(from, to);
  if (all == 0) return std::nullopt;
  for (std::size_t at = 0; at < to.upper_bounds.size(); ++at) {
    if (between(from, to, at) * 100 >= all * static_cast<std::uint64_t>(percent)) {
      return std::llround(to.upper_bounds[at] * kMillis);
    }
  }
  return std::nullopt;
}

RequestTimes::Look RequestTimes::look_now(base::Registry& metrics, base::WallTime now) {
  Look out;
  out.at = now;
  for (std::size_t i = 0; i < kVerbs.size(); ++i) {
    out.verbs.at(i) = kube::request_seconds(metrics, kVerbs.at(i)).snapshot();
  }
  return out;
}

void RequestTimes::look(base::Registry& metrics, base::WallTime now) {
  if (!looks_.empty() && now >= looks_.back().at && now - looks_.back().at < kEvery) return;
  looks_.push_back(look_now(metrics, now));
  if (looks_.size() > kLooksMax) looks_.pop_front();
}

std::optional<RequestTimes::Found> RequestTimes::found(base::Registry& metrics) const {
  if (looks_.empty()) return std::nullopt;
  const Look& from = looks_.front();
  const Look to = look_now(metrics, from.at);
  Found out;
  out.since = from.at;
  for (std::size_t i = 0; i < kVerbs.size(); ++i) {
    const auto& before = from.verbs.at(i);
    const auto& after = to.verbs.at(i);
    const std::uint64_t requests = all_between(before, after);
    if (requests == 0) continue;
    out.verbs.push_back({kVerbs.at(i), static_cast<std::int64_t>(requests), quantile_ms(before, after, 50),
                         quantile_ms(before, after, 99)});
  }
  return out;
}

}  // namespace tidemark::console
