#include "kube/go_text.h"

#include <gtest/gtest.h>

namespace tidemark::kube {
namespace {

TEST(GoText, MatchesTheOutputOfGo) {
  const auto text = [](const char* json) { return go_text(*Json::parse(json)); };
  EXPECT_EQ(text(R"({"name":"one","$patch":"explode"})"), "map[$patch:explode name:one]");
  EXPECT_EQ(text(R"([{"a":1},"b c",null,true,1.5])"), "[map[a:1] b c <nil> true 1.5]");
  EXPECT_EQ(text("{}"), "map[]");
  EXPECT_EQ(text("[]"), "[]");
}

}  // namespace
}  // namespace tidemark::kube
