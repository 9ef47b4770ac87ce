#include "manager/state/oversold_taint.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace tidemark::manager {
namespace {

constexpr std::string_view kForeign =
    R"({"key":"gpu","value":"a100","effect":"NoExecute","timeAdded":"2026-01-01T00:00:00Z","later":{"a":[1]}})";
constexpr std::string_view kOurs = R"({"key":"tidemark.io/oversold","effect":"NoSchedule"})";
constexpr std::string_view kOtherEffect = R"({"key":"tidemark.io/oversold","effect":"NoExecute"})";

std::string node(std::string_view taints) {
  return base::cat(R"({"metadata":{"name":"n1","resourceVersion":"7"},"spec":{"podCIDR":"10.0.0.0/24")", taints, "}}");
}
std::string taints_after(std::string_view node_bytes, bool wanted) {
  const auto patch = taint_patch(node_bytes, wanted);
  if (!patch || !*patch) return "unchanged";
  const Json json = *Json::parse(**patch);
  EXPECT_EQ(json.text_at("metadata", "resourceVersion"), "7");
  EXPECT_EQ(json.at("spec", "podCIDR"), nullptr) << "only what is ours to write";
  return json.at("spec", "taints")->dump();
}

TEST(OversoldTaint, AddsAndRemovesBesideOtherTaints) {
  EXPECT_EQ(taints_after(node(""), true), base::cat("[", kOurs, "]"));
  EXPECT_EQ(taints_after(node(base::cat(R"(,"taints":[)", kForeign, "]")), true),
            base::cat("[", kForeign, ",", kOurs, "]"));
  EXPECT_EQ(taints_after(node(base::cat(R"(,"taints":[)", kOurs, ",", kForeign, "]")), false),
            base::cat("[", kForeign, "]"));
  EXPECT_EQ(taints_after(node(base::cat(R"(,"taints":[)", kOurs, "]")), false), "null") << "the field goes";
}

TEST(OversoldTaint, DoesNotWriteACorrectTaint) {
  EXPECT_EQ(taints_after(node(""), false), "unchanged");
  EXPECT_EQ(taints_after(node(R"(,"taints":null)"), false), "unchanged");
  EXPECT_EQ(taints_after(node(base::cat(R"(,"taints":[)", kOurs, "]")), true), "unchanged");
}

TEST(OversoldTaint, LeavesOtherEffectsOfTheKeyAlone) {
  const std::string other = node(base::cat(R"(,"taints":[)", kOtherEffect, "]"));
  EXPECT_EQ(taints_after(other, false), "unchanged");
  EXPECT_EQ(taints_after(other, true), base::cat("[", kOtherEffect, ",", kOurs, "]"));
}

TEST(OversoldTaint, RefusesInputThatIsNotANode) {
  EXPECT_FALSE(taint_patch("{", true));
}

}  // namespace
}  // namespace tidemark::manager
