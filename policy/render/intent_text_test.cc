#include "policy/render/intent_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy {
namespace {

using model::Reason;
using model::Strategy;

TEST(IntentText, ShowsCgroupsAndIntents) {
  const std::vector<Intent> intents{
      {"besteffort", Want::kCpus, 0, {0, 1, 2, 3, 8, 10, 11}, Strategy::kCpuSuppress, Reason::kSuppressUnderLine},
      {"besteffort/a", Want::kCpuQuota, 200'000, {}, Strategy::kBatchLimits, Reason::kLimitFromBatch},
      {"besteffort/a", Want::kCpuPriority, -1, {}, Strategy::kCpuPriority, Reason::kPriorityByClass},
      {"besteffort/a", Want::kMemoryLimit, kNoLimit, {}, Strategy::kBatchLimits, Reason::kLimitNothingSaid}};
  EXPECT_EQ(render_text(std::span(intents).subspan(1)),
            "besteffort/a\n"
            "  CPU quota     200000 us in 100 ms: set from its batch resources [TM-LIMIT-001]\n"
            "  CPU priority  offline (-1): set from the QoS class of the cgroup [TM-PRIORITY-001]\n"
            "  memory limit  none: it has no batch limit: none is set [TM-LIMIT-002]\n");
  EXPECT_NE(render_text(intents).find("\n  processors    0-3,8,10-11: "), std::string::npos) << render_text(intents);
  EXPECT_EQ(render_json(std::span(intents).subspan(3)).dump(),
            R"([{"group":"besteffort/a","want":"memoryLimit","value":-1,"strategy":"batchLimits",)"
            R"("reason":{"id":"TM-LIMIT-002","text":"it has no batch limit: none is set"}}])");
  const Json whole = render_json(intents);
  EXPECT_EQ(whole.as_array()[0].member("value")->dump(), R"("0-3,8,10-11")");
}

TEST(IntentText, ShowsNoIntents) {
  EXPECT_EQ(render_text(std::span<const Intent>{}), "");
  EXPECT_EQ(render_json(std::span<const Intent>{}).dump(), "[]");
}

TEST(IntentText, EachValueInItsUnit) {
  const auto shown = [](Want want, std::int64_t value) {
    const std::vector<Intent> one{{"g", want, value, {}, Strategy::kCpuPriority, Reason::kPriorityByClass}};
    const std::string text = render_text(one);
    return text.substr(4, text.find(": set") - 4);
  };
  EXPECT_EQ(shown(Want::kCpuQuota, kNoLimit), "CPU quota  none");
  EXPECT_EQ(shown(Want::kCpus, 0), "processors  none");
  EXPECT_EQ(shown(Want::kCpuShares, 2), "CPU shares  2");
  EXPECT_EQ(shown(Want::kCpuPriority, 0), "CPU priority  plain (0)");
  EXPECT_EQ(shown(Want::kCpuPriority, 1), "CPU priority  online, low (1)");
  EXPECT_EQ(shown(Want::kCpuPriority, 2), "CPU priority  online (2)");
  EXPECT_EQ(shown(Want::kMemoryLimit, 4096), "memory limit  4096 bytes");
  EXPECT_EQ(shown(Want::kMemoryMin, 4096), "memory kept  4096 bytes");
  EXPECT_EQ(shown(Want::kMemoryLow, 4096), "memory kept if possible  4096 bytes");
}

}  // namespace
}  // namespace tidemark::policy
