// The least that a node could offer at each hour of the day lately: what its offer decays toward when its reports stop
// (policy/motion/motion.h), so that a node which always had much to give at night is not emptied at night.
//
//   of an hour  = the least that the formulas gave in it while reports were fresh, CPU and memory each, where there
//                 were kLeastSamplesMin looks at least
//   known[h]    = the first time: that; where that is less: that; where it is more: known + (that − known) /
//   kLeastShare
//
// So a bad day counts at once and is forgotten in about a week. Hours are those of UTC. CPU in milli-cores, memory in
// whole MiB, rounded down: small, because there is one of these for every node.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "model/resources.h"

namespace tidemark::policy {

inline constexpr std::int64_t kLeastSamplesMin = 10;
inline constexpr std::int64_t kLeastShare = 7;
inline constexpr std::size_t kLeastBytesMax = 256;      // of encode_least()
inline constexpr std::size_t kLeastTextBytesMax = 512;  // of what encode_least() was before

struct LeastOffer {
  std::int32_t cpu_milli = -1;  // -1: not known
  std::int32_t memory_mib = -1;
  bool known() const { return cpu_milli >= 0; }
  bool operator==(const LeastOffer&) const = default;
};

struct LeastOffers {
  std::array<LeastOffer, 24> hours;

  // The hour under way: hours since 1970.
  std::int64_t hour = -1;
  LeastOffer least;
  std::int64_t samples = 0;

  bool any() const;
  bool operator==(const LeastOffers&) const = default;
};

struct LeastStep {
  LeastOffers offers;
  bool learned = false;  // an hour is over: worth keeping
};

// Total. `could`: what the formulas give now; nullopt where nothing fresh is known.
LeastStep learn_least(const LeastOffers& before, std::optional<model::Resources> could, base::WallTime now);
// At this hour; nullopt where it is not known.
std::optional<model::Resources> least_at(const LeastOffers& offers, base::WallTime now);
// `kept` fills the hours that are not known yet.
LeastOffers with_kept(LeastOffers offers, const LeastOffers& kept);

// The hours, without the one under way; small, because 10,000 nodes of them are to fit into a few ConfigMaps:
//
//   which hours are known, a bit each from hour 0 on; then of each known hour how far CPU, and memory, are from the
//   known hour before (the first from 0): zigzag varints, as the neighbours of an hour are much like it
std::string encode_least(const LeastOffers& offers);
Result<LeastOffers> decode_least(std::string_view bytes);
// The form before: "12800:40960,,…" by hour.
Result<LeastOffers> decode_least_text(std::string_view bytes);

}  // namespace tidemark::policy
