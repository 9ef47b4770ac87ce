// Pods of an API server in memory as real processes, without groups.
#include "runtime/runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "net/http_client.h"
#include "runtime/testing/garbling.h"
#include "runtime/testing/runtime.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;
using testing::Garbling;
using testing::kPutsAway;
using testing::RuntimeTest;

TEST_F(RuntimeTest, PodRunsToItsEndWithStatus) {
  begin();
  make("once", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, 'echo from $0; exit 3', here]}]
)");
  until([&] { return phase("once") == "Failed"; });
  const Json terminated = *container("once").at("state", "terminated");
  EXPECT_EQ(terminated.at("exitCode")->as_int(), 3);
  EXPECT_EQ(terminated.text_at("reason"), "Error");
  EXPECT_NE(log_of("once").find(" stdout F from here\n"), std::string::npos);
  remove("once");
  until([&] { return pods().empty(); });
  EXPECT_TRUE(std::filesystem::is_empty(folder + "/containers"));
  until([&] { return std::filesystem::is_empty(folder + "/logs"); });
}

TEST_F(RuntimeTest, EndedPodKeepsEndOfLog) {
  options.log_megabytes = 1;
  options.log_files = 4;
  options.logs_whole_for = 0s;
  begin();
  make("loud", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, 'yes a-line | head -n 100000; echo last words; exit 3']}]
)");
  const auto kept = [&] {
    std::uintmax_t out = 0;
    for (const auto& each : std::filesystem::recursive_directory_iterator(folder + "/logs")) {
      if (each.is_regular_file()) out += each.file_size();
    }
    return out;
  };
  until([&] { return phase("loud") == "Failed" && kept() <= (1U << 20); });  // it wrote four times that, with the times
  EXPECT_TRUE(log_of("loud").ends_with(" stdout F last words\n"));
}

TEST_F(RuntimeTest, OomKillerKillsOfflineWorkFirst) {
  int own = 0;
  std::ifstream("/proc/self/oom_score_adj") >> own;
  begin();
  const std::string_view tells =
      "  restartPolicy: Never\n  containers: [{name: main, image: local, command: [cat, "
      "/proc/self/oom_score_adj], resources: ";
  make("batch", base::cat(tells, "{}}]\n"));
  make("web", base::cat(tells, "{requests: {cpu: 10m}}}]\n"));
  until([&] { return phase("batch") == "Succeeded" && phase("web") == "Succeeded"; });
  EXPECT_TRUE(log_of("batch").ends_with(" stdout F 1000\n")) << log_of("batch");
  EXPECT_TRUE(log_of("web").ends_with(base::cat(" stdout F ", std::max(own, 0), "\n"))) << log_of("web");
}

TEST_F(RuntimeTest, NodeExistsAndIsReady) {
  begin();
  until([&] { return wait(client->get(kube::kNodes, "", "here", 10s)).has_value(); });
  until([&] { return node().at("status", "capacity") != nullptr; });
  EXPECT_TRUE(message_of_node().starts_with(
      "pods run as processes of this machine, without limits: they have no groups: find the cgroup root "))
      << message_of_node();
}

