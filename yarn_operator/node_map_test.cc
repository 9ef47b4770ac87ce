#include "yarn_operator/node_map.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "yarn_operator/clusters.h"

namespace tidemark::yarn_operator {
namespace {

const std::string kDefault(kDefaultCluster);

NodePlace node(const std::string& name, NmClaim claim = {}) {
  return {name, name + ".example", "10.0.0." + name.substr(name.size() - 1), std::move(claim)};
}

std::string nm_of(const NodeMap& map, const std::string& node) {
  const auto found = map.nm_of.find(node);
  return found == map.nm_of.end() ? "-" : found->second.text();
}
std::string wrong(const NodeMap& map, const std::string& node) {
  const auto found = map.wrong.find(node);
  return found == map.wrong.end() ? "" : found->second;
}

TEST(NodeMapTest, PrefersNodeAnnotationThenPodAnnotationThenAddress) {
  MapInput input;
  input.nodes = {node("n1", {"a:1", ""}), node("n2"), node("n3"), node("n4")};
  input.pods = {
      {"yarn/nm-1", "n1", {"x:1", ""}}, {"yarn/nm-2", "n2", {"b:1", "blue"}}, {"yarn/nm-2b", "n2", {"y:1", ""}}};
  input.known = {{kDefault, {{"a", 1}, {"n3.example", 45454}}}, {"blue", {{"b", 1}}}};
  const NodeMap map = map_nodes(input);
  EXPECT_EQ(nm_of(map, "n1"), "a:1");
  EXPECT_EQ(nm_of(map, "n2"), "b:1 of cluster blue");
  EXPECT_EQ(nm_of(map, "n3"), "n3.example:45454");
  EXPECT_EQ(nm_of(map, "n4"), "-");
  EXPECT_TRUE(map.wrong.empty());
}

TEST(NodeMapTest, UsesInternalAddressAndPodWithoutAnnotations) {
  MapInput input;
  input.nodes = {node("n1")};
  input.pods = {{"yarn/nm-1", "n1", {}}};
  input.known = {{kDefault, {{"10.0.0.1", 45454}}}};
  EXPECT_EQ(nm_of(map_nodes(input), "n1"), "10.0.0.1:45454");
}

TEST(NodeMapTest, MapsANodeManagerThatHasNotRegisteredYet) {
  MapInput input;
  input.nodes = {node("n1", {"a:1", ""})};
  input.known = {{kDefault, {}}};
  EXPECT_EQ(nm_of(map_nodes(input), "n1"), "a:1");
}

TEST(NodeMapTest, ReportsTwoNodesWithTheSameNodeManager) {
  MapInput input;
  input.nodes = {node("n1", {"a:1", ""}), node("n2", {"a:1", ""}), node("n3", {"b:1", ""})};
  input.known = {{kDefault, {{"a", 1}, {"b", 1}}}};
  const NodeMap map = map_nodes(input);
  EXPECT_EQ(nm_of(map, "n1"), "-");
  EXPECT_EQ(nm_of(map, "n2"), "-");
  EXPECT_EQ(nm_of(map, "n3"), "b:1");
  EXPECT_EQ(wrong(map, "n1"), "a:1 is claimed by node n2 too");
  EXPECT_EQ(wrong(map, "n2"), "a:1 is claimed by node n1 too");
}

TEST(NodeMapTest, ReportsMismatchesWithBothNames) {
  MapInput input;
  input.nodes = {node("n1", {"old:1", ""}), node("n2", {"nonsense", ""}), node("n3", {"c:1", "blue"}), node("n4")};
  input.pods = {{"yarn/nm-4", "n4", {"else:1", ""}}};
  input.known = {{kDefault, {{"n1", 45454}, {"n4", 45454}}}};
  const NodeMap map = map_nodes(input);
  EXPECT_TRUE(map.nm_of.empty());
  EXPECT_EQ(wrong(map, "n1"), "its annotation says old:1, but its ResourceManager reports n1:45454 there");
  EXPECT_EQ(wrong(map, "n2"), "its annotation: a NodeManager is named HOST:PORT, found \"nonsense\"");
  EXPECT_EQ(wrong(map, "n3"), "its annotation says c:1 of cluster blue, but this cluster does not exist");
  EXPECT_EQ(wrong(map, "n4"), "pod yarn/nm-4 says else:1, but its ResourceManager reports n4:45454 there");
}

TEST(NodeMapTest, MapsNeitherOfTwoNodeManagersAtOneAddress) {
  MapInput input;
  input.nodes = {node("n1")};
  input.known = {{kDefault, {{"n1", 1}, {"n1", 2}}}};
  const NodeMap map = map_nodes(input);
  EXPECT_EQ(nm_of(map, "n1"), "-");
  EXPECT_EQ(wrong(map, "n1"),
            "both n1:1 and n1:2 are at its address: name one in the annotation yarn.hadoop.apache.org/node-id");
  // With an annotation it is one of them.
  input.nodes = {node("n1", {"n1:2", ""})};
  EXPECT_EQ(nm_of(map_nodes(input), "n1"), "n1:2");
}

TEST(NodeMapTest, ReportsAnActiveNodeManagerThatNothingNames) {
  MapInput input;
  input.nodes = {node("n1"), node("n2", {"typo:1", ""}), node("n3", {"c:1", ""})};
  input.nodes[0].last = NmName{kDefault, {"a", 1}};
  input.nodes[1].last = NmName{kDefault, {"b", 1}};
  input.nodes[2].last = NmName{kDefault, {"b", 2}};
  input.known = {{kDefault, {{"a", 1}, {"b", 1}, {"c", 1}}}};
  NodeMap map = map_nodes(input);
  EXPECT_EQ(wrong(map, "n1"), "its NodeManager was a:1, which is still active, but now none is named");
  EXPECT_EQ(wrong(map, "n2"),
            "its NodeManager was b:1, which is still active, but now typo:1 is named, which is not active");
  EXPECT_EQ(nm_of(map, "n2"), "-");
  EXPECT_EQ(nm_of(map, "n3"), "c:1") << "another active NodeManager replaces it";
  EXPECT_EQ(map.last.at("n1").text(), "a:1");
  EXPECT_EQ(map.last.at("n2").text(), "b:1");
  EXPECT_EQ(map.last.at("n3").text(), "c:1");
  EXPECT_EQ(map.without_node, (std::vector<NmName>{{kDefault, {"a", 1}}, {kDefault, {"b", 1}}}));
  // The NodeManager is gone, or the cluster no longer exists: the first is no risk, the second cannot be checked.
  input.known = {{kDefault, {{"c", 1}}}};
  map = map_nodes(input);
  EXPECT_EQ(wrong(map, "n1"), "");
  EXPECT_EQ(nm_of(map, "n2"), "typo:1");
  input.nodes[0].last = NmName{"blue", {"a", 1}};
  EXPECT_EQ(wrong(map_nodes(input), "n1"),
            "its NodeManager was a:1 of cluster blue, but this cluster no longer exists");
}

TEST(NodeMapTest, GivesANodeManagerToTheNodeThatNamesItNow) {
  MapInput input;
  input.nodes = {node("n1"), node("n2", {"a:1", ""})};
  input.nodes[0].last = NmName{kDefault, {"a", 1}};
  input.known = {{kDefault, {{"a", 1}}}};
  const NodeMap map = map_nodes(input);
  EXPECT_EQ(nm_of(map, "n2"), "a:1");
  EXPECT_TRUE(map.wrong.empty());
  EXPECT_TRUE(map.without_node.empty());
}

TEST(NodeMapTest, ReadsANameAsWritten) {
  const NmName name{"blue", {"nm-1.example", 45454}};
  EXPECT_EQ(name.written(), "blue/nm-1.example:45454");
  EXPECT_EQ(parse_nm_name(name.written()), name);
  for (const char* garbage : {"", "/", "nm-1:45454", "blue/nm-1", "blue/nm-1:0"}) {
    EXPECT_EQ(parse_nm_name(garbage), std::nullopt) << garbage;
  }
}

}  // namespace
}  // namespace tidemark::yarn_operator
