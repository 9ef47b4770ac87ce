#include "fleet.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::bench {
namespace {

using base::cat;
using base::JsonWriter;
using base::Random;

constexpr std::int64_t kNodeCpuMilli = 64'000;
constexpr std::int64_t kNodeMemoryBytes = std::int64_t{256} << 30;
constexpr std::int64_t kKubeletCpuMilli = 1'000;
constexpr std::int64_t kSystemCpuMilli = 1'500;
constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::size_t kImages = 50;              // the most that a kubelet reports
constexpr std::int64_t kMadeAt = 1'767'225'600;  // 2026-01-01, when the oldest objects were made

enum Draws : std::uint64_t { kOfPod = 1, kOfPodText, kOfNode, kOfReport };

template <std::size_t N>
std::string_view pick(Random& random, const std::array<std::string_view, N>& of) {
  return of[random.below(N)];
}

constexpr std::array<std::string_view, 10> kNamespaces = {"default", "payments", "search", "ads",   "feeds",
                                                          "media",   "risk",     "stores", "tools", "kube-system"};
constexpr std::array<std::string_view, 12> kApps = {"api",     "web",      "gateway", "ranker",  "indexer",  "cart",
                                                    "billing", "notifier", "profile", "session", "exporter", "reviews"};

std::string letters(Random& random, std::size_t length) {
  constexpr std::string_view kAlphabet = "bcdfghjklmnpqrstvwxz2456789";  // what Kubernetes makes name suffixes of
  std::string out;
  for (std::size_t i = 0; i < length; ++i) out += kAlphabet[random.below(kAlphabet.size())];
  return out;
}

std::string hexadecimal(Random& random, std::size_t digits) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  while (out.size() < digits) {
    std::uint64_t bits = random.next();
    for (int i = 0; i < 16 && out.size() < digits; ++i, bits >>= 4) out += kDigits[bits & 15];
  }
  return out;
}

std::string uid(Random& random) {
  const std::string d = hexadecimal(random, 32);
  const std::string_view v = d;
  return cat(v.substr(0, 8), "-", v.substr(8, 4), "-", v.substr(12, 4), "-", v.substr(16, 4), "-", v.substr(20));
}

std::string time_text(std::int64_t unix_seconds) {
  return base::format_rfc3339(base::WallTime{std::chrono::seconds(unix_seconds)});
}

void amounts(JsonWriter& json, std::string_view list, std::string_view cpu, std::string_view memory,
             std::int64_t cpu_milli, std::int64_t memory_bytes, std::string_view milli_suffix) {
  json.key(list).begin_object();
  json.member(cpu, std::string_view(cat(cpu_milli, milli_suffix)));
  json.member(memory, std::string_view(cat(memory_bytes / kMebibyte, "Mi")));
  json.end_object();
}

void usage(JsonWriter& json, std::string_view key, std::int64_t cpu_milli, std::int64_t memory_bytes) {
  json.key(key).begin_object().key("resources").begin_object();
  json.member("cpu", std::string_view(cat(cpu_milli, "m")));
  json.member("memory", std::string_view(cat(memory_bytes)));
  json.end_object().end_object();
}

}  // namespace

// What a pod's own text and its node's NodeMetric must agree on.
struct Fleet::PodFacts {
  enum class Kind { kReplicaSet, kJob, kDaemonSet, kStatefulSet } kind = Kind::kReplicaSet;
  std::string_view app;
  std::string_view ns;
  std::string owner;
  std::string name;
  std::string_view qos;
  std::int64_t cpu_milli = 0;  // requested by its first container; batch-cpu of a job
  std::int64_t memory_bytes = 0;
  bool sidecar = false;
  std::int64_t use_permille = 0;  // of what it requests, usually

  bool batch() const { return kind == Kind::kJob; }
  std::int64_t used_cpu_milli(std::int64_t load_permille) const {
    return cpu_milli * use_permille * (batch() ? 1000 : load_permille) / 1'000'000;
  }
  std::int64_t used_memory_bytes(std::int64_t load_permille) const {
    return memory_bytes / 1000 * use_permille / 1000 * (batch() ? 1000 : load_permille);
  }
};

Random Fleet::draws(std::uint64_t what, std::size_t node, std::size_t pod) const {
  return Random(((shape_.seed * 8 + what) << 40) ^ (static_cast<std::uint64_t>(node) << 12) ^ pod);
}

