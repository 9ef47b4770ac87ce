// One side as the gateway uses it: Kubernetes or YARN. Every call may be repeated, also after a crash or a lost reply.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "gateway/record.h"
#include "net/loop.h"
#include "policy/route/ends.h"
#include "policy/route/run.h"

namespace tidemark::gateway {

inline constexpr base::Duration kCallLimit = std::chrono::seconds(30);  // of one call to a side

struct Submission {
  enum class Outcome { kAccepted, kRefused, kUnknown };
  Outcome outcome = Outcome::kUnknown;
  policy::route::EndClass why = policy::route::EndClass::kUser;  // if refused
  std::string message;                                           // if not accepted
};

struct Stopped {
  enum class Outcome {
    kNotYet,   // or unknown
    kGone,     // the driver no longer runs and never will
    kAbsent,   // its side does not know it, and a late submission may still arrive
    kTooLate,  // it has got its place, and only a driver without a place was to be stopped
  };
  Outcome outcome = Outcome::kNotYet;
  std::optional<policy::route::End> end{};  // if it is gone
  std::string message{};
};

struct DriverOutput {
  std::string text;      // whole lines, except at the end of the driver
  std::string position;  // where the next read goes on
  bool more = false;     // there is more already
};

// What a side asks of the runs. `store` names the store. `is_live`: the run still owns this attempt. What belongs to
// an attempt that its run does not own is removed: its creation arrived after a cancel or a move.
struct SideOwner {
  std::string store;
  std::function<net::Task<bool>(std::int64_t run, std::int64_t attempt)> is_live;
  std::function<void(std::int64_t run)> on_change;  // something of this run changed
};

class SideClient {
 public:
  virtual ~SideClient() = default;
  // Empty if it can run the job, else the reason.
  virtual std::string cannot_run(const SparkJob& job) const = 0;
  // The name under which the current attempt will be submitted, and how.
  virtual net::Task<Result<policy::route::Reservation>> reserve(const Record& record) = 0;
  virtual net::Task<Submission> submit(const Record& record) = 0;
  // The last known state; no I/O.
  virtual policy::route::Observation look(const Record& record) const = 0;
  virtual net::Task<Stopped> stop(const Record& record) = 0;
  // The end is stored: lets its objects go. `moves`: also confirms that no executor is left.
  virtual net::Task<Result<void>> release(const Record& record, bool moves) = 0;
  // The output of the current attempt's driver behind `position`; "" is its begin. No text: nothing new, or not begun.
  virtual net::Task<Result<DriverOutput>> read_log(const Record& record, std::string position) = 0;
  // The last output of an executor that exists now. kNotFound: it does not.
  virtual net::Task<Result<std::string>> read_executor_log(const Record& record, std::string executor) = 0;
  // The id that Spark and users know: spark-… or application_….
  virtual std::string app_id(const Record& record) const = 0;
};

}  // namespace tidemark::gateway
