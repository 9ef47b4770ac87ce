// One side as the gateway uses it: Kubernetes or YARN. Every call may be repeated, also after a crash or a lost reply.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "gateway/record.h"
#include "net/loop.h"
#include "policy/route/ends.h"
#include "policy/route/run.h"

namespace tidemark::gateway {

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
