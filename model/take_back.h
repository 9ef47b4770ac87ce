// How a node's agent has YARN's containers end as pre-empted: it asks on its node, YARN's operator answers there.
//
//   annotation  tidemark.io/yarn-take-back    of the agent
//               {"schema":1,"generation":7,"containers":["container_…"],"reason":"TM-EVICT-001",
//                "asked":"2026-03-01T02:00:00.000000Z","holdSeconds":60}
//   annotation  tidemark.io/yarn-taken-back   of the operator
//               {"schema":1,"generation":7,"gone":["container_…"],"stayed":[…],"keepMiB":2048,
//                "until":"2026-03-01T02:01:00.000000Z"}
//
// An answer of generation 0 was written before anybody asked: it says that whoever asks is heard. With `refused` in the
// place of `gone`, nothing was done, and why.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::model {

inline constexpr std::string_view kYarnTakeBackAnnotation = "tidemark.io/yarn-take-back";
inline constexpr std::string_view kYarnTakenBackAnnotation = "tidemark.io/yarn-taken-back";
inline constexpr std::size_t kTakeBackContainersMax = 64;
inline constexpr std::size_t kContainerNameBytesMax = 128;
inline constexpr std::size_t kTakeBackTextBytesMax = 512;  // of a reason, a refusal

struct TakeBack {
  std::int64_t generation = 0;          // grows with each
  std::vector<std::string> containers;  // that are to end, by their names
  std::string reason;                   // an id of model/reason.h
  base::WallTime asked;                 // by the node's clock
  std::int64_t hold_seconds = 0;        // so long YARN is not handed out again what they leave
  bool operator==(const TakeBack&) const = default;
};
std::string format_take_back(const TakeBack& request);
Result<TakeBack> parse_take_back(std::string_view annotation);

struct TakenBack {
  std::int64_t generation = 0;           // of what it answers
  std::vector<std::string> gone;         // have ended; of those that are taken back their master hears of a pre-emption
  std::vector<std::string> stayed;       // others went in their place, or nothing did
  std::string refused;                   // why nothing was done; "": it was
  std::optional<std::int64_t> keep_mib;  // the most that YARN is handed out of the node,
  std::optional<base::WallTime> until{};  // until then; with the other
  bool operator==(const TakenBack&) const = default;
};
std::string format_taken_back(const TakenBack& answer);
Result<TakenBack> parse_taken_back(std::string_view annotation);

}  // namespace tidemark::model
