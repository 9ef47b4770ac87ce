#include "policy/render/priority_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy {
namespace {

TEST(PriorityText, ReportsAnUnreadableAnnotation) {
  PriorityPlan plan;
  plan.intents.push_back(
      {"a", Want::kCpuPriority, 2, {}, model::Strategy::kCpuPriority, model::Reason::kPriorityByClass});
  plan.refused.push_back({"b", "JSON at byte 0: a value is missing"});
  EXPECT_EQ(render_text(plan),
            "a\n  CPU priority  online (2): set from the QoS class of the cgroup [TM-PRIORITY-001]\n"
            "b\n  unchanged: annotation koordinator.sh/cpuQOS: JSON at byte 0: a value is missing\n");
  EXPECT_EQ(render_json(plan).dump(),
            R"({"intents":[{"group":"a","want":"cpuPriority","value":2,"strategy":"cpuPriority",)"
            R"("reason":{"id":"TM-PRIORITY-001","text":"set from the QoS class of the cgroup"}}],)"
            R"("refused":[{"group":"b","error":"JSON at byte 0: a value is missing"}]})");
}

TEST(PriorityText, ReportsACgroupWithoutWeight) {
  ClassWeightsPlan plan;
  plan.without_weight = {"besteffort/a"};
  EXPECT_EQ(render_text(plan),
            "besteffort/a\n  no CPU shares: it runs idle, and the kernel accepts no weight for such a cgroup\n");
  EXPECT_EQ(render_json(plan).dump(), R"({"intents":[],"withoutWeight":["besteffort/a"]})");
}

}  // namespace
}  // namespace tidemark::policy
