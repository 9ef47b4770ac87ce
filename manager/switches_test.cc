#include "manager/switches.h"

#include <gtest/gtest.h>

namespace tidemark::manager {
namespace {

using Words = std::vector<std::string>;

TEST(Controllers, AreReadLikeInKoordinator) {
  EXPECT_EQ(*parse_controllers(Words{"*"}), ControllerSet());
  EXPECT_EQ(
      *parse_controllers(Words{"noderesource"}),
      (ControllerSet{.node_resource = true, .node_metric = false, .node_slo = false, .colocation_profile = false}));
  EXPECT_EQ(*parse_controllers(Words{"*", "-noderesource"}), (ControllerSet{.node_resource = false}));
  EXPECT_EQ(
      *parse_controllers(Words{}),
      (ControllerSet{.node_resource = false, .node_metric = false, .node_slo = false, .colocation_profile = false}));
  EXPECT_TRUE(parse_controllers(Words{"*", "-quotaprofile", "colocationprofile"})) << "the peer's that are not here";
}

TEST(Controllers, RefusesAMisspelledName) {
  EXPECT_EQ(parse_controllers(Words{"*", "-noderesouce"}).error().message,
            "there is no controller \"noderesouce\"; did you mean noderesource?");
  EXPECT_EQ(parse_controllers(Words{"webhook"}).error().message,
            "there is no controller \"webhook\"; there are noderesource, nodemetric, nodeslo, colocationprofile, "
            "quotaprofile");
}

// Contract 11.1: the gates and their defaults; edits of the settings are checked here by default.
TEST(FeatureGates, DefaultToThoseOfKoordinator) {
  const FeatureGates none;
  EXPECT_TRUE(none.enabled("PodMutatingWebhook"));
  EXPECT_TRUE(none.enabled("ConfigMapValidatingWebhook"));
  EXPECT_FALSE(none.enabled("NodeMutatingWebhook"));
  EXPECT_FALSE(none.enabled("NoSuchGate"));
  const auto given = parse_feature_gates(Words{"PodMutatingWebhook=false", "ConfigMapValidatingWebhook=false"});
  ASSERT_TRUE(given) << given.error().message;
  EXPECT_FALSE(given->enabled("PodMutatingWebhook"));
  EXPECT_FALSE(given->enabled("ConfigMapValidatingWebhook"));
}

TEST(FeatureGates, ReportsGatesWithoutEffect) {
  EXPECT_TRUE(FeatureGates().without_effect().empty());
  EXPECT_TRUE(parse_feature_gates(Words{})->without_effect().empty());
  EXPECT_TRUE(parse_feature_gates(Words{"MultiQuotaTree=false"})->without_effect().empty()) << "it is off anyway";
  EXPECT_EQ(parse_feature_gates(Words{"MultiQuotaTree=true"})->without_effect(),
            Words{"what the feature gate MultiQuotaTree switches is not here"});
  EXPECT_EQ(parse_feature_gates(Words{"BECPUSuppress=true", "PodMutatingWebhok=false"})->without_effect(),
            (Words{"no feature gate BECPUSuppress is known here",
                   "no feature gate PodMutatingWebhok is known here; did you mean PodMutatingWebhook?"}));
}

TEST(FeatureGates, NeedAValue) {
  for (const char* word : {"PodMutatingWebhook", "PodMutatingWebhook=", "PodMutatingWebhook=on", "=true", "a=b=true"}) {
    EXPECT_FALSE(parse_feature_gates(Words{word})) << word;
  }
  EXPECT_EQ(parse_feature_gates(Words{"A=on"}).error().message, "\"A=on\" is not NAME=true or NAME=false");
  EXPECT_TRUE(parse_feature_gates(Words{"A=T"})->enabled("A"));
}

}  // namespace
}  // namespace tidemark::manager
