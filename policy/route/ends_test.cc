#include "policy/route/ends.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::policy::route {
namespace {

DriverPod ended(std::int64_t code) {
  DriverPod pod;
  pod.phase = code == 0 ? "Succeeded" : "Failed";
  pod.exit_code = code;
  pod.has_node = true;
  return pod;
}

EndClass class_of(const DriverPod& pod) {
  const Observation seen = observe(pod);
  EXPECT_EQ(seen.state, DriverState::kEnded);
  return seen.end ? seen.end->end_class : EndClass::kLost;
}

TEST(RouteEnds, ExitCodesOfADriver) {
  EXPECT_EQ(class_of(ended(0)), EndClass::kSucceeded);
  EXPECT_EQ(class_of(ended(1)), EndClass::kUser);
  EXPECT_EQ(class_of(ended(11)), EndClass::kUser) << "no executor was evicted";
  DriverPod pod = ended(11);
  pod.executors_disrupted = 3;
  EXPECT_EQ(class_of(pod), EndClass::kStorm);
  pod = ended(137);
  pod.terminated_reason = "OOMKilled";
  EXPECT_EQ(class_of(pod), EndClass::kUser);
}

TEST(RouteEnds, ClusterTakesTheMachine) {
  DriverPod pod = ended(143);
  EXPECT_EQ(class_of(pod), EndClass::kUser);
  pod.deleted = true;
  EXPECT_EQ(class_of(pod), EndClass::kKilled);
  pod.disruption = "EvictionByEvictionAPI";
  EXPECT_EQ(class_of(pod), EndClass::kInfrastructure);
  DriverPod evicted;  // the kubelet evicted it before its container started: no container status
  evicted.phase = "Failed";
  evicted.reason = "Evicted";
  EXPECT_EQ(class_of(evicted), EndClass::kInfrastructure);
}

// The condition comes before the end.
TEST(RouteEnds, DisruptedDriverThatRunsHasNotEnded) {
  DriverPod pod;
  pod.phase = "Running";
  pod.has_node = pod.container_running = true;
  pod.disruption = "PreemptionByScheduler";
  EXPECT_EQ(observe(pod).state, DriverState::kRunning);
}

// A sidecar may keep the pod running, and a driver that ended is not disrupted any more.
TEST(RouteEnds, DriverContainerDecidesBeforeThePhase) {
  DriverPod pod = ended(0);
  pod.phase = "Running";
  EXPECT_EQ(class_of(pod), EndClass::kSucceeded);
}

TEST(RouteEnds, DeletedPodWithoutANodeIsGone) {
  DriverPod pod;
  pod.phase = "Pending";
  EXPECT_EQ(observe(pod).state, DriverState::kPending);
  pod.deleted = true;
  EXPECT_EQ(class_of(pod), EndClass::kKilled);
  EXPECT_TRUE(observe(pod).end->never_started);
  pod.has_node = true;  // a kubelet may still start it
  EXPECT_EQ(observe(pod).state, DriverState::kAdmitted);
}

// The node sold less between the binding and the kubelet's own check.
TEST(RouteEnds, DriverThatTheKubeletRefusesNeverStarted) {
  DriverPod pod;
  pod.phase = "Failed";
  pod.has_node = true;
  pod.reason = "OutOfkubernetes.io/batch-memory";
  EXPECT_EQ(class_of(pod), EndClass::kAdmission);
  EXPECT_TRUE(observe(pod).end->never_started);
}

TEST(RouteEnds, ImageThatCannotBePulledIsSeen) {
  DriverPod pod;
  pod.has_node = true;
  EXPECT_FALSE(observe(pod).image_unavailable);
  pod.waiting_reason = "ImagePullBackOff";
  EXPECT_EQ(observe(pod).state, DriverState::kAdmitted);
  EXPECT_TRUE(observe(pod).image_unavailable);
}

// Every pair of state and final status that a ResourceManager reports.
TEST(RouteEnds, StatesOfAnApplication) {
  const auto state = [](const char* s, const char* final_status, const char* diagnostics = "") {
    return observe(Application{s, final_status, diagnostics});
  };
  for (const char* pending : {"NEW", "NEW_SAVING", "SUBMITTED", "ACCEPTED"}) {
    EXPECT_EQ(state(pending, "UNDEFINED").state, DriverState::kPending);
  }
  EXPECT_EQ(state("RUNNING", "UNDEFINED").state, DriverState::kRunning);
  EXPECT_EQ(state("FINISHED", "SUCCEEDED").end->end_class, EndClass::kSucceeded);
  EXPECT_EQ(state("FINISHED", "FAILED").end->end_class, EndClass::kUser);
  EXPECT_EQ(state("FAILED", "FAILED", "AM Container exited with exitCode: -102").end->end_class,
            EndClass::kInfrastructure);
  EXPECT_EQ(state("FAILED", "FAILED", "exitCode: 1").end->end_class, EndClass::kUser);
  EXPECT_EQ(state("FINISHED", "KILLED").end->end_class, EndClass::kKilled);
  EXPECT_EQ(state("KILLED", "KILLED").end->end_class, EndClass::kKilled);
  EXPECT_EQ(state("FINISHED", "UNDEFINED").state, DriverState::kUnknown);
  EXPECT_EQ(state("", "").state, DriverState::kUnknown);
}

// Without a driver pod. Texts as Spark Operator v2.5.1 writes them.
TEST(RouteEnds, StatesOfASparkApplicationWithoutAPod) {
  const auto state = [](const char* s, const std::string& message = "") {
    return observe(OperatorApplication{s, message, false});
  };
  for (const char* pending : {"", "SUBMITTED"}) EXPECT_EQ(state(pending).state, DriverState::kPending);
  for (const char* gone : {"RUNNING", "COMPLETED", "FAILING"}) EXPECT_EQ(state(gone).state, DriverState::kAbsent);
  EXPECT_EQ(state("FAILED", "driver pod not found").state, DriverState::kAbsent);
  const std::string cannot = "failed to submit spark application: failed to run spark-submit: ";
  for (const char* failed : {"SUBMISSION_FAILED", "FAILED"}) {
    const Observation seen = state(failed, cannot + "Exception in thread \"main\"");
    EXPECT_EQ(seen.end->end_class, EndClass::kUser);
    EXPECT_FALSE(seen.end->never_started);
  }
  const Observation full = state("FAILED", cannot + "pods \"a-driver\" is forbidden: exceeded quota: pods");
  EXPECT_EQ(full.end->end_class, EndClass::kAdmission);
  EXPECT_TRUE(full.end->never_started);
  EXPECT_EQ(state("FAILED", cannot + "java.net.ConnectException: refused").end->end_class, EndClass::kInfrastructure);
  EXPECT_EQ(observe(OperatorApplication{"SUBMITTED", "", true}).end->end_class, EndClass::kKilled);
}

// The operator submitted it twice, and its driver pod may run.
TEST(RouteEnds, SecondSubmissionOfTheOperatorIsNoEnd) {
  const Observation seen = observe(OperatorApplication{
      "FAILED", "failed to submit spark application: failed to run spark-submit: driver pod already exist", false});
  EXPECT_EQ(seen.state, DriverState::kAbsent);
}

}  // namespace
}  // namespace tidemark::policy::route
