#include "policy/explain/admission_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy::explain {
namespace {

using model::Reason;

TEST(AdmissionText, ShowsFoundAndExpectedValues) {
  EXPECT_EQ(render_text(admission::Refusal{Reason::kAdmitPriorityClassMissing, 500, "spark", "koord-batch"}),
            "ClusterColocationProfile spark: the PriorityClass that a matching profile names does not exist "
            "[TM-ADMIT-003]: koord-batch");
  const admission::PodViolation violation{Reason::kPodQosImmutable, "metadata.labels[koordinator.sh/qosClass]", "",
                                          "BE"};
  EXPECT_EQ(render_text(violation),
            "metadata.labels[koordinator.sh/qosClass]: the QoS class of a pod cannot be changed [TM-POD-001]: found "
            "nothing, wanted BE");
  EXPECT_EQ(render_text(std::vector{violation, violation}), render_text(violation) + "; " + render_text(violation));
  EXPECT_EQ(render_text(admission::AdmissionNote{Reason::kAdmitPodLevelResources, "", "spec.resources"}),
            "resources of the pod as a whole stay native: batch and mid resources exist for containers only "
            "[TM-ADMIT-008]: spec.resources");
}

TEST(AdmissionText, NamesTheAuthorOfTheOffOrder) {
  EXPECT_EQ(render_text(state::PodScopeState()), "");
  EXPECT_EQ(render_text(state::PodScopeState{true, Reason::kDisabledByCluster, "", std::nullopt}),
            "co-location is off for the whole cluster [TM-NODE-002]");
  state::StateOrder order;
  order.wish = state::Wish::kOff;
  order.only = *state::parse_parts(std::vector<std::string>{"class=spark"});
  order.by = "ann@ops-1";
  order.why = "kernel update";
  EXPECT_EQ(render_text(state::PodScopeState{true, Reason::kStateByPool, "night", order}),
            "the pool night was ordered off (class=spark) by ann@ops-1: kernel update [" +
                std::string(model::reason_id(Reason::kStateByPool)) + "]");
}

// Contract 11.4: `ExistNodeConfict` (sic), body JSON {config, strategies, exampleNodes}.
TEST(AdmissionText, RejectedEditHasKoordinatorsTextAndBody) {
  settings::SettingsVerdict verdict;
  verdict.errors.push_back({Reason::kSettingsNodeConflict, "colocation-config", "", "a and b both for node n1", "one"});
  verdict.conflict = {Reason::kSettingsNodeConflict, "colocation-config", {"a", "b"}, {"n1"}};
  EXPECT_EQ(render_refusal(verdict),
            "ExistNodeConfict: colocation-config: found a and b both for node n1; allowed: one [TM-SETTINGS-004]; "
            "the edit is rejected as a whole "
            R"(___{"reason":"ExistNodeConfict","message":{"config":"colocation-config","strategies":["a","b"],)"
            R"("exampleNodes":["n1"]}}___)");
  verdict.conflict.reset();
  verdict.errors.push_back({Reason::kSettingsInvalid, "k", "p[0]", "1", "2"});
  verdict.left_off = 3;
  EXPECT_EQ(render_refusal(verdict),
            "ExistNodeConfict: colocation-config: found a and b both for node n1; allowed: one [TM-SETTINGS-004]; "
            "k: p[0]: found 1; allowed: 2 [TM-SETTINGS-002]; and 3 more; the edit is rejected as a whole");
}

}  // namespace
}  // namespace tidemark::policy::explain
