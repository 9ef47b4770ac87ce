// The command against the API server in memory. Behind it stand kubelets, and NodeMetrics, that say what a test writes
// down; that a real server and a real kubelet agree is in tests/cluster and tests/node.
#include "cli/doctor_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "cli/peer_pods.h"
#include "operate/testing/api_in_memory.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;
using policy::explain::ClusterFact;

constexpr std::string_view kMetrics = "/apis/slo.koordinator.sh/v1alpha1/nodemetrics";
constexpr std::string_view kPods = "/api/v1/pods";

class DoctorCluster : public operate::testing::ApiInMemory {
 protected:
  DoctorCluster() : ApiInMemory("koordinator-system", true) {
    between.answers = [this](const net::HttpRequest& request) -> std::optional<net::HttpResponse> {
      const std::string path = request.target.substr(0, request.target.find('?'));
      const auto found = answers.find(path);
      if (found == answers.end()) return std::nullopt;
      asked.push_back(path);
      net::HttpResponse response;
      response.status = found->second.first;
      response.body = found->second.second;
      return response;
    };
  }
  // With 100 GiB, and a disk of 1000. `agent`: the reason of its condition; "" for none.
  void node(const std::string& name, std::string_view agent = "Enforcing", std::string_view more = "",
            std::string_view meta = R"("labels":{"stage":"night"})") {
    call("POST", "/api/v1/nodes",
         base::cat(R"({"metadata":{"name":")", name, R"(",)", meta,
                   R"(},"spec":{"taints":[{"key":"gpu","effect":"NoSchedule"}]}})"));
    const std::string said = agent.empty() ? ""
                                           : base::cat(R"(,{"type":"TidemarkIsolation","status":"True","reason":")",
                                                       agent, R"(","message":"m"})");
    call("PATCH", base::cat("/api/v1/nodes/", name, "/status"),
         base::cat(R"({"status":{"capacity":{"memory":"100Gi","ephemeral-storage":"1000Gi"},)",
                   R"("conditions":[{"type":"Ready","status":"True"})", said,
                   R"(],"nodeInfo":{"kernelVersion":"6.1.0-18","osImage":"Debian 12","architecture":"amd64",)",
                   R"("containerRuntimeVersion":"containerd://1.7.2","kubeletVersion":"v1.31.4","machineID":"",)",
                   R"("systemUUID":"","bootID":"","kubeProxyVersion":"","operatingSystem":"linux"})", more, "}}"));
  }
  void map(std::string_view name, std::string_view key, std::string_view text) {
    const Json data = Json::object({{std::string(key), Json(text)}});
    call("POST", "/api/v1/namespaces/koordinator-system/configmaps",
         base::cat(R"({"metadata":{"name":")", name, R"("},"data":)", data.dump(), "}"));
  }
  void pod(std::string_view name, std::string_view on, std::string_view container, std::string_view image) {
    call("POST", "/api/v1/namespaces/koordinator-system/pods",
         base::cat(R"({"metadata":{"name":")", name, R"("},"spec":{"nodeName":")", on, R"(","containers":[{"name":")",
                   container, R"(","image":")", image, R"("}]}})"));
    call("PATCH", base::cat("/api/v1/namespaces/koordinator-system/pods/", name, "/status"),
         base::cat(R"({"status":{"phase":"Running","containerStatuses":[{"name":")", container,
                   R"(","image":"i","imageID":"","ready":true,"restartCount":0,"state":{"running":{}}}]}})"));
  }
  void reports(std::map<std::string, base::Duration> ago) {
    std::string items;
    for (const auto& [name, before] : ago) {
      items += base::cat(items.empty() ? "" : ",", R"({"metadata":{"name":")", name, R"("},"status":{"updateTime":")",
                         base::format_rfc3339(clock.wall() + -before), R"("}})");
    }
    answers[std::string(kMetrics)] = {
        200, base::cat(R"({"kind":"NodeMetricList","metadata":{"resourceVersion":"1"},"items":[)", items, "]}")};
  }
  static std::string configz_of(std::string_view name) { return base::cat("/api/v1/nodes/", name, "/proxy/configz"); }
  void kubelet(std::string_view name, std::string_view config) {
    answers[configz_of(name)] = {200, base::cat(R"({"kubeletconfig":)", config, "}")};
  }

  ClusterDoctorReport examine() {
    auto report = net::testing::run_task(loop, clock, examine_cluster(loop, client, options));
    EXPECT_TRUE(report) << report.error().message;
    return report ? std::move(*report) : ClusterDoctorReport();
  }
  static bool has(const ClusterDoctorReport& report, ClusterFact fact) {
    return std::ranges::find(report.findings, fact, &policy::explain::ClusterFinding::fact) != report.findings.end();
  }
  static policy::explain::ClusterFinding the(const ClusterDoctorReport& report, ClusterFact fact) {
    const auto found = std::ranges::find(report.findings, fact, &policy::explain::ClusterFinding::fact);
    EXPECT_NE(found, report.findings.end()) << render_text(report);
    return found == report.findings.end() ? policy::explain::ClusterFinding() : *found;
  }
  static std::vector<std::string> names(const policy::explain::ClusterFinding& finding) {
    return finding.groups.empty() ? std::vector<std::string>() : finding.groups.front().names;
  }
  using Names = std::vector<std::string>;

  std::map<std::string, std::pair<int, std::string>, std::less<>>
      answers;                     // of other servers behind the API server, by path
  std::vector<std::string> asked;  // of those, in order
  ClusterDoctorOptions options;
};

