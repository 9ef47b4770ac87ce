#include "agent/protect/kept_objects.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "linux/testing/tree.h"

namespace tidemark::agent {
namespace {

TEST(KeptObjects, NextAgentReadsLastObjects) {
  const linux::testing::Tree tree;
  KeptObjects kept(tree.root() + "/run");
  EXPECT_EQ(kept.read(KeptObject::kNode).value(), std::nullopt);
  ASSERT_TRUE(kept.keep(KeptObject::kNode, R"({"metadata":{}})"));
  ASSERT_TRUE(kept.keep(KeptObject::kNode, R"({"metadata":{"name":"n1"}})"));
  EXPECT_EQ(KeptObjects(tree.root() + "/run").read(KeptObject::kNode).value(), R"({"metadata":{"name":"n1"}})");
  EXPECT_EQ(kept.read(KeptObject::kNodeSlo).value(), std::nullopt) << "another object";
  const std::string pods(std::size_t{3} << 20, ' ');  // of all pods of a node
  ASSERT_TRUE(kept.keep(KeptObject::kPods, pods));
  EXPECT_EQ(kept.read(KeptObject::kPods).value(), pods);
  ASSERT_TRUE(kept.drop(KeptObject::kNode) && kept.drop(KeptObject::kNode));
  EXPECT_EQ(kept.read(KeptObject::kNode).value(), std::nullopt);
}

TEST(KeptObjects, DoesNotWriteTheSameTwice) {
  const linux::testing::Tree tree;
  KeptObjects kept(tree.root());
  ASSERT_TRUE(kept.keep(KeptObject::kNodeSlo, "{}"));
  std::filesystem::remove(tree.root() + "/nodeslo.json");
  ASSERT_TRUE(kept.keep(KeptObject::kNodeSlo, "{}"));
  EXPECT_EQ(kept.read(KeptObject::kNodeSlo).value(), std::nullopt);
}

}  // namespace
}  // namespace tidemark::agent
