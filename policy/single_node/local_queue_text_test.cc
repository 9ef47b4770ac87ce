#include "policy/single_node/local_queue_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <utility>
#include <vector>

#include "model/names.h"

namespace tidemark::policy::single_node {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kLocalQueueTextGib = std::int64_t{1} << 30;

QueueWait waits(QueueReason reason, std::vector<QueueShort> shorts = {}, std::string key = "") {
  QueueWait out;
  out.kind = WorkKind::kOffline;
  out.position = 3;
  out.of = 7;
  out.reason = reason;
  out.shorts = std::move(shorts);
  out.key = std::move(key);
  return out;
}
QueueShort batch_cpu(std::int64_t wanted, std::int64_t free, std::int64_t sold) {
  return {std::string(model::kBatchCpu), wanted, free, sold};
}

TEST(LocalQueueText, ShowsTheMissingResources) {
  EXPECT_EQ(local_queue_text(waits(QueueReason::kShort, {batch_cpu(4000, 1200, 6000)})),
            "position 3 of 7: batch-cpu: 4 cores wanted, 1.2 free of 6 sold to batch");
  EXPECT_EQ(local_queue_text(
                waits(QueueReason::kShort, {batch_cpu(1005, 1004, 2000),
                                            {"memory", 4 * kLocalQueueTextGib,
                                             kLocalQueueTextGib + kLocalQueueTextGib / 2, 8 * kLocalQueueTextGib},
                                            {"pods", 1, 0, 110}})),
            "position 3 of 7: batch-cpu: 1.005 cores wanted, 1.004 free of 2 sold to batch; memory: 4.0 GiB wanted, "
            "1.5 GiB free of 8.0 GiB; pods: 1 wanted, 0 free of 110");
}

TEST(LocalQueueText, BytesWhereTenthsWouldHideIt) {
  EXPECT_EQ(local_queue_text(waits(QueueReason::kShort, {{std::string(model::kMidMemory), kLocalQueueTextGib,
                                                          kLocalQueueTextGib - 1, 2 * kLocalQueueTextGib}})),
            "position 3 of 7: mid-memory: 1.0 GiB wanted, 1023.9 MiB free of 2.0 GiB sold to mid");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kShort,
                                   {{"memory", kLocalQueueTextGib + 1, kLocalQueueTextGib, 2 * kLocalQueueTextGib}})),
            "position 3 of 7: memory: 1073741825 wanted, 1073741824 free of 2147483648");
}

TEST(LocalQueueText, EveryReasonHasAText) {
  EXPECT_EQ(local_queue_text(waits(QueueReason::kTooLarge, {batch_cpu(40'000, 0, 6000)})),
            "position 3 of 7: batch-cpu: 40 cores wanted, no more than 6 sold to batch with nothing else on the node");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kTooLarge, {batch_cpu(500, 0, 0)})),
            "position 3 of 7: batch-cpu: 0.5 cores wanted, nothing is sold to batch now");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kBehind, {batch_cpu(4000, 1200, 6000)}, "jobs/big")),
            "position 3 of 7: jobs/big has waited longer than 10m0s for batch-cpu, and no other pod may overtake it "
            "any more");
  QueueWait cooling = waits(QueueReason::kCoolingDown);
  cooling.left = 24'001ms;
  EXPECT_EQ(local_queue_text(cooling), "position 3 of 7: offline work was evicted: none starts for another 25s");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kTainted, {}, "a/b")),
            "position 3 of 7: it does not tolerate the node's taint a/b");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kMismatch, {}, "disk=ssd")),
            "position 3 of 7: the node does not match its disk=ssd");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kCordoned)), "position 3 of 7: the node is cordoned");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kNotReady)), "position 3 of 7: the node is not ready");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kNotAllKnown)),
            "position 3 of 7: free resources are unknown: some pods cannot be read, or there are too many; the log of "
            "`tidemark up` names them");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kOff)),
            "position 3 of 7: offline work is off or drains here: none starts until `tidemark on`, or `on "
            "--local` if it is off on the machine");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kNoNode)), "position 3 of 7: the node does not exist yet");
  EXPECT_EQ(local_queue_text(waits(QueueReason::kGated)), "position 3 of 7: its scheduling gates are not removed");
}

TEST(LocalQueueText, MapsReasonsToKubernetesOnes) {
  EXPECT_EQ(local_queue_condition_reason(QueueReason::kGated), "SchedulingGated");
  EXPECT_EQ(local_queue_condition_reason(QueueReason::kShort), "Unschedulable");
}

}  // namespace
}  // namespace tidemark::policy::single_node
