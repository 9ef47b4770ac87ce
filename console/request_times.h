// How long the API server took to answer this console in the last minutes, from the histograms of its clients.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/metrics.h"

namespace tidemark::console {

// The requests of one verb within the time that is looked back.
struct VerbTimes {
  std::string_view verb;
  std::int64_t requests = 0;
  // Upper bound of the bucket that has the quantile; nullopt: no request, or longer than the largest bound.
  std::optional<std::int64_t> p50_ms, p99_ms;
};

class RequestTimes {
 public:
  static constexpr base::Duration kEvery = std::chrono::minutes(1);
  static constexpr std::size_t kLooksMax = 11;  // ten minutes

  // Call it at least once each kEvery.
  void look(base::Registry& metrics, base::WallTime now);

  struct Found {
    base::WallTime since;
    std::vector<VerbTimes> verbs;  // those with requests
  };
  std::optional<Found> found(base::Registry& metrics) const;  // nullopt: before the first look

 private:
  static constexpr std::array<std::string_view, 6> kVerbs = {"get", "watch", "post", "patch", "put", "delete"};
  struct Look {
    base::WallTime at;
    std::array<base::Histogram::Snapshot, kVerbs.size()> verbs;
  };
  static Look look_now(base::Registry& metrics, base::WallTime now);
  std::deque<Look> looks_;  // the oldest first
};

// Of a histogram between two looks. Total; nullopt as in VerbTimes.
std::optional<std::int64_t> quantile_ms(const base::Histogram::Snapshot& from, const base::Histogram::Snapshot& to,
                                        std::int64_t percent);

}  // namespace tidemark::console