Fleet::PodFacts Fleet::facts(std::size_t node, std::size_t pod) const {
  Random random = draws(kOfPod, node, pod);
  PodFacts pod_facts;
  using Kind = PodFacts::Kind;
  constexpr std::array<Kind, 10> kKinds = {Kind::kReplicaSet, Kind::kReplicaSet, Kind::kReplicaSet, Kind::kReplicaSet,
                                           Kind::kReplicaSet, Kind::kJob,        Kind::kJob,        Kind::kJob,
                                           Kind::kDaemonSet,  Kind::kStatefulSet};
  pod_facts.kind = kKinds[random.below(kKinds.size())];
  pod_facts.app = pick(random, kApps);
  pod_facts.ns = pod_facts.batch() ? "spark" : pick(random, kNamespaces);
  pod_facts.owner = cat(pod_facts.app, "-", random.below(400));
  // The last words say node and pod, so that no name comes twice.
  const std::string place = cat(node, "x", pod);
  switch (pod_facts.kind) {
    case Kind::kReplicaSet:
      pod_facts.owner += "-" + letters(random, 10);
      pod_facts.name = cat(pod_facts.owner, "-", letters(random, 5), place);
      break;
    case Kind::kStatefulSet:
      pod_facts.name = cat(pod_facts.owner, "-", node * shape_.pods_a_node + pod);
      break;
    case Kind::kJob:
    case Kind::kDaemonSet:
      pod_facts.name = cat(pod_facts.owner, "-", letters(random, 5), place);
      break;
  }
  constexpr std::array<std::string_view, 4> kServing = {"LS", "LS", "LS", "LSR"};
  pod_facts.qos = pod_facts.batch() ? "BE" : pick(random, kServing);
  pod_facts.cpu_milli = static_cast<std::int64_t>(100 * (2 + random.below(26)));
  pod_facts.memory_bytes = static_cast<std::int64_t>(256 + 64 * random.below(96)) * kMebibyte;
  pod_facts.sidecar = !pod_facts.batch() && pod_facts.kind != Kind::kDaemonSet && random.below(3) == 0;
  pod_facts.use_permille = static_cast<std::int64_t>(250 + random.below(200));
  return pod_facts;
}

