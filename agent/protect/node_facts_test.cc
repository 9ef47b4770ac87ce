#include "agent/protect/node_facts.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "kube/intern.h"
#include "policy/state/state.h"

namespace tidemark::agent {
namespace {

using Cpus = std::vector<std::int32_t>;

NodeFacts facts_of(std::string_view annotations, std::string_view labels = "") {
  kube::Interner interner;
  const auto node = kube::decode_node(
      base::cat(
          R"({"metadata":{"name":"n1","labels":{)", labels, R"(},"annotations":{)", annotations,
          R"(}},"status":{"capacity":{"cpu":"8","memory":"16Gi"},"allocatable":{"cpu":"7500m","memory":"15Gi"}}})"),
      node_facts_fields(), interner);
  EXPECT_TRUE(node);
  return node_facts(*node);
}

TEST(NodeFacts, KubeletReservedIsCapacityMinusAllocatable) {
  const NodeFacts facts = facts_of("");
  EXPECT_EQ(facts.kubelet_reserved, (model::Resources{{500}, {std::int64_t{1} << 30}}));
  EXPECT_FALSE(facts.reserved);
  EXPECT_EQ(facts.normalization_percent, 100);
  EXPECT_TRUE(facts.unreadable.empty());
}

TEST(NodeFacts, ReadsOversoldMark) {
  EXPECT_FALSE(facts_of("").oversold);
  const NodeFacts facts = facts_of(
      R"("tidemark.io/oversold":"{\"schema\":1,\"since\":\"2026-03-01T02:00:00Z\"}",)"
      R"("node.koordinator.sh/originExtendedAllocatable":"{\"resources\":{\"kubernetes.io/batch-cpu\":\"4k\"}}")");
  EXPECT_TRUE(facts.oversold);
  EXPECT_EQ(facts.oversold_since, base::parse_rfc3339("2026-03-01T02:00:00Z"));
  ASSERT_TRUE(facts.origin);
  EXPECT_EQ(facts.origin->cpu, model::CpuMilli{4000});
  const NodeFacts spoilt = facts_of(R"("tidemark.io/oversold":"no")");
  EXPECT_TRUE(spoilt.oversold) << "it stands by being there";
  EXPECT_FALSE(spoilt.oversold_since);
}

// Contract 1.5.
TEST(NodeFacts, AnnotationsOfTheNode) {
  const NodeFacts facts =
      facts_of(R"("node.koordinator.sh/reservation":"{\"resources\":{\"cpu\":\"1\"},\"reservedCPUs\":\"0-1,4\"}",)"
               R"("node.koordinator.sh/system-qos-resource":"{\"cpuset\":\"6\"}",)"
               R"("node.koordinator.sh/cpu-normalization-ratio":"1.25")");
  EXPECT_EQ(facts.reserved->cpu, (model::CpuMilli{3000}));
  EXPECT_EQ(facts.reserved_cpus, (Cpus{0, 1, 4}));
  EXPECT_EQ(facts.system_cpus, (Cpus{6}));
  EXPECT_EQ(facts.normalization_percent, 125);
  EXPECT_TRUE(facts.unreadable.empty());
  EXPECT_EQ(facts_of(R"("node.koordinator.sh/system-qos-resource":"{\"cpuset\":\"6\",\"cpusetExclusive\":false}")")
                .system_cpus,
            Cpus());
  EXPECT_EQ(facts_of(R"("node.koordinator.sh/cpu-normalization-ratio":"1.5")").normalization_percent, 150);
}

TEST(NodeFacts, NamesAndIgnoresUnreadableAnnotations) {
  for (const char* key : {"reservation", "system-qos-resource", "cpu-normalization-ratio"}) {
    for (const char* text :
         {"", "no", "[]", R"({\"cpuset\":\"x\",\"reservedCPUs\":\"3-1\"})", "0.99", "5.01", "1.234", "-1"}) {
      const NodeFacts facts = facts_of(base::cat("\"node.koordinator.sh/", key, "\":\"", text, "\""));
      if (std::string_view(key) == "system-qos-resource" && facts.unreadable.empty()) continue;  // a number is no set
      ASSERT_EQ(facts.unreadable.size(), 1U) << key << " " << text;
      EXPECT_NE(facts.unreadable[0].message.find(key), std::string::npos) << facts.unreadable[0].message;
      EXPECT_FALSE(facts.reserved);
      EXPECT_EQ(facts.normalization_percent, 100);
    }
  }
}

TEST(NodeFacts, ReadsStateMark) {
  const NodeFacts facts = facts_of("", R"("tidemark.io/state":"off")");
  const auto state = policy::state::effective(facts.state.marks, model::Mode::kEnforce, base::WallTime{});
  EXPECT_EQ(state.k8s, model::NodeState::kOff);
}

}  // namespace
}  // namespace tidemark::agent
