// The least that a node could recently offer at each hour of the day. Its offer decays to this when its reports stop
// (policy/sell/motion.h), so that a node with much free capacity at night is not emptied at night.
//
//   of an hour  = the least result of the formulas in it while reports were fresh, CPU and memory each, if there
//                 were at least kLeastSamplesMin passes
//   known[h]    = the first time: that; if that is less: that; if it is more: known + (that − known) /
//                 kLeastShare
//
// So a bad day counts at once and is forgotten in about a week. Hours are UTC. CPU in milli-cores, memory in whole MiB,
// rounded down: small, because every node has one of these.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "model/resources.h"

namespace tidemark::policy::sell {

inline constexpr std::int64_t kLeastSamplesMin = 10;
inline constexpr std::int64_t kLeastShare = 7;
inline constexpr std::size_t kLeastBytesMax = 256;      // of encode_least()
inline constexpr std::size_t kLeastTextBytesMax = 512;  // of the earlier format of encode_least()

struct LeastOffer {
  std::int32_t cpu_milli = -1;  // -1: unknown
  std::int32_t memory_mib = -1;
  bool known() const { return cpu_milli >= 0; }
  bool operator==(const LeastOffer&) const = default;
};

struct LeastOffers {
  std::array<LeastOffer, 24> hours;

  // The current hour: hours since 1970.
  std::int64_t hour = -1;
  LeastOffer least;
  std::int64_t samples = 0;

  bool any() const;
  bool operator==(const LeastOffers&) const = default;
};

struct LeastStep {
  LeastOffers offers;
  bool learned = false;  // an hour ended: the values should be saved
};

// Total. `could`: the present result of the formulas; nullopt if there is no fresh measurement.
LeastStep learn_least(const LeastOffers& before, std::optional<model::Resources> could, base::WallTime now);
// At this hour; nullopt if unknown.
std::optional<model::Resources> least_at(const LeastOffers& offers, base::WallTime now);
// `kept` fills the unknown hours.
LeastOffers with_kept(LeastOffers offers, const LeastOffers& kept);

// The hours, without the current one; small, because 10,000 nodes of them must fit into a few ConfigMaps:
//
//   a bitmap of the known hours, from hour 0 on; then for each known hour the difference of CPU, and of memory, to the
//   previous known hour (the first from 0): zigzag varints, because neighbouring hours are similar
std::string encode_least(const LeastOffers& offers);
Result<LeastOffers> decode_least(std::string_view bytes);
// The earlier format: "12800:40960,,…" by hour.
Result<LeastOffers> decode_least_text(std::string_view bytes);

}  // namespace tidemark::policy::sell