std::string Fleet::node_name(std::size_t node) const {
  return cat("node-", 10'000 + node, ".zone-", node % 3, ".internal");
}

std::string Fleet::node(std::size_t node, std::int64_t revision) const {
  Random random = draws(kOfNode, node, 0);
  const std::string name = node_name(node);
  const std::int64_t made = kMadeAt + static_cast<std::int64_t>(random.below(100 * 86'400));
  std::string out;
  JsonWriter json(out);
  json.begin_object().member("kind", "Node").member("apiVersion", "v1");
  json.key("metadata").begin_object();
  json.member("name", std::string_view(name)).member("uid", std::string_view(uid(random)));
  json.member("resourceVersion", std::string_view(cat(revision)));
  json.member("creationTimestamp", std::string_view(time_text(made)));
  json.key("labels").begin_object();
  constexpr std::array<std::string_view, 3> kPools = {"serving", "search", "mixed"};
  const std::vector<std::pair<std::string_view, std::string>> labels = {
      {"beta.kubernetes.io/arch", "amd64"},
      {"beta.kubernetes.io/os", "linux"},
      {"failure-domain.beta.kubernetes.io/region", "region-1"},
      {"failure-domain.beta.kubernetes.io/zone", cat("zone-", node % 3)},
      {"fleet.internal/generation", cat("g", 5 + node % 4)},
      {"fleet.internal/rack", cat("rack-", node / 40)},
      {"fleet.internal/serial", hexadecimal(random, 16)},
      {"kubernetes.io/arch", "amd64"},
      {"kubernetes.io/hostname", name},
      {"kubernetes.io/os", "linux"},
      {"node.kubernetes.io/instance-type", "c64m256"},
      {"pool", std::string(kPools[node % kPools.size()])},
      {"topology.kubernetes.io/region", "region-1"},
      {"topology.kubernetes.io/zone", cat("zone-", node % 3)},
  };
  for (const auto& [key, value] : labels) json.member(key, std::string_view(value));
  json.end_object();
  json.key("annotations").begin_object();
  json.member("csi.volume.kubernetes.io/nodeid", std::string_view(cat("{\"disk.internal\":\"", name, "\"}")));
  json.member("node.alpha.kubernetes.io/ttl", "0");
  json.member("volumes.kubernetes.io/controller-managed-attach-detach", "true");
  json.end_object().end_object();
  json.key("spec").begin_object();
  const std::string cidr = cat("10.", node / 256, ".", node % 256, ".0/24");
  json.member("podCIDR", std::string_view(cidr)).key("podCIDRs").begin_array().value(cidr).end_array().end_object();

  json.key("status").begin_object();
  for (const bool whole : {true, false}) {
    json.key(whole ? "capacity" : "allocatable").begin_object();
    json.member("cpu",
                std::string_view(whole ? cat(kNodeCpuMilli / 1000) : cat(kNodeCpuMilli - kKubeletCpuMilli, "m")));
    json.member("ephemeral-storage", whole ? "1863846632Ki" : "1717720254574");
    json.member("hugepages-1Gi", "0").member("hugepages-2Mi", "0");
    json.member("memory", std::string_view(cat((kNodeMemoryBytes >> 10) - (whole ? 0 : 2'097'152), "Ki")));
    json.member("pods", "110").end_object();
  }
  json.key("conditions").begin_array();
  constexpr std::array<std::array<std::string_view, 4>, 4> kConditions = {{
      {"MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"},
      {"DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"},
      {"PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"},
      {"Ready", "True", "KubeletReady", "kubelet is posting ready status"},
  }};
  for (const auto& [type, status, reason, message] : kConditions) {
    json.begin_object().member("type", type).member("status", status).member("reason", reason);
    json.member("message", message).member("lastHeartbeatTime", std::string_view(time_text(made + 9'000'000)));
    json.member("lastTransitionTime", std::string_view(time_text(made + 30))).end_object();
  }
  json.end_array();
  json.key("addresses").begin_array();
  json.begin_object().member("type", "InternalIP");
  json.member("address", std::string_view(cat("192.168.", node / 250, ".", 1 + node % 250))).end_object();
  json.begin_object().member("type", "Hostname").member("address", std::string_view(name)).end_object();
  json.end_array();
  json.key("daemonEndpoints").begin_object().key("kubeletEndpoint").begin_object().member("Port", 10250);
  json.end_object().end_object();
  json.key("nodeInfo").begin_object();
  json.member("architecture", "amd64").member("bootID", std::string_view(uid(random)));
  json.member("containerRuntimeVersion", "containerd://1.7.24").member("kernelVersion", "6.1.0-28-amd64");
  json.member("kubeProxyVersion", "v1.34.0").member("kubeletVersion", "v1.34.0");
  json.member("machineID", std::string_view(hexadecimal(random, 32))).member("operatingSystem", "linux");
  json.member("osImage", "Debian GNU/Linux 12 (bookworm)").member("systemUUID", std::string_view(uid(random)));
  json.end_object();
  json.key("images").begin_array();
  for (std::size_t i = 0; i < kImages; ++i) {
    const std::string image = cat("registry.internal/", pick(random, kApps), "/", letters(random, 6));
    json.begin_object().key("names").begin_array();
    json.value(std::string_view(cat(image, "@sha256:", hexadecimal(random, 64))));
    json.value(std::string_view(cat(image, ":1.", random.below(90))));
    json.end_array()
        .member("sizeBytes", static_cast<std::int64_t>(20'000'000 + random.below(900'000'000)))
        .end_object();
  }
  json.end_array().end_object().end_object();
  return out;
}

std::string Fleet::pod(std::size_t node, std::size_t pod, std::int64_t revision) const {
  const PodFacts pod_facts = facts(node, pod);
  Random random = draws(kOfPodText, node, pod);
  const bool batch = pod_facts.batch();
  constexpr std::array<std::string_view, 4> kOwnerKinds = {"ReplicaSet", "Job", "DaemonSet", "StatefulSet"};
  const std::string_view owner_kind = kOwnerKinds[static_cast<std::size_t>(pod_facts.kind)];
  const std::int64_t made = kMadeAt + static_cast<std::int64_t>(random.below(300 * 86'400));
  const std::string made_text = time_text(made);
  const std::string token = "kube-api-access-" + letters(random, 5);
  const std::string pod_uid = uid(random);

  std::vector<std::pair<std::string_view, std::string>> labels = {
      {"app.kubernetes.io/instance", pod_facts.owner},
      {"app.kubernetes.io/name", std::string(pod_facts.app)},
      {"app.kubernetes.io/version", cat("1.", random.below(30), ".", random.below(9))},
      {"koordinator.sh/qosClass", std::string(pod_facts.qos)},
      {"team", std::string(pick(random, kNamespaces))},
  };
  if (batch) labels.insert(labels.begin() + 3, {"koordinator.sh/priority", "5500"});
  if (pod_facts.kind == PodFacts::Kind::kReplicaSet) labels.emplace_back("pod-template-hash", letters(random, 10));

  struct ContainerText {
    std::string_view name;
    std::string image;
    std::int64_t cpu_milli;
    std::int64_t memory_bytes;
  };
  std::vector<ContainerText> containers;
  containers.push_back({pod_facts.app, cat("registry.internal/", pod_facts.app, ":1.", random.below(30)),
                        pod_facts.cpu_milli, pod_facts.memory_bytes});
  if (pod_facts.sidecar) {
    containers.push_back({"mesh-proxy", "registry.internal/mesh-proxy:1.24", 100, 128 * kMebibyte});
  }

  std::string out;
  out.reserve(6'000);
  JsonWriter json(out);
  const auto text = [&](std::string_view key, std::string_view value) { json.member(key, value); };
  json.begin_object();
  text("kind", "Pod");
  text("apiVersion", "v1");
  json.key("metadata").begin_object();
  text("name", pod_facts.name);
  if (pod_facts.kind != PodFacts::Kind::kStatefulSet) text("generateName", pod_facts.owner + "-");
  text("namespace", pod_facts.ns);
  text("uid", pod_uid);
  text("resourceVersion", cat(revision));
  text("creationTimestamp", made_text);
  json.key("labels").begin_object();
  for (const auto& [key, value] : labels) text(key, value);
  json.end_object();
  json.key("annotations").begin_object();
  text("kubectl.kubernetes.io/restartedAt", made_text);
  text("prometheus.io/port", "8080");
  text("prometheus.io/scrape", "true");
  json.end_object();
  json.key("ownerReferences").begin_array().begin_object();
  text("apiVersion", batch ? "batch/v1" : "apps/v1");
  text("kind", owner_kind);
  text("name", pod_facts.owner);
  text("uid", uid(random));
  json.member("controller", true).member("blockOwnerDeletion", true).end_object().end_array();
  json.key("managedFields").begin_array();
  json.begin_object();
  text("manager", "kube-controller-manager");
  text("operation", "Update");
  text("apiVersion", "v1");
  text("time", made_text);
  text("fieldsType", "FieldsV1");
  json.key("fieldsV1").begin_object().key("f:metadata").begin_object();
  json.key("f:generateName").raw("{}").key("f:labels").begin_object().key(".").raw("{}");
  for (const auto& [key, value] : labels) json.key(cat("f:", key)).raw("{}");
  json.end_object().end_object().key("f:spec").begin_object().key("f:containers").begin_object();
  for (const auto& container : containers) {
    json.key(cat("k:{\"name\":\"", container.name, "\"}"));
    json.raw(R"({".":{},"f:image":{},"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{},)"
             R"("f:requests":{}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{}})");
  }
  json.end_object().end_object().end_object().end_object();
  json.begin_object();
  text("manager", "kubelet");
  text("operation", "Update");
  text("apiVersion", "v1");
  text("time", time_text(made + 9));
  text("fieldsType", "FieldsV1");
  json.key("fieldsV1")
      .raw(
          R"({"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},)"
          R"("f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},)"
          R"("f:containerStatuses":{},"f:hostIP":{},"f:phase":{},"f:podIP":{},"f:startTime":{}}})");
  text("subresource", "status");
  json.end_object().end_array().end_object();

  json.key("spec").begin_object();
  json.key("volumes").begin_array().begin_object();
  text("name", token);
  json.key("projected")
      .raw(R"({"sources":[{"serviceAccountToken":{"expirationSeconds":3607,"path":"token"}},{"configMap":{"name":)"
           R"("kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}],"defaultMode":420})");
  json.end_object().end_array();
  json.key("containers").begin_array();
  for (const auto& container : containers) {
    json.begin_object();
    text("name", container.name);
    text("image", container.image);
    json.key("env").begin_array();
    json.raw(R"({"name":"POD_NAME","valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}})");
    json.begin_object();
    text("name", "UPSTREAM");
    text("value", cat(pick(random, kApps), ".internal:", 8000 + random.below(999)));
    json.end_object().end_array();
    json.key("resources").begin_object();
    if (batch) {
      for (const std::string_view list : {"limits", "requests"}) {
        amounts(json, list, "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory", container.cpu_milli,
                container.memory_bytes, "");
      }
    } else {
      amounts(json, "limits", "cpu", "memory", 2 * container.cpu_milli, 2 * container.memory_bytes, "m");
      amounts(json, "requests", "cpu", "memory", container.cpu_milli, container.memory_bytes, "m");
    }
    json.end_object();
    json.key("volumeMounts").begin_array().begin_object();
    text("name", token);
    json.member("readOnly", true);
    text("mountPath", "/var/run/secrets/kubernetes.io/serviceaccount");
    json.end_object().end_array();
    text("terminationMessagePath", "/dev/termination-log");
    text("terminationMessagePolicy", "File");
    text("imagePullPolicy", "IfNotPresent");
    json.end_object();
  }
  json.end_array();
  text("restartPolicy", batch ? "Never" : "Always");
  json.member("terminationGracePeriodSeconds", 30);
  text("dnsPolicy", "ClusterFirst");
  text("serviceAccountName", "default");
  text("nodeName", node_name(node));
  json.key("securityContext").raw("{}");
  text("schedulerName", batch ? "koord-scheduler" : "default-scheduler");
  json.key("tolerations")
      .raw(
          R"([{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},)"
          R"({"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}])");
  text("priorityClassName", batch ? "koord-batch" : "koord-prod");
  json.member("priority", batch ? 5500 : 9000).member("enableServiceLinks", true);
  text("preemptionPolicy", "PreemptLowerPriority");
  json.end_object();

  json.key("status").begin_object();
  text("phase", "Running");
  json.key("conditions").begin_array();
  for (const std::string_view type : {"Initialized", "Ready", "ContainersReady", "PodScheduled"}) {
    json.begin_object();
    text("type", type);
    text("status", "True");
    json.key("lastProbeTime").null();
    text("lastTransitionTime", time_text(made + 6));
    json.end_object();
  }
  json.end_array();
  const std::string host = cat("192.168.", node / 250, ".", 1 + node % 250);
  const std::string address = cat("10.", node / 256, ".", node % 256, ".", 2 + pod);
  text("hostIP", host);
  json.key("hostIPs").begin_array().begin_object().member("ip", std::string_view(host)).end_object().end_array();
  text("podIP", address);
  json.key("podIPs").begin_array().begin_object().member("ip", std::string_view(address)).end_object().end_array();
  text("startTime", time_text(made + 1));
  json.key("containerStatuses").begin_array();
  for (const auto& container : containers) {
    json.begin_object();
    text("name", container.name);
    json.key("state").begin_object().key("running").begin_object();
    text("startedAt", time_text(made + 5));
    json.end_object().end_object().key("lastState").raw("{}").member("ready", true).member("restartCount", 0);
    text("image", container.image);
    text("imageID", cat("registry.internal/", container.name, "@sha256:", hexadecimal(random, 64)));
    text("containerID", cat("containerd://", hexadecimal(random, 64)));
    json.member("started", true).end_object();
  }
  json.end_array();
  text("qosClass", batch ? "BestEffort" : "Burstable");
  json.end_object().end_object();
  return out;
}

