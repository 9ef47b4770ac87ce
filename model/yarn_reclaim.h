// How a node's agent has YARN's containers preempted: it requests on its node, and YARN's operator answers there.
//
//    annotation  tidemark.io/yarn-reclaim    of the agent
//                {"schema":1,"generation":7,"containers":["container_…"],"reason":"TM-EVICT-001",
//                 "asked":"2026-03-01T02:00:00.000000Z","graceSeconds":30,"holdSeconds":60}
//    annotation  tidemark.io/yarn-reclaim-answer   of the operator
//                {"schema":1,"generation":7,"gone":["container_…"],"stayed":[…],"keepMiB":2048,
//                 "until":"2026-03-01T02:01:00.000000Z"}
//
// With a grace there are two answers: the first names the containers as `leaving`, because their application got a
// notice and has time; the second follows when they are gone.
//
// An answer of generation 0 was written before any request: it shows that requests are served. `refused` instead of
// `gone` means that nothing was done, with the reason.
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

inline constexpr std::string_view kYarnReclaimAnnotation = "tidemark.io/yarn-reclaim";
inline constexpr std::string_view kYarnReclaimAnswerAnnotation = "tidemark.io/yarn-reclaim-answer";
inline constexpr std::size_t kReclaimContainersMax = 64;
inline constexpr std::size_t kContainerNameBytesMax = 128;
inline constexpr std::size_t kReclaimTextBytesMax = 512;  // of a reason, a refusal

struct ReclaimRequest {
  std::int64_t generation = 0;          // grows with each
  std::vector<std::string> containers;  // names of the containers to preempt
  std::string reason;                   // an id of model/reason.h
  base::WallTime asked;                 // by the node's clock
  std::int64_t hold_seconds = 0;        // how long the released amount is not offered to YARN again
  std::int64_t grace_seconds = 0;       // from the notice to the application to the kill
  bool operator==(const ReclaimRequest&) const = default;
};
std::string format_reclaim_request(const ReclaimRequest& request);
Result<ReclaimRequest> parse_reclaim_request(std::string_view annotation);

struct ReclaimAnswer {
  std::int64_t generation = 0;            // of the request
  std::vector<std::string> gone;          // ended; the masters of preempted ones were notified
  std::vector<std::string> stayed;        // others were preempted instead, or none
  std::string refused;                    // why nothing was done; "": it was done
  std::optional<std::int64_t> keep_mib;   // the most that YARN may use on the node
  std::optional<base::WallTime> until{};  // the end of `keep_mib`; set together
  std::vector<std::string> leaving{};     // told to end; another answer follows
  bool operator==(const ReclaimAnswer&) const = default;
};
std::string format_reclaim_answer(const ReclaimAnswer& answer);
Result<ReclaimAnswer> parse_reclaim_answer(std::string_view annotation);

}  // namespace tidemark::model
