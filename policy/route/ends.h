// Reads the state of a driver from its pod or its YARN application, and the class of its end.
//
// A condition may say why a pod ends while it still runs, so the phase decides that it ended, and the condition decides
// the class. The driver container decides before the phase of the pod, because of sidecars.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tidemark::policy::route {

enum class EndClass : std::uint8_t {
  kSucceeded,
  kUser,            // the job failed by itself: it never moves
  kAdmission,       // it got no place in time, or a quota refused it: it may move
  kInfrastructure,  // the cluster took its machine: it may move
  kStorm,           // it gave up after it lost too many executors to evictions: it may move
  kKilled,          // another program stopped it: it never moves
  kLost,            // its side forgot it before its end was read: it never moves
};
constexpr bool may_move(EndClass end) {
  return end == EndClass::kAdmission || end == EndClass::kInfrastructure || end == EndClass::kStorm;
}

struct End {
  EndClass end_class = EndClass::kLost;
  std::optional<std::int64_t> exit_code{};
  bool never_started = false;  // certain: no code of the job ran, so a second attempt is safe for every sink
  bool operator==(const End&) const = default;
};

enum class DriverState : std::uint8_t {
  kUnknown,  // its side does not answer: nothing follows from it
  kAbsent,   // its side answers, and does not know it
  kPending,
  kAdmitted,  // it has a node; its container does not run yet
  kRunning,
  kEnded,  // it no longer runs and never will again
};

struct Observation {
  DriverState state = DriverState::kUnknown;
  std::optional<End> end{};        // if it ended
  bool image_unavailable = false;  // if it is admitted: its image cannot be pulled
  std::string message{};           // what its side says of it; "": nothing
};

struct DriverPod {
  std::string phase;                      // Pending, Running, Succeeded, Failed
  std::string reason;                     // status.reason: Evicted, NodeLost, Preempting
  std::string disruption;                 // reason of the condition DisruptionTarget if it is true
  std::string terminated_reason;          // of the driver container: OOMKilled, Error
  std::string waiting_reason;             // of the driver container: ImagePullBackOff
  std::optional<std::int64_t> exit_code;  // of the driver container
  bool container_running = false;
  bool has_node = false;
  bool deleted = false;                  // it has a deletionTimestamp
  std::int64_t executors_disrupted = 0;  // executors of the run that the cluster evicted
};
Observation observe(const DriverPod& pod);

struct Application {
  std::string state;         // NEW … FINISHED, FAILED, KILLED
  std::string final_status;  // UNDEFINED, SUCCEEDED, FAILED, KILLED
  std::string diagnostics;
};
Observation observe(const Application& application);

// A SparkApplication of Spark Operator that has no driver pod. With a pod, the pod decides: the operator says "failed"
// of a driver that runs if it submitted it twice.
struct OperatorApplication {
  std::string state;    // "" (new), SUBMITTED, SUBMISSION_FAILED, RUNNING, FAILED, …
  std::string message;  // the operator's error
  bool deleted = false;
};
Observation observe(const OperatorApplication& application);

}  // namespace tidemark::policy::route