TEST_F(DoctorCluster, GroupsNodeFindings) {
  node("n1");
  node("n2", "Observing");
  node("n3", "", R"(,"allocatable":{"kubernetes.io/batch-cpu":"4000"})");
  reports({{"n1", 1min}, {"n2", 16min}});
  options.kubelets = 0;
  const auto report = examine();
  EXPECT_TRUE(report.bad());
  EXPECT_EQ(the(report, ClusterFact::kAre).groups.at(0),
            (policy::explain::NodeGroup{"6.1.0-18", 3, {"n1", "n2", "n3"}}));
  EXPECT_EQ(the(report, ClusterFact::kTaints).groups.at(0).value, "gpu:NoSchedule");
  EXPECT_EQ(names(the(report, ClusterFact::kNoAgent)), Names{"n3"});
  EXPECT_EQ(names(the(report, ClusterFact::kReportOld)), Names{"n2"}) << "degradeTimeMinutes is 15";
  EXPECT_EQ(names(the(report, ClusterFact::kOffersUnguarded)), Names{"n3"});
  EXPECT_TRUE(has(report, ClusterFact::kNoPeer));
  EXPECT_TRUE(has(report, ClusterFact::kKubeletsNotAsked));
}

TEST_F(DoctorCluster, AcceptsClusterWithoutTidemark) {
  node("n1", "");
  const auto report = examine();
  EXPECT_TRUE(has(report, ClusterFact::kNoAgents));
  EXPECT_TRUE(has(report, ClusterFact::kNothingOffered));
  EXPECT_FALSE(report.bad()) << render_text(report);
}

TEST_F(DoctorCluster, FindsKoordinatorPodsByContainer) {
  node("n1");
  node("n2");
  pod("koordlet-x", "n2", "koordlet", "ghcr.io:443/koordinator-sh/koordlet:v1.6");
  pod("manager", "n1", "manager", "ghcr.io:443/koordinator-sh/koord-manager:v1.6");
  pod("koord-manager-ours", "n1", "manager", "registry/tidemark:0.1");
  const auto report = examine();
  EXPECT_EQ(names(the(report, ClusterFact::kPeerAgents)), Names{"n2"});
  EXPECT_EQ(the(report, ClusterFact::kPeerManagers).said, "koordinator-system/manager");
}

TEST_F(DoctorCluster, ReportsForbiddenPodList) {
  node("n1");
  node("n2", "", R"(,"allocatable":{"kubernetes.io/batch-cpu":"4000"})");
  answers[std::string(kPods)] = {403, R"({"kind":"Status","code":403,"message":"pods is forbidden"})"};
  const auto report = examine();
  EXPECT_NE(the(report, ClusterFact::kPeerUnknown).said.find("pods is forbidden"), std::string::npos);
  EXPECT_EQ(names(the(report, ClusterFact::kOffersGuardUnknown)), Names{"n2"});
  EXPECT_FALSE(report.bad()) << render_text(report);
}

TEST_F(DoctorCluster, ChecksPoolsAndOrders) {
  map("tidemark-config", "config.yaml",
      "schema: 1\nmode: enforce\npools:\n- name: night\n  nodeSelector: {matchLabels: {stage: night}}\n"
      "- name: gpu\n  nodeSelector: {matchLabels: {gpu: yes}}\n"
      "- name: again\n  nodeSelector: {matchExpressions: [{key: stage, operator: Exists}]}\n");
  node("n1");
  node("n2", "Enforcing", "", R"("labels":{"tidemark.io/state":"off"})");
  const auto report = examine();
  EXPECT_EQ(the(report, ClusterFact::kPoolEmpty).said, "gpu");
  EXPECT_EQ(the(report, ClusterFact::kPoolsOverlap).also, "again");
  EXPECT_EQ(names(the(report, ClusterFact::kInNoPool)), Names{"n2"});
  EXPECT_EQ(names(the(report, ClusterFact::kOrdered)), Names{"n2"});
  EXPECT_NE(render_text(report).find("matched by pool again as well: 1 node: n1"), std::string::npos);
}