TEST_F(RuntimeTest, ReadinessProbeMakesPodReady) {
  begin();
  make("slow", base::cat(R"(
  containers:
  - name: main
    image: local
    command: [sh, -c, 'sleep 1; touch )",
                         folder, R"(/ready; sleep 100']
    readinessProbe: {exec: {command: [test, -f, )",
                         folder, R"(/ready]}, periodSeconds: 1}
)"));
  until([&] { return phase("slow") == "Running"; });
  EXPECT_FALSE(container("slow").at("ready")->as_bool());
  until([&] { return container("slow").at("ready")->as_bool(); });
}

TEST_F(RuntimeTest, LivenessProbeRestartsContainer) {
  begin();
  make("ill", R"(
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: local
    command: [sleep, "100"]
    livenessProbe: {exec: {command: ["false"]}, periodSeconds: 1, failureThreshold: 1}
)");
  until([&] {
    const Json seen = container("ill");
    return seen.at("lastState", "terminated") != nullptr || seen.at("state", "terminated") != nullptr;
  });
  const Json seen = container("ill");
  EXPECT_EQ(seen.at("state", "waiting", "reason")->as_string(), "CrashLoopBackOff");
  EXPECT_EQ(seen.at("lastState", "terminated", "exitCode")->as_int(), 143);
}

// A probe that the end of this process interrupts does not count for the next one.
TEST_F(RuntimeTest, InterruptedProbeKillsNothing) {
  begin();
  std::ofstream(folder + "/hang").close();
  make("well", base::cat(R"(
  terminationGracePeriodSeconds: 1
  containers:
  - name: main
    image: local
    command: [sleep, "1000"]
    livenessProbe:
      exec: {command: [sh, -c, 'echo >> $0/asked; while [ -e $0/hang ]; do sleep 0.1; done', )",
                         folder, R"(]}
      periodSeconds: 1
      timeoutSeconds: 100
      failureThreshold: 1
)"));
  const auto asked = [&] {
    std::ifstream file(folder + "/asked");
    return std::count(std::istreambuf_iterator<char>(file), {}, '\n');
  };
  until([&] { return asked() == 1; });
  runtime.reset();
  std::filesystem::remove(folder + "/hang");
  begin();
  until([&] { return asked() >= 4; });
  EXPECT_EQ(phase("well"), "Running");
  EXPECT_EQ(container("well").at("restartCount")->as_int(), 0);
  EXPECT_EQ(container("well").at("state", "waiting"), nullptr);
  EXPECT_EQ(lines.find("cannot be asked"), std::string::npos) << lines;
}

TEST_F(RuntimeTest, KillsContainerAfterGrace) {
  begin();
  make("deaf", R"(
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: local, command: [sh, -c, 'trap "" TERM; echo deaf; while :; do sleep 0.1; done']}]
)");
  until([&] { return phase("deaf") == "Running" && !log_of("deaf").empty(); });
  remove("deaf");
  EXPECT_FALSE(pods().empty()) << "it is there until it has ended";
  until([&] { return pods().empty(); });
  EXPECT_NE(lines.find("did not end within its grace"), std::string::npos);
}

TEST_F(RuntimeTest, EveryProcessGetsSigtermAndGrace) {
  begin();
  make("away", base::cat(kPutsAway, folder, "]\n"));
  until([&] { return phase("away") == "Running" && log_of("away").contains("up"); });
  remove("away");
  until([&] { return pods().empty(); });
  EXPECT_TRUE(std::filesystem::exists(folder + "/kept"));
  EXPECT_EQ(lines.find("did not end within its grace"), std::string::npos) << lines;
}

TEST_F(RuntimeTest, AdoptsRunningContainersWithExitCode) {
  begin();
  make("long", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, 'until [ -e $0/go ]; do sleep 0.05; done; exit 9', )" +
                   folder + "]}]\n");
  make("other", "  restartPolicy: Never\n  containers: [{name: main, image: local, command: [sleep, '100']}]\n");
  until([&] { return phase("long") == "Running" && phase("other") == "Running"; });
  const std::string id(container("other").text_at("containerID"));
  runtime.reset();
  {
    std::ofstream(folder + "/go");
  }
  while (!std::filesystem::exists(
      base::cat(folder, "/containers/", pod("long").text_at("metadata", "uid"), "/main/0/ended.json"))) {
    loop.turn(net::EventLoop::Wait::kNo);
  }
  begin();
  until([&] { return phase("long") == "Failed"; });
  EXPECT_EQ(container("long").at("state", "terminated", "exitCode")->as_int(), 9);
  EXPECT_EQ(phase("other"), "Running");
  EXPECT_EQ(container("other").text_at("containerID"), id);
  EXPECT_EQ(container("other").at("restartCount")->as_int(), 0);
}

TEST_F(RuntimeTest, MachineRestartIsADisruptionNotAFailure) {
  begin();
  make("job", "  restartPolicy: Never\n  containers: [{name: main, image: i, command: [sleep, '1000']}]\n");
  make("web", "  containers: [{name: main, image: i, command: [sleep, '1000']}]\n");
  until([&] { return phase("job") == "Running" && phase("web") == "Running"; });
  reboot();
  clock.off = 1h;  // it ran for long, and is begun again at once
  begin();
  until([&] { return phase("job") == "Failed"; });
  const Json job = pod("job");
  const auto disrupted = std::ranges::find(job.at("status", "conditions")->as_array(), "DisruptionTarget",
                                           [](const Json& each) { return each.text_at("type"); });
  ASSERT_NE(disrupted, job.at("status", "conditions")->as_array().end()) << job.dump();
  EXPECT_EQ(disrupted->text_at("status"), "True");
  EXPECT_EQ(disrupted->text_at("reason"), "NodeReboot");
  until([&] { return runs_as_restart("web", 1); });
}

TEST_F(RuntimeTest, StopsPodsDeletedDuringDowntime) {
  begin();
  make("lost", "  containers: [{name: main, image: local, command: [sleep, '100']}]\n");
  until([&] { return phase("lost") == "Running"; });
  runtime.reset();
  remove("lost", 0);
  ASSERT_TRUE(pods().empty());
  begin();
  until([&] { return std::filesystem::is_empty(folder + "/containers"); });
}

// What there is no room for is no more gone than what there is.
TEST_F(RuntimeTest, PodsBeyondLimitContinue) {
  begin();
  make("long", "  containers: [{name: main, image: local, command: [sleep, '1000']}]\n");
  until([&] { return phase("long") == "Running"; });
  const std::string process = process_of("long");
  runtime.reset();
  options.pods_bytes_max = 1;
  begin();
  until([&] { return lines.contains("not all pods of this node are known"); });
  runtime.reset();
  options.pods_bytes_max = RuntimeOptions().pods_bytes_max;
  begin();
  until([&] { return pods_told().size() == 1; });
  EXPECT_EQ(process_of("long"), process);
  EXPECT_EQ(lines_with("is killed"), 0U) << lines;
}

TEST_F(RuntimeTest, UnknownPodContinues) {
  begin();
  make("long", R"(
  containers: [{name: main, image: local, command: [sleep, "1000"], resources: {requests: {cpu: 333m}}}]
)");
  make("gone", "  containers: [{name: main, image: local, command: [sleep, '1000']}]\n");
  until([&] { return phase("long") == "Running" && phase("gone") == "Running"; });
  const std::string process = process_of("long");
  const std::string left = base::cat(folder, "/containers/", pod("gone").text_at("metadata", "uid"));
  runtime.reset();
  remove("gone", 0);
  Garbling garbling(*transport, "\"333m\"", "\"?\"");
  const auto garbled = client_over(garbling);
  begin(*garbled);
  until([&] { return !std::filesystem::exists(left); });
  EXPECT_TRUE(lines.contains("a pod is not understood")) << lines;
  EXPECT_EQ(lines_with("a container of a pod that is no more is killed"), 1U) << lines;
  runtime.reset();
  begin();
  until([&] { return pods_told().size() == 1; });
  EXPECT_EQ(process_of("long"), process);
}

TEST_F(RuntimeTest, UnknownPodEndsWhenDeleted) {
  begin();
  make("long", R"(
  containers: [{name: main, image: local, command: [sleep, "1000"], resources: {requests: {cpu: 333m}}}]
)");
  until([&] { return phase("long") == "Running"; });
  const std::string left = base::cat(folder, "/containers/", pod("long").text_at("metadata", "uid"));
  runtime.reset();
  Garbling garbling(*transport, "\"333m\"", "\"?\"");
  const auto garbled = client_over(garbling);
  begin(*garbled);
  until([&] { return lines.contains("a pod is not understood"); });
  EXPECT_TRUE(std::filesystem::exists(left));
  remove("long", 0);
  until([&] { return !std::filesystem::exists(left); });
}

TEST_F(RuntimeTest, UnsupportedPodFailsWithPlace) {
  begin();
  make("image", "  containers: [{name: main, image: nginx}]\n");
  until([&] { return phase("image") == "Failed"; });
  EXPECT_TRUE(pod("image").text_at("status", "message").starts_with("spec.containers[0].command: "));
  make("missing", "  restartPolicy: Never\n  containers: [{name: main, image: i, command: [/no/such/program]}]\n");
  until([&] { return phase("missing") == "Failed"; });
  const Json ended = *container("missing").at("state", "terminated");
  EXPECT_EQ(ended.text_at("reason"), "StartError");
  EXPECT_NE(ended.text_at("message").find("/no/such/program"), std::string::npos);
}

// For example a full disk. That is no failure of the container, so it is no attempt.
TEST_F(RuntimeTest, ContainerThatCannotBeCreatedYetWaits) {
  std::ofstream(folder + "/logs").close();  // no folder can be made there
  begin();
  make("later", "  restartPolicy: Never\n  containers: [{name: main, image: i, command: ['true']}]\n");
  until([&] { return container("later").text_at("state", "waiting", "reason") == "CreateContainerError"; });
  EXPECT_EQ(phase("later"), "Pending");
  EXPECT_NE(container("later").text_at("state", "waiting", "message").find(folder + "/logs"), std::string::npos);
  EXPECT_TRUE(std::filesystem::is_empty(folder + "/containers"));
}

TEST_F(RuntimeTest, RejectsRootCgroup) {
  for (const char* wrong : {"", "/", "//", "/a/../..", ".."}) {
    options.group = wrong;
    const auto made = Runtime::make(loop, *client, log, metrics.emplace(), base::Random(2), killing, options);
    ASSERT_FALSE(made) << wrong;
    EXPECT_EQ(made.error().kind, ErrorKind::kInvalid);
    EXPECT_TRUE(made.error().message.starts_with("--pod-group ")) << made.error().message;
  }
}

TEST_F(RuntimeTest, RejectsInvalidNodeNameAtStart) {
  for (const char* wrong : {"", "my_server", "Big", "a..b", "-a", "a-.b"}) {
    options.node_name = wrong;
    const auto checked = check_options(options);
    ASSERT_FALSE(checked) << wrong;
    EXPECT_TRUE(checked.error().message.starts_with("--node-name ")) << checked.error().message;
  }
  for (const char* good : {"here", "node-1.example.com", "7"}) {
    options.node_name = good;
    EXPECT_TRUE(check_options(options)) << good;
  }
}

TEST_F(RuntimeTest, ServesPodListLikeKubelet) {
  begin();
  make("told", "  containers: [{name: main, image: local, command: [sleep, '100']}]\n");
  make("over", "  restartPolicy: Never\n  containers: [{name: main, image: local, command: ['true']}]\n");
  until([&] { return phase("told") == "Running" && phase("over") == "Succeeded"; });
  until([&] { return pods_told().size() == 1; });  // a pod leaves the list with its final status
  const Json item = pods_told().at(0);
  EXPECT_EQ(item.text_at("metadata", "name"), "told");
  EXPECT_FALSE(item.at("status", "containerStatuses")->as_array()[0].text_at("containerID").empty());
}

TEST_F(RuntimeTest, ClockChangeDoesNotAffectDeadlines) {
  begin();
  make("long", R"(
  restartPolicy: Never
  activeDeadlineSeconds: 3600
  containers: [{name: main, image: local, command: [sleep, "1000"]}]
)");
  until([&] { return phase("long") == "Running"; });
  clock.off = 48h;
  make("after", R"(
  restartPolicy: Never
  containers: [{name: main, image: local, command: [sh, -c, "exit 3"]}]
)");
  until([&] { return phase("after") == "Failed"; });
  EXPECT_EQ(phase("long"), "Running");
  clock.off = -48h;
  make("late", R"(
  restartPolicy: Never
  activeDeadlineSeconds: 1
  terminationGracePeriodSeconds: 1
  containers: [{name: main, image: local, command: [sleep, "1000"]}]
)");
  until([&] { return phase("late") == "Failed"; });
  EXPECT_EQ(pod("late").text_at("status", "reason"), "DeadlineExceeded");
  EXPECT_EQ(phase("long"), "Running");
}

}  // namespace
}  // namespace tidemark::runtime
