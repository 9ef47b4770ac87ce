#include "runtime/pods/pod_spec.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/metrics.h"
#include "base/text.h"
#include "base/yaml.h"
#include "model/task.h"

namespace tidemark::runtime {
namespace {

using namespace std::chrono_literals;

struct PodSpecTest : ::testing::Test {
  // The YAML of a specification, as people write it.
  RunPod read(std::string_view spec, std::string_view metadata = "") {
    const auto tree = base::parse_yaml(base::cat("metadata: {name: web, namespace: shop, uid: u1, resourceVersion: '7'",
                                                 metadata, "}\nspec:\n", spec));
    EXPECT_TRUE(tree) << tree.error().message;
    auto pod = read_pod(tree->dump(), interner);
    EXPECT_TRUE(pod) << pod.error().message;
    return pod ? *std::move(pod) : RunPod();
  }
  base::Registry metrics;
  kube::Interner interner{metrics, "test"};
};

TEST_F(PodSpecTest, RejectsTooManyContainers) {
  std::string spec = "  containers:\n";
  for (std::size_t i = 0; i < model::kTaskContainersMax; ++i) {
    spec += base::cat("  - {name: c", i, ", image: i, command: [x]}\n");
  }
  EXPECT_EQ(read(spec).refused, "");
  EXPECT_EQ(read(spec + "  initContainers: [{name: first, image: i, command: [x]}]\n").refused,
            "spec.containers: 129 with those of spec.initContainers: at most 128 of a pod here");
}

TEST_F(PodSpecTest, ReadsOwningJob) {
  const std::string_view container = "  containers: [{name: main, image: i, command: [x]}]\n";
  EXPECT_EQ(read(container).job_uid, "");
  EXPECT_EQ(read(container, ", ownerReferences: [{kind: Job, name: j, uid: j1, apiVersion: batch/v1}]").job_uid, "j1");
  EXPECT_EQ(read(container, ", ownerReferences: [{kind: Other, name: j, uid: j1, apiVersion: v1}]").job_uid, "");
}

TEST_F(PodSpecTest, ReadsCommandAndEnvironment) {
  const RunPod pod = read(R"yaml(
  nodeName: n1
  restartPolicy: OnFailure
  terminationGracePeriodSeconds: 7
  activeDeadlineSeconds: 60
  securityContext: {runAsUser: 1000}
  initContainers:
  - {name: first, image: i, command: [make, it]}
  - {name: beside, image: i, restartPolicy: Always, command: [watch]}
  containers:
  - name: main
    image: i
    command: [sh, -c]
    args: ["echo $(GREETING) $$(GREETING) $(NOBODY)"]
    workingDir: /srv
    env:
    - {name: GREETING, value: hello}
    - {name: TWICE, value: $(GREETING) $(GREETING)}
    - {name: ME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
    - {
  name:
    TEAM, valueFrom : {
    fieldRef: {
    fieldPath:
      "metadata.labels['team']"
    }
    }}
    securityContext: {runAsUser: 33, runAsGroup: 34}
    resources: {requests: {cpu: 500m, memory: 64Mi}, limits: {cpu: 1}}
)yaml",
                          ", labels: {team: red}, annotations: {tidemark.io/rootfs: /srv/root}");
  EXPECT_EQ(pod.refused, "");
  EXPECT_EQ(pod.restart, policy::single_node::RestartPolicy::kOnFailure);
  EXPECT_EQ(pod.grace, 7s);
  EXPECT_EQ(pod.active_deadline, 60s);
  EXPECT_EQ(pod.root, "/srv/root");
  EXPECT_EQ(pod.qos, model::KubeQos::kBurstable);
  ASSERT_EQ(pod.containers.size(), 3U);
  EXPECT_EQ(pod.containers[0].role, policy::single_node::LifeRole::kInit);
  EXPECT_EQ(pod.containers[0].user, 1000);
  EXPECT_EQ(pod.containers[0].group, 1000);
  EXPECT_EQ(pod.containers[1].role, policy::single_node::LifeRole::kSidecar);
  const RunContainer& main = pod.containers[2];
  EXPECT_EQ(main.argv, (std::vector<std::string>{"sh", "-c", "echo hello $(GREETING) $(NOBODY)"}));
  EXPECT_EQ(main.environment[0], "GREETING=hello");
  EXPECT_EQ(main.environment[1], "TWICE=hello hello");
  EXPECT_EQ(main.environment[2], "ME=web");
  EXPECT_EQ(main.environment[3], "TEAM=red");
  EXPECT_TRUE(main.environment[4].starts_with("PATH=")) << "where none is set";
  EXPECT_EQ(main.working_dir, "/srv");
  EXPECT_EQ(main.user, 33);
  EXPECT_EQ(main.group, 34);
  EXPECT_EQ(main.resources.requests.cpu.value, 500);
  EXPECT_EQ(main.resources.limits.cpu.value, 1000);
}

TEST_F(PodSpecTest, EndedPodKeepsOnlyCleanupData) {
  const std::string_view spec = "  containers: [{name: main, image: i, command: [x], env: [{name: A, value: b}]}]\n";
  const RunPod runs = read(spec);
  EXPECT_FALSE(runs.object.empty());
  for (const char* phase : {"Succeeded", "Failed"}) {
    const RunPod over = read(base::cat(spec, "status: {phase: ", phase, "}\n"));
    EXPECT_TRUE(over.terminal());
    EXPECT_EQ(over.object, "");
    ASSERT_EQ(over.containers.size(), 1U);
    EXPECT_EQ(over.containers[0].name, "main");
    EXPECT_TRUE(over.containers[0].argv.empty() && over.containers[0].environment.empty());
    EXPECT_LT(over.bytes(), runs.bytes());
  }
}

TEST_F(PodSpecTest, OfflineComesFromClassOrKubernetesQos) {
  const std::string_view none = "  containers: [{name: main, image: i, command: [x]}]\n";
  const std::string_view some =
      "  containers: [{name: main, image: i, command: [x], resources: {requests: {cpu: 500m}}}]\n";
  EXPECT_TRUE(read(none).offline);
  EXPECT_FALSE(read(some).offline);
  EXPECT_FALSE(read(none, ", labels: {koordinator.sh/qosClass: LS}").offline);
  EXPECT_TRUE(read(some, ", labels: {koordinator.sh/qosClass: BE}").offline);
}

TEST_F(PodSpecTest, Probes) {
  const RunPod pod = read(R"yaml(
  containers:
  - name: main
    image: i
    command: [serve]
    ports: [{name: web, containerPort: 8080}]
    startupProbe: {exec: {command: [test, -f, /ready]}, failureThreshold: 30, periodSeconds: 1}
    livenessProbe: {tcpSocket: {port: 9090, host: 127.0.0.2}, initialDelaySeconds: 5, timeoutSeconds: 2}
    readinessProbe: {httpGet: {port: web, path: /healthz, scheme: HTTPS, httpHeaders: [{name: X, value: y}]}}
)yaml");
  EXPECT_EQ(pod.refused, "");
  const RunContainer& main = pod.containers.at(0);
  ASSERT_TRUE(main.startup && main.liveness && main.readiness);
  EXPECT_EQ(main.startup->argv, (std::vector<std::string>{"test", "-f", "/ready"}));
  EXPECT_EQ(main.startup->failures, 30);
  EXPECT_EQ(main.startup->period, 1s);
  EXPECT_EQ(main.liveness->how, ProbeSpec::How::kTcp);
  EXPECT_EQ(main.liveness->host, "127.0.0.2");
  EXPECT_EQ(main.liveness->port, 9090);
  EXPECT_EQ(main.liveness->initial_delay, 5s);
  EXPECT_EQ(main.liveness->timeout, 2s);
  EXPECT_EQ(main.readiness->port, 8080);
  EXPECT_TRUE(main.readiness->https);
  EXPECT_EQ(main.readiness->path, "/healthz");
}

TEST_F(PodSpecTest, UnsupportedFieldIsNamed) {
  const auto why = [&](std::string_view container, std::string_view more = "") {
    return read(base::cat("  containers:\n  - {name: main, image: i, ", container, "}\n", more)).refused;
  };
  EXPECT_TRUE(why("args: [x]").starts_with("spec.containers[0].command: ")) << why("args: [x]");
  EXPECT_EQ(why("command: [x], env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]"),
            "spec.containers[0].env[0].valueFrom: only fieldRef is known here");
  EXPECT_EQ(why("command: [x], env: [{name: A, valueFrom: {fieldRef: {fieldPath: status.phase}}}]"),
            "spec.containers[0].env[0].valueFrom: the field \"status.phase\" is not known here");
  EXPECT_TRUE(why("command: [x], envFrom: [{configMapRef: {name: c}}]").starts_with("spec.containers[0].envFrom: "));
  EXPECT_TRUE(why("command: [x], livenessProbe: {grpc: {port: 1}}").starts_with("spec.containers[0].livenessProbe: "));
  EXPECT_TRUE(why("command: [x], livenessProbe: {tcpSocket: {port: nobody}}")
                  .starts_with("spec.containers[0].livenessProbe.port: "));
  EXPECT_TRUE(
      why("command: [x], lifecycle: {preStop: {exec: {command: [y]}}}").starts_with("spec.containers[0].lifecycle: "));
  EXPECT_TRUE(why("command: [x], volumeMounts: [{name: v, mountPath: /a}]", "  volumes: [{name: v, emptyDir: {}}]\n")
                  .starts_with("spec.containers[0].volumeMounts[0]: "));
  EXPECT_EQ(
      why("command: [x], volumeMounts: [{name: v, mountPath: /a}]", "  volumes: [{name: v, hostPath: {path: /a}}]\n"),
      "");
}

TEST_F(PodSpecTest, RejectsUnsupportedSecurityFieldByName) {
  const auto why = [&](std::string_view container, std::string_view pod = "{}") {
    return read(base::cat("  securityContext: ", pod,
                          "\n  containers:\n  - {name: main, image: i, command: [x], securityContext: ", container,
                          "}\n"))
        .refused;
  };
  const std::string_view place = "spec.containers[0].securityContext.";
  for (const auto& [name, wrong] : {
           std::pair("runAsNonRoot", "{runAsNonRoot: true}"),
           {"runAsNonRoot", "{runAsNonRoot: true, runAsUser: 0}"},
           {"readOnlyRootFilesystem", "{readOnlyRootFilesystem: true}"},
           {"allowPrivilegeEscalation", "{allowPrivilegeEscalation: false}"},
           {"capabilities.drop", "{capabilities: {drop: [ALL]}}"},
           {"seccompProfile", "{seccompProfile: {type: RuntimeDefault}}"},
           {"appArmorProfile", "{appArmorProfile: {type: RuntimeDefault}}"},
           {"seLinuxOptions", "{seLinuxOptions: {level: s0}}"},
       }) {
    EXPECT_TRUE(why(wrong).starts_with(base::cat(place, name, ": "))) << wrong << " " << why(wrong);
  }
  for (const char* pod : {"{fsGroup: 7}", "{supplementalGroups: [7]}", "{seccompProfile: {type: RuntimeDefault}}"}) {
    EXPECT_TRUE(why("{}", pod).starts_with("spec.securityContext.")) << pod << " " << why("{}", pod);
  }
  EXPECT_TRUE(why("{}", "{runAsNonRoot: true}").starts_with(base::cat(place, "runAsNonRoot: ")));
  for (const char* done :
       {"{}", "{runAsNonRoot: true, runAsUser: 33}", "{runAsNonRoot: false}", "{privileged: true}",
        "{allowPrivilegeEscalation: true, readOnlyRootFilesystem: false, capabilities: {add: [SYS_TIME], drop: []}}",
        "{seccompProfile: {type: Unconfined}}"}) {
    EXPECT_EQ(why(done), "") << done;
  }
  EXPECT_EQ(why("{}", "{runAsNonRoot: true, runAsUser: 33}"), "");
  EXPECT_EQ(why("{runAsNonRoot: false}", "{runAsNonRoot: true}"), "");
}

TEST_F(PodSpecTest, DeletedPodHasGraceOfItsDeletion) {
  const RunPod pod = read("  terminationGracePeriodSeconds: 30\n  containers: [{name: m, image: i, command: [x]}]\n",
                          ", deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 2");
  EXPECT_TRUE(pod.deleted);
  EXPECT_EQ(pod.grace, 2s);
}

TEST_F(PodSpecTest, RejectsInvalidPod) {
  for (const char* wrong : {"", "[]", "{}", R"({"kind":"Node","metadata":{"name":"n"}})"}) {
    EXPECT_FALSE(read_pod(wrong, interner)) << wrong;
  }
}

}  // namespace
}  // namespace tidemark::runtime