// Nothing is made up of what rests on them: that a report is there is seen, that it is late is not.
TEST_F(DoctorCluster, ReportsInvalidSettings) {
  node("n1");
  node("n2", "Enforcing", R"(,"allocatable":{"kubernetes.io/batch-cpu":"4000"})");
  map("tidemark-config", "config.yaml", "schema: 99\n");
  reports({{"n1", 1min}, {"n2", 16min}});
  const auto report = examine();
  EXPECT_TRUE(report.bad());
  EXPECT_TRUE(has(report, ClusterFact::kSettingsUnusable));
  EXPECT_FALSE(has(report, ClusterFact::kReportMissing)) << render_text(report);
  EXPECT_FALSE(has(report, ClusterFact::kOffersUnseen)) << render_text(report);
  EXPECT_TRUE(has(report, ClusterFact::kReportsAgeUnknown));
  EXPECT_EQ(names(the(report, ClusterFact::kOffersAgeUnknown)), Names{"n2"});
}

TEST_F(DoctorCluster, NamesSettingsWithoutEffectAndTheirNodes) {
  node("n1");
  node("n2");
  node("n3", "", "", R"("labels":{"stage":"day"})");
  node("n4");
  pod("koordlet-x", "n4", "koordlet", "ghcr.io/koordinator-sh/koordlet:v1.6");
  map("slo-controller-config", "cpu-burst-config",
      R"({"nodeStrategies":[{"nodeSelector":{"matchLabels":{"stage":"night"}},"policy":"auto"}]})");
  const std::string text = render_text(examine());
  EXPECT_NE(text.find("set, without effect with Tidemark's agent: cpuBurstStrategy: 2 nodes"), std::string::npos)
      << text;
  EXPECT_NE(text.find("koordlet has these features on by default, Tidemark's agent does not have them: CPUBurst, "
                      "RdtResctrl, NodeTopologyReport, CPUSetAllocator: 1 node\n"),
            std::string::npos)
      << text;
}

TEST_F(DoctorCluster, ReportsMissingReportWithoutSettings) {
  node("n1");
  node("n2");
  map("tidemark-config", "config.yaml", "schema: 99\n");
  reports({{"n1", 1min}});
  const auto report = examine();
  EXPECT_EQ(names(the(report, ClusterFact::kReportMissing)), Names{"n2"});
}

TEST_F(DoctorCluster, ReadsKubeletsThroughApiServer) {
  map("slo-controller-config", "resource-threshold-config",
      R"({"clusterStrategy":{"enable":true,"memoryEvictThresholdPercent":92}})");
  for (const char* name : {"n1", "n2", "n3"}) node(name);
  kubelet("n1", R"({"cgroupDriver":"systemd","cpuManagerPolicy":"static","evictionHard":{"memory.available":"10%"}})");
  kubelet("n2", R"({"cgroupDriver":"cgroupfs","evictionHard":{"memory.available":"1%"},"failSwapOn":false})");
  answers[configz_of("n3")] = {503, R"({"kind":"Status","code":503,"message":"no route to n3"})"};
  const auto report = examine();
  EXPECT_EQ(the(report, ClusterFact::kKubeletsTell).nodes, 2);
  EXPECT_NE(the(report, ClusterFact::kKubeletsSilent).said.find("no route to n3"), std::string::npos);
  const std::string text = render_text(report);
  EXPECT_NE(text.find("bad   memory line"), std::string::npos) << text;
  EXPECT_NE(text.find("warn  CPU manager"), std::string::npos) << text;
  EXPECT_NE(text.find("systemd: 1 node: n1"), std::string::npos) << text;
  EXPECT_EQ(names(the(report, ClusterFact::kSwapTaken)), Names{"n2"});
  EXPECT_TRUE(report.bad());
}

