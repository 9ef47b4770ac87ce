#include "policy/explain/evict_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy::explain {
namespace {

using model::Reason;

evict::Gap memory_gap() {
  evict::Gap gap;
  gap.feature = evict::EvictFeature::kBeMemory;
  gap.reason = Reason::kEvictMemoryLine;
  gap.amount = 1 << 30;
  gap.seen_percent = 83;
  gap.line_percent = 70;
  gap.goal_percent = 68;
  return gap;
}

TEST(EvictText, ExplainsAnEviction) {
  EXPECT_EQ(evict_why(memory_gap()),
            "TM-EVICT-001: the node's memory use is above the eviction threshold (83 % of 70 %, down to 68 %)");
  evict::Gap pressure = memory_gap();
  pressure.feature = evict::EvictFeature::kMemoryPressure;
  pressure.reason = Reason::kEvictMemoryPressure;
  EXPECT_EQ(evict_why(pressure),
            "TM-EVICT-006: tasks on the node stall for lack of memory (83 % of the last ten seconds, the threshold is "
            "70 %)");
}

// For a disk the text shows the free percentage, like the kubelet's own thresholds.
TEST(EvictText, ShowsTheShortageOnADisk) {
  evict::Gap disk;
  disk.feature = evict::EvictFeature::kDisk;
  disk.reason = Reason::kEvictDiskLine;
  disk.measure = evict::Measure::kDiskHeld;
  disk.seen_percent = 12;
  disk.line_percent = 20;
  disk.goal_percent = 22;
  EXPECT_EQ(
      evict_why(disk),
      "TM-EVICT-007: the use of a disk of the node is above the eviction threshold (12 % of the kubelet's disk free, "
      "the line is 20 %, up to 22 %)");
  disk.reason = Reason::kEvictInodesLine;
  disk.measure = evict::Measure::kInodesHeld;
  disk.disk = model::Disk::kRuntime;
  EXPECT_EQ(evict_seen(disk), "12 % of the inodes of the container runtime's disk free, the line is 20 %, up to 22 %");
}

TEST(EvictText, ShowsTheReclaimedAmount) {
  evict::Gap back;
  back.feature = evict::EvictFeature::kReclaim;
  back.reason = Reason::kLedgerReclaim;
  back.measure = evict::Measure::kCpuRequested;
  back.amount = 4800;
  back.work_class = "transcode";
  back.keep = 7200;
  EXPECT_EQ(evict_seen(back), "4800 milli-cores requested by pods of class transcode above the 7200 that they keep");
  back.measure = evict::Measure::kMemoryRequested;
  back.work_class.clear();
  EXPECT_EQ(evict_seen(back), "4800 bytes requested by pods of no class above the 7200 that they keep");
  EXPECT_EQ(evict_event(back), base::cat("trigger by koordlet feature ReclaimEvict, ", evict_why(back)));
}

TEST(EvictText, MarksValuesCountedByTheKubelet) {
  evict::Gap gap = memory_gap();
  const std::string ours = evict_seen(gap);
  gap.as_kubelet = true;
  EXPECT_EQ(evict_seen(gap), base::cat(ours, ", as the kubelet counts it: including the page cache"));
  gap.of_pods = true;
  EXPECT_EQ(evict_seen(gap),
            base::cat(ours, ", as the kubelet counts it: by the rest of the limit of all pods together"));
}

TEST(EvictText, ShowsTheStateOfADisk) {
  const evict::EvictVerdict asked{
      {evict::EvictFeature::kDisk, Reason::kEvictDiskLine, 12, 20}, Reason::kEvictDiskLine, 5};
  EXPECT_EQ(evict_says(std::vector{asked}, 1), "TM-EVICT-007: DiskEvict 12 % free of 20 %; 1 leaving");
}

// Contract 7.4: a search for Koordinator's events finds ours.
TEST(EvictText, EventStartsLikeKoordinators) {
  EXPECT_TRUE(evict_event(memory_gap()).starts_with("trigger by koordlet feature BEMemoryEvict, TM-EVICT-001: "));
}

TEST(EvictText, ShowsTheLargestShortage) {
  EXPECT_EQ(evict_says({}, 0), "");
  const evict::EvictVerdict below{
      {evict::EvictFeature::kBeCpu, Reason::kEvictBelowLine, 40, 90}, Reason::kEvictBelowLine, 0};
  const evict::EvictVerdict held{
      {evict::EvictFeature::kBeMemory, Reason::kEvictMemoryLine, 83, 70}, Reason::kEvictCoolDown, 5};
  const evict::EvictVerdict asked{{evict::EvictFeature::kCpu, Reason::kEvictCpuLine, 95, 90}, Reason::kEvictCpuLine, 5};
  EXPECT_EQ(evict_says(std::vector{below}, 0), "TM-EVICT-008: BECPUEvict");
  EXPECT_EQ(evict_says(std::vector{below, held}, 0), "TM-EVICT-010: BEMemoryEvict 83 % of 70 %");
  EXPECT_EQ(evict_says(std::vector{below, held, asked}, 2), "TM-EVICT-002: CPUEvict 95 % of 90 %; 2 leaving");
  EXPECT_EQ(evict_says({}, 1), "1 leaving");
}

TEST(EvictText, ShowsAMovedThreshold) {
  EXPECT_EQ(moved_line_text({evict::EvictLine::kMemory, 95, 90, 85}),
            "memory 95 % -> 85 %, since the kubelet evicts from 90 % on");
  EXPECT_EQ(moved_line_text({evict::EvictLine::kDiskFree, 10, 15, 20}),
            "free disk 10 % -> 20 %, since the kubelet evicts below 15 %");
  EXPECT_EQ(moved_line_text({evict::EvictLine::kInodesFree, 5, 5, 10}),
            "free inodes 5 % -> 10 %, since the kubelet evicts below 5 %");
}

}  // namespace
}  // namespace tidemark::policy::explain
