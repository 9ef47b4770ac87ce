// One run as the store keeps it: what the user asked for, and the state of policy/route.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"
#include "gateway/job.h"
#include "policy/route/quota.h"
#include "policy/route/run.h"

namespace tidemark::gateway {

struct Record {
  std::int64_t id = 0;
  std::string key;       // idempotency key of the client; "" without one
  std::string job_hash;  // to see that the same key comes with the same job
  base::WallTime created;
  SparkJob job;
  policy::route::Run run;
  bool cancel = false;  // ordered; the run follows
  std::string message;  // the last error of a side, for the user
  // Of the lease of the process that drives the run, in a store that several processes share. A write with an older
  // one is refused.
  std::int64_t epoch = 0;
  // Not stored: the quota of its business. A store that several processes share checks it as it adds the run, or as the
  // run gets a side. Without one it is not checked.
  policy::route::Quota quota{};
};

// The state of a run in the few words that the doors have.
enum class RunState : std::uint8_t { kWaiting, kRunning, kSucceeded, kFailed, kKilled };
RunState state_of(const policy::route::Run& run);
// Whether the run uses the quota of its business for runs and cores.
constexpr bool has_side(policy::route::Phase phase) {
  return phase >= policy::route::Phase::kRouted && !is_final(phase);
}

// The job as the current attempt submits it. A second attempt of a file committer has its own attempt id: otherwise it
// would commit the tasks that the first one left, and duplicate their rows.
SparkJob job_of_attempt(const Record& record);

inline constexpr std::int64_t kRecordSchema = 1;
std::string hash_of(const SparkJob& job);
std::string encode_run(const policy::route::Run& run, std::string_view message);
struct DecodedRun {
  policy::route::Run run;
  std::string message;
};
// kUnsupported: a newer schema.
Result<DecodedRun> decode_run(std::string_view text);

}  // namespace tidemark::gateway
