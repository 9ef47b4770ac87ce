#include "agent/report/node_size.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "base/text.h"
#include "kube/intern.h"
#include "model/names.h"

namespace tidemark::agent {
namespace {

NodeSize size_of(std::string_view annotations) {
  kube::Interner interner;
  kube::NodeFields fields;
  fields.meta.annotations = {model::kRawAllocatableAnnotation};
  const auto node = kube::decode_node(
      base::cat(R"({"metadata":{"name":"n1","annotations":{)", annotations,
                R"(}},"status":{"capacity":{"cpu":"8","memory":"16Gi"},"allocatable":{"cpu":"12","memory":"15Gi"}}})"),
      fields, interner);
  EXPECT_TRUE(node);
  return node_size(*node);
}

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

TEST(NodeSize, IsTheStatus) {
  const NodeSize size = size_of("");
  EXPECT_EQ(size.capacity, (model::Resources{{8000}, {16 * kGiB}}));
  EXPECT_EQ(size.allocatable, (model::Resources{{12000}, {15 * kGiB}}));
  EXPECT_FALSE(size.unreadable);
}

TEST(NodeSize, UsesSizeBeforeAmplification) {
  EXPECT_EQ(size_of(R"("node.koordinator.sh/raw-allocatable":"{\"cpu\":\"7500m\"}")").allocatable,
            (model::Resources{{7500}, {15 * kGiB}}));
  EXPECT_EQ(size_of(R"("node.koordinator.sh/raw-allocatable":"{\"cpu\":\"7\",\"memory\":\"14Gi\"}")").allocatable,
            (model::Resources{{7000}, {14 * kGiB}}));
}

TEST(NodeSize, UnreadableAnnotationFallsBackToStatus) {
  for (const char* text : {"no", "[]", "7", R"({\"cpu\":\"x\"})", R"({\"memory\":[1]})", ""}) {
    const NodeSize size = size_of(base::cat(R"("node.koordinator.sh/raw-allocatable":")", text, "\""));
    EXPECT_EQ(size.allocatable, (model::Resources{{12000}, {15 * kGiB}})) << text;
    ASSERT_TRUE(size.unreadable) << text;
    EXPECT_NE(size.unreadable->message.find("raw-allocatable"), std::string::npos) << size.unreadable->message;
  }
}

}  // namespace
}  // namespace tidemark::agent