std::string Fleet::node_metric(std::size_t node, const Report& report, std::int64_t revision) const {
  Random random = draws(kOfReport, node, 0);
  std::int64_t cpu = kSystemCpuMilli;
  std::int64_t memory = 4096 * kMebibyte;
  std::vector<PodFacts> pods;
  for (std::size_t pod = 0; pod < shape_.pods_a_node; ++pod) {
    pods.push_back(facts(node, pod));
    cpu += pods.back().used_cpu_milli(report.load_permille);
    memory += pods.back().used_memory_bytes(report.load_permille);
  }
  std::string out;
  out.reserve(12'000);
  JsonWriter json(out);
  json.begin_object().member("kind", "NodeMetric").member("apiVersion", "slo.koordinator.sh/v1alpha1");
  json.key("metadata").begin_object();
  json.member("name", std::string_view(node_name(node))).member("uid", std::string_view(uid(random)));
  json.member("resourceVersion", std::string_view(cat(revision))).member("generation", 1);
  json.member("creationTimestamp", std::string_view(time_text(kMadeAt + 40)));
  const std::string updated = base::format_rfc3339(report.updated);
  json.key("managedFields").begin_array();
  json.begin_object().member("manager", "koord-manager").member("operation", "Update");
  json.member("apiVersion", "slo.koordinator.sh/v1alpha1").member("time", std::string_view(time_text(kMadeAt + 40)));
  json.member("fieldsType", "FieldsV1");
  json.key("fieldsV1")
      .raw(
          R"({"f:spec":{".":{},"f:metricCollectPolicy":{".":{},"f:aggregateDurationSeconds":{},"f:nodeAggregatePolicy":{".":{},)"
          R"("f:durations":{}},"f:nodeMemoryCollectPolicy":{},"f:reportIntervalSeconds":{}}}})");
  json.end_object();
  json.begin_object().member("manager", "koordlet").member("operation", "Update");
  json.member("apiVersion", "slo.koordinator.sh/v1alpha1").member("time", std::string_view(updated));
  json.member("fieldsType", "FieldsV1");
  json.key("fieldsV1")
      .raw(
          R"({"f:status":{".":{},"f:nodeMetric":{".":{},"f:aggregatedNodeUsages":{},"f:nodeUsage":{".":{},"f:resources":{".":{},)"
          R"("f:cpu":{},"f:memory":{}}},"f:systemUsage":{".":{},"f:resources":{".":{},"f:cpu":{},"f:memory":{}}}},"f:podsMetric":{},)"
          R"("f:prodReclaimableMetric":{".":{},"f:resource":{".":{},"f:resources":{".":{},"f:cpu":{},"f:memory":{}}}},)"
          R"("f:updateTime":{}}})");
  json.member("subresource", "status").end_object().end_array().end_object();
  json.key("spec").begin_object().key("metricCollectPolicy").begin_object();
  json.member("aggregateDurationSeconds", 300);
  json.key("nodeAggregatePolicy").raw(R"({"durations":["5m0s","10m0s","30m0s"]})");
  json.member("nodeMemoryCollectPolicy", "usageWithoutPageCache").member("reportIntervalSeconds", 60);
  json.end_object().end_object();

  json.key("status").begin_object();
  json.member("updateTime", std::string_view(updated));
  json.key("nodeMetric").begin_object();
  usage(json, "nodeUsage", cpu, memory);
  usage(json, "systemUsage", kSystemCpuMilli, 4096 * kMebibyte);
  json.key("aggregatedNodeUsages").begin_array();
  for (const std::string_view duration : {"5m0s", "10m0s", "30m0s"}) {
    json.begin_object().key("usage").begin_object();
    constexpr std::array<std::pair<std::string_view, std::int64_t>, 5> kKinds = {
        {{"avg", 96}, {"p50", 95}, {"p90", 107}, {"p95", 111}, {"p99", 121}}};
    for (const auto& [kind, percent] : kKinds) usage(json, kind, cpu * percent / 100, memory / 100 * percent);
    json.end_object().member("duration", duration).end_object();
  }
  json.end_array().end_object();
  json.key("podsMetric").begin_array();
  for (const PodFacts& pod : pods) {
    json.begin_object().member("name", std::string_view(pod.name)).member("namespace", pod.ns);
    usage(json, "podUsage", pod.used_cpu_milli(report.load_permille), pod.used_memory_bytes(report.load_permille));
    json.member("priority", pod.batch() ? "koord-batch" : "koord-prod").member("qos", pod.qos).end_object();
  }
  json.end_array();
  json.key("prodReclaimableMetric").begin_object();
  usage(json, "resource", cpu / 4, memory / 4);
  json.end_object().end_object().end_object();
  return out;
}

std::int64_t Fleet::batch_cpu_milli(std::size_t node, const Report& report, std::int64_t reclaim_percent) const {
  std::int64_t used = 0;
  for (std::size_t pod = 0; pod < shape_.pods_a_node; ++pod) {
    const PodFacts pod_facts = facts(node, pod);
    if (!pod_facts.batch()) used += pod_facts.used_cpu_milli(report.load_permille);
  }
  const std::int64_t margin = kNodeCpuMilli * (100 - reclaim_percent) / 100;  // whole: the capacity is in whole cores
  return std::max<std::int64_t>(0, kNodeCpuMilli - margin - std::max(kSystemCpuMilli, kKubeletCpuMilli) - used);
}

}  // namespace tidemark::bench
