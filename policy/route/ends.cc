#include "policy/route/ends.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace tidemark::policy::route {
namespace {

// org.apache.spark.util.SparkExitCode: too many executors failed.
constexpr std::int64_t kExceededExecutorFailures = 11;

constexpr std::array<std::string_view, 3> kNodeReasons = {"Evicted", "NodeLost", "Preempting"};
// A kubelet refuses a pod that was bound to it, for example because the node sells less by now. No container starts.
constexpr std::array<std::string_view, 4> kRefusedByKubelet = {"UnexpectedAdmissionError", "NodeAffinity",
                                                               "TopologyAffinityError", "NodePorts"};
constexpr std::string_view kOutOf = "OutOf";  // OutOfcpu, OutOfkubernetes.io/batch-memory
constexpr std::array<std::string_view, 5> kImageReasons = {"ErrImagePull", "ImagePullBackOff", "InvalidImageName",
                                                           "ErrImageNeverPull", "RegistryUnavailable"};
// What a ResourceManager says of a master whose container it took or whose node it lost. Exit codes of YARN's
// ContainerExitStatus: ABORTED −100, DISKS_FAILED −101, PREEMPTED −102.
constexpr std::array<std::string_view, 5> kLostMasters = {"exitCode: -100", "exitCode: -101", "exitCode: -102",
                                                          "Container preempted by scheduler",
                                                          "Container released on a *lost* node"};

// What Spark Operator says of a spark-submit that failed, of one that found a driver pod, and of its causes.
constexpr std::string_view kNotSubmitted = "failed to submit";
constexpr std::string_view kPodExists = "driver pod already exist";
constexpr std::string_view kQuota = "exceeded quota";
constexpr std::array<std::string_view, 4> kUnreachable = {"java.net.ConnectException", "java.net.UnknownHostException",
                                                          "java.net.SocketTimeoutException",
                                                          "java.net.NoRouteToHostException"};

bool refused_by_kubelet(const DriverPod& pod) {
  return pod.phase == "Failed" && !pod.exit_code &&
         (pod.reason.starts_with(kOutOf) ||
          std::ranges::find(kRefusedByKubelet, pod.reason) != kRefusedByKubelet.end());
}

bool taken_by_cluster(const DriverPod& pod) {
  return !pod.disruption.empty() || std::ranges::find(kNodeReasons, pod.reason) != kNodeReasons.end();
}

EndClass class_of_failure(const DriverPod& pod) {
  if (taken_by_cluster(pod)) return EndClass::kInfrastructure;
  if (pod.terminated_reason == "OOMKilled") return EndClass::kUser;
  if (pod.exit_code == kExceededExecutorFailures && pod.executors_disrupted > 0) return EndClass::kStorm;
  if (pod.deleted) return EndClass::kKilled;
  return EndClass::kUser;
}

}  // namespace

Observation observe(const DriverPod& pod) {
  if (pod.exit_code == 0) return {DriverState::kEnded, End{EndClass::kSucceeded, 0}};
  if (pod.phase == "Succeeded") return {DriverState::kEnded, End{EndClass::kSucceeded, pod.exit_code}};
  if (refused_by_kubelet(pod)) return {DriverState::kEnded, End{EndClass::kAdmission, std::nullopt, true}};
  if (pod.exit_code || pod.phase == "Failed") {
    return {DriverState::kEnded, End{class_of_failure(pod), pod.exit_code}};
  }
  // No kubelet has it, and the API server binds no deleted pod to a node.
  if (pod.deleted && !pod.has_node) return {DriverState::kEnded, End{class_of_failure(pod), std::nullopt, true}};
  if (pod.container_running) return {DriverState::kRunning};
  if (!pod.has_node) return {DriverState::kPending};
  return {.state = DriverState::kAdmitted,
          .image_unavailable = std::ranges::find(kImageReasons, pod.waiting_reason) != kImageReasons.end()};
}

Observation observe(const Application& application) {
  if (application.state == "RUNNING") return {DriverState::kRunning};
  if (application.state == "KILLED" || (application.state == "FINISHED" && application.final_status == "KILLED")) {
    return {DriverState::kEnded, End{EndClass::kKilled}};
  }
  if (application.state == "FINISHED" && application.final_status == "SUCCEEDED") {
    return {DriverState::kEnded, End{EndClass::kSucceeded, 0}};
  }
  if (application.state == "FAILED" || (application.state == "FINISHED" && application.final_status == "FAILED")) {
    const bool lost = std::ranges::any_of(
        kLostMasters, [&](std::string_view sign) { return application.diagnostics.contains(sign); });
    return {DriverState::kEnded, End{lost ? EndClass::kInfrastructure : EndClass::kUser}};
  }
  for (const std::string_view pending : {"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"}) {
    if (application.state == pending) return {DriverState::kPending};
  }
  return {DriverState::kUnknown};
}

Observation observe(const OperatorApplication& application) {
  if (application.deleted) return {DriverState::kEnded, End{EndClass::kKilled}};
  if (application.state.empty() || application.state == "SUBMITTED") return {DriverState::kPending};
  const std::string_view message = application.message;
  const bool failed = application.state == "SUBMISSION_FAILED" || application.state == "FAILED";
  // Its pod existed, so it is on its way to the watch, or another program removed it.
  if (!failed || !message.contains(kNotSubmitted) || message.contains(kPodExists)) return {DriverState::kAbsent};
  End end{EndClass::kUser};
  if (message.contains(kQuota)) end = {EndClass::kAdmission, std::nullopt, true};
  if (std::ranges::any_of(kUnreachable, [&](std::string_view sign) { return message.contains(sign); })) {
    end.end_class = EndClass::kInfrastructure;
  }
  return {.state = DriverState::kEnded, .end = end, .message = application.message};
}

}  // namespace tidemark::policy::route
