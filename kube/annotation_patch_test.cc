#include "kube/annotation_patch.h"

#include <gtest/gtest.h>

namespace tidemark::kube {
namespace {

TEST(AnnotationPatch, WritesOneAnnotationAsString) {
  EXPECT_EQ(annotation_patch("tidemark.io/book", R"({"a":1})"),
            R"({"metadata":{"annotations":{"tidemark.io/book":"{\"a\":1}"}}})");
  EXPECT_EQ(annotation_patch("a", ""), R"({"metadata":{"annotations":{"a":""}}})");  // there and empty, not taken away
}

}  // namespace
}  // namespace tidemark::kube
