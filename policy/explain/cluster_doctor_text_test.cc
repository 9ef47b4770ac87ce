#include "policy/explain/cluster_doctor_text.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tidemark::policy::explain {
namespace {

ClusterFinding some(ClusterFact fact, Severity severity) {
  ClusterFinding out{ClusterTopic::kKernel, fact, severity};
  out.nodes = 5;
  out.groups = {{"", 5, {"a", "b", "c"}}};
  return out;
}

TEST(ClusterDoctorText, NodesAreCountedAndTheFirstAreNamed) {
  const ClusterFinding findings[] = {
      {ClusterTopic::kKernel, ClusterFact::kAre, Severity::kOk, 6, {{"6.1", 5, {"a", "b", "c"}}, {"", 1, {"d"}}}, 2},
      some(ClusterFact::kKernelWithoutPressure, Severity::kWarn)};
  EXPECT_EQ(render_text(findings),
            "ok    kernel  6.1: 5 nodes: a, b, c and 2 more\n"
            "              unknown: 1 node: d\n"
            "              and 2 more values, each on fewer nodes\n"
            "warn  kernel  older than 4.20: no pressure files: 5 nodes: a, b, c and 2 more\n"
            "              fix: a kernel of 4.20 or newer, booted with psi=1; 4.18 of RHEL 8 and its like has it, and "
            "psi=1 is enough\n");
}

TEST(ClusterDoctorText, RendersJson) {
  ClusterFinding holds = some(ClusterFact::kAgentHolds, Severity::kWarn);
  holds.reason = model::Reason::kAgentHolds;
  const Json json = render_json({&holds, 1});
  EXPECT_EQ(json.text_at("severity"), "warn");
  const Json& shown = json.at("findings")->as_array().at(0);
  EXPECT_EQ(shown.text_at("what"), "kernel");
  EXPECT_EQ(shown.text_at("fact"), "agentHolds");
  EXPECT_EQ(shown.text_at("reason"), "TM-AGENT-005");
  EXPECT_EQ(*shown.at("nodes"), Json(5));
  EXPECT_EQ(shown.at("groups")->as_array().at(0).at("names")->as_array().size(), 3u);
}

TEST(ClusterDoctorText, UsesTheTextOfNodeFindings) {
  ClusterFinding line = some(ClusterFact::kAsOnNode, Severity::kBad);
  line.of_node = NodeFinding{NodeTopic::kMemoryLine, NodeFact::kLineOver, Severity::kBad};
  line.of_node->line = LinePair{70, 60, 100};
  EXPECT_EQ(fact_key(line), "lineOver");
  const std::string text = render_text({&line, 1});
  EXPECT_NE(text.find("offline work is evicted from 70"), std::string::npos) << text;
  EXPECT_NE(text.find("memoryEvictThresholdPercent"), std::string::npos) << text;
}

TEST(ClusterDoctorText, SuggestsDoctorNodeForMissingFacts) {
  ClusterFinding line = some(ClusterFact::kAsOnNode, Severity::kWarn);
  line.of_node = NodeFinding{NodeTopic::kRuntimeDiskLine, NodeFact::kLineUnknown, Severity::kWarn};
  EXPECT_NE(render_text({&line, 1}).find("fix: run tidemark doctor node on one of them"), std::string::npos);
}

// Those that are never told as a warning, or in a node's words.
const std::set<ClusterFact> kNeverWrong = {
    ClusterFact::kAre,          ClusterFact::kNotLinux,         ClusterFact::kAllReady,
    ClusterFact::kNoTaints,     ClusterFact::kTaints,           ClusterFact::kAgentsSay,
    ClusterFact::kReportsCome,  ClusterFact::kNothingOffered,   ClusterFact::kOffersGuarded,
    ClusterFact::kNoPeer,       ClusterFact::kSettingsRead,     ClusterFact::kNothingOrdered,
    ClusterFact::kKubeletsTell, ClusterFact::kKubeletsNotAsked, ClusterFact::kAsOnNode};

TEST(ClusterDoctorText, EveryFactHasAUniqueNameAndBadOnesAFix) {
  std::set<std::string, std::less<>> keys;
  for (int at = 0; at <= static_cast<int>(ClusterFact::kSwapTaken); ++at) {
    const auto fact = static_cast<ClusterFact>(at);
    ClusterFinding one = some(fact, Severity::kWarn);
    one.said = "it";
    EXPECT_TRUE(keys.emplace(fact_key(one)).second) << fact_key(one);
    EXPECT_NE(fact_key(one), "unknown");
    const Json json = render_json({&one, 1});
    const Json& shown = json.at("findings")->as_array().at(0);
    EXPECT_FALSE(shown.text_at("found").empty()) << fact_key(one);
    EXPECT_NE(shown.text_at("fix").empty(), !kNeverWrong.contains(fact)) << fact_key(one);
  }
  for (int topic = 0; topic < static_cast<int>(kClusterTopics); ++topic) {
    const ClusterFinding one{static_cast<ClusterTopic>(topic), ClusterFact::kAre, Severity::kOk};
    const Json json = render_json({&one, 1});
    EXPECT_NE(json.at("findings")->as_array().at(0).text_at("what"), "unknown") << topic;
  }
}

}  // namespace
}  // namespace tidemark::policy::explain
