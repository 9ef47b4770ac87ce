#include "cli/off_text.h"

#include <gtest/gtest.h>

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

operate::OffProgress example() {
  operate::OffProgress progress;
  progress.scope = "cluster";
  progress.by = "ann";
  progress.nodes = 4;
  progress.marked = 4;
  progress.done = 3;
  progress.evicted = 12;
  progress.pods_left = 1;
  operate::NodeProof left;
  left.name = "web-4";
  left.pods = 1;
  left.agent = operate::AgentAnswer::kInForce;
  left.agent_says = "Off: cpuSuppress: off (2 files)";
  left.refused = {"default/a: the budget keep needs 1"};
  progress.nodes_left = {left};
  return progress;
}

TEST(OffText, HasABarOnATerminalOnly) {
  EXPECT_TRUE(progress_text(example(), true).starts_with("[###############.....] marked 4  offers at 0: 0  "));
  EXPECT_TRUE(progress_text(example(), false).starts_with("marked 4  "));
}

TEST(OffText, ProofNamesWhatIsLeftOnEachNode) {
  EXPECT_EQ(proof_text(example()),
            "evicted 12 pods; 3 of 4 nodes have offered 0, tasks 0, files 0\n"
            "  web-4: offered 0, tasks 1, kernel files in force (Off: cpuSuppress: off (2 files))\n"
            "      default/a: the budget keep needs 1\n");
}

TEST(OffText, ProofNamesNodesWithoutAnAgent) {
  auto progress = example();
  progress.without_agent = {"web-1", "web-2"};
  const std::string note = "  no agent reported; kernel files were not checked: web-1, web-2\n";
  EXPECT_TRUE(proof_text(progress).ends_with(note)) << proof_text(progress);
  progress.done = progress.nodes;
  EXPECT_TRUE(stored_text({progress}, progress.updated).ends_with("  finished\n" + note));
}

TEST(OffText, ProofSaysThatNothingWasLookedAt) {
  auto progress = example();
  progress.problem = "cannot list nodes or pods: no answer";
  EXPECT_EQ(proof_text(progress), "cannot list nodes or pods: no answer\n");
}

TEST(OffText, ProofNamesPodsThatOutliveTheirDeletion) {
  auto progress = example();
  progress.nodes_left[0].refused.clear();
  progress.nodes_left[0].outlived = 1;
  progress.nodes_left[0].silent = true;
  EXPECT_TRUE(proof_text(progress).contains("tasks 1, of which deleted and still there 1, ")) << proof_text(progress);
  EXPECT_TRUE(proof_text(progress).contains(", the kubelet is silent\n"));
}

TEST(OffText, PreviewCountsPodsAndContainers) {
  operate::EvictPreview would;
  would.pods = 3;
  would.static_pods = 1;
  EXPECT_EQ(preview_text(would), "would evict 2 offline pods; static pods that stay: 1\n");
  would.static_pods = 0;
  would.pods = 2;
  would.nodes_with_yarn = 1;
  would.yarn = {model::CpuMilli{2000}, model::MemoryBytes{1 << 30}};
  EXPECT_EQ(preview_text(would),
            "would evict 2 offline pods; and all YARN containers on 1 node: YARN holds 2000m and 1024 MiB by the last "
            "report of the yarn-operator\n");
}

TEST(OffText, SaysThatTheCommandHasEnded) {
  auto progress = example();
  progress.updated = base::WallTime(1767225600s);
  EXPECT_EQ(stored_text({progress}, progress.updated + 2s).find("run it again"), std::string::npos);
  EXPECT_NE(stored_text({progress}, progress.updated + 2min).find("run it again to go on"), std::string::npos);
}

TEST(OffText, NamesTheOptionsOfTheOrder) {
  auto progress = example();
  EXPECT_TRUE(
      stored_text({progress}, progress.updated).starts_with("off cluster --evict, its other flags are unknown, "));
  progress.options = {90s, 5, false, base::WallTime(1767225600s)};
  EXPECT_TRUE(stored_text({progress}, progress.updated)
                  .starts_with("off cluster --evict --grace 1m30s --budget 5/min, until 2026-01-01T00:00:00Z, since "))
      << stored_text({progress}, progress.updated);
  progress.options = {30s, 0, true, std::nullopt};
  EXPECT_TRUE(
      stored_text({progress}, progress.updated).starts_with("off cluster --evict --grace 30s --at-once, since "));
}

}  // namespace
}  // namespace tidemark::cli