// The size of its nodefs is the node's ephemeral-storage; of image disks and inodes the API server knows none.
TEST_F(DoctorCluster, DiskThresholdsComeFromSettings) {
  map("slo-controller-config", "resource-threshold-config", R"({"clusterStrategy":{"enable":true}})");
  map("tidemark-config", "config.yaml",
      "schema: 1\nmode: enforce\nevictions: {node: {diskFreePercent: 12, inodesFreePercent: 10}}\n");
  node("n1");
  kubelet("n1", R"({"evictionHard":{"nodefs.available":"5%","nodefs.inodesFree":"5%","imagefs.available":"15%"}})");
  const std::string text = render_text(examine());
  for (const std::string_view line :
       {"ok    disk line        offline work is evicted from 944892805120 (880.0 GiB) in use on, the kubelet evicts "
        "from "
        "1020054732800 (950.0 GiB) in use on",
        "ok    inodes line      offline work is evicted from 90 % in use on, the kubelet evicts from 95 %",
        "bad   imagefs line     offline work is evicted from 88 % in use on, the kubelet evicts from 85 %",
        "ok    image inodes     the kubelet does not evict for it"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
}

TEST_F(DoctorCluster, StopsAfterForbiddenAndReportsItOnce) {
  for (int i = 0; i < 100; ++i) {
    node(base::cat("n", i));
    answers[configz_of(base::cat("n", i))] = {
        403, R"({"kind":"Status","code":403,"message":"cannot get resource nodes/proxy"})"};
  }
  options.kubelets.reset();
  const auto report = examine();
  EXPECT_NE(the(report, ClusterFact::kKubeletsRefuse).said.find("nodes/proxy"), std::string::npos);
  EXPECT_LE(asked.size(), 8u) << "those that were under way";
  EXPECT_FALSE(report.bad());
}

TEST_F(DoctorCluster, ReadsOnlySomeOfManySimilarKubelets) {
  for (int i = 0; i < 50; ++i) {
    node(base::cat("n", i));
    kubelet(base::cat("n", i), "{}");
  }
  options.kubelets = 7;
  EXPECT_EQ(the(examine(), ClusterFact::kKubeletsTell).nodes, 7);
  options.kubelets.reset();
  EXPECT_EQ(the(examine(), ClusterFact::kKubeletsTell).nodes, 50);
}

TEST_F(DoctorCluster, FailsIfNodesCannotBeListed) {
  answers["/api/v1/nodes"] = {403, R"({"kind":"Status","code":403,"message":"nodes is forbidden"})"};
  const auto report = net::testing::run_task(loop, clock, examine_cluster(loop, client, options));
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("nodes is forbidden"), std::string::npos);
}

TEST_F(DoctorCluster, ForPrograms) {
  const Json json = render_json(examine());
  EXPECT_EQ(json.text_at("severity"), "warn");
  EXPECT_EQ(json.at("findings")->as_array().at(0).text_at("fact"), "noNodes");
  EXPECT_TRUE(json.at("notes")->as_array().empty());
}

TEST(PeerPods, CountsOnlyTheProgramItself) {
  PeerPods peers;
  for (const char* image : {"koord-manager", "a/koord-manager@sha256:0", "h:5000/koord-manager:v1", "koord-manager-x",
                            "koord-manager/other:v1", "x-koord-manager"}) {
    ASSERT_TRUE(
        peers.take(base::cat(R"({"metadata":{"namespace":"ns","name":")", peers.managers.size(),
                             R"("},"spec":{"containers":[{"name":"m","image":")", image, R"("}]},"status":{}})")));
  }
  EXPECT_EQ(peers.managers.size(), 3u);
  const auto agent = [&](std::string_view ns, std::string_view node, std::string_view labels, std::string_view state) {
    return peers.take(base::cat(R"({"metadata":{"uid":"u","name":"a","namespace":")", ns, R"(","labels":{)", labels,
                                R"(}},"spec":{"nodeName":")", node,
                                R"(","containers":[{"name":"koordlet"},{"name":"x"}]},"status":{)",
                                R"("containerStatuses":[{"name":"koordlet","state":{")", state,
                                R"(":{}}},{"name":"x","state":{"running":{}}}]}})"));
  };
  // A container that waits, or another one beside it, is no agent that writes; nor is one that a user called so.
  ASSERT_TRUE(agent("koordinator-system", "n1", "", "waiting"));
  ASSERT_TRUE(agent("batch", "n2", "", "running"));
  ASSERT_TRUE(agent("koordinator-system", "n3", R"("koordinator.sh/qosClass":"BE")", "running"));
  EXPECT_TRUE(peers.agents_on.empty());
  ASSERT_TRUE(agent("koordinator-system", "n4", "", "running"));
  EXPECT_EQ(peers.agents_on, (std::set<std::string, std::less<>>{"n4"}));
  ASSERT_FALSE(peers.take(R"({"name":"koordlet")"));
}

}  // namespace
}  // namespace tidemark::cli
