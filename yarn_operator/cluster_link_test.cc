// ClusterLink with frequent requests while the ResourceManager fails over or restarts.
#include "yarn_operator/cluster_link.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/testing/clock.h"
#include "base/text.h"
#include "net/testing/loop.h"
#include "yarn_operator/reclaim_progress.h"
#include "yarn_operator/testing/operator_world.h"

namespace tidemark::yarn_operator {
namespace {

using namespace std::chrono_literals;
using hadoop::NodeId;
using testing::ResourceManagerTwin;

const NodeId kNm{"a", 1};

// Time advances only when a test advances it.
class ClusterLinkTest : public ::testing::Test {
 protected:
  ClusterLinkTest() { two.standby = true; }

  static YarnCluster cluster(const ResourceManagerTwin& one, const ResourceManagerTwin& two) {
    YarnCluster made;
    made.id = "c";
    made.managers.members = {{"rm1", one.client->address(), one.admin->address()},
                             {"rm2", two.client->address(), two.admin->address()}};
    return made;
  }
  void fail_over() {
    one.standby = true;
    two.standby = false;
  }
  bool refresh() { return net::testing::run_task(loop, link.refresh()).has_value(); }
  Result<Telling> tell(std::int64_t memory_mib, std::int64_t generation = 0) {
    Wanted wanted{"n", kNm, {memory_mib, 4, {}}, model::Reason::kYarnShared, generation};
    return net::testing::run_task(loop, link.tell({wanted}));
  }
  std::ptrdiff_t times_said(std::string_view words) const {
    return std::ranges::count_if(said, [&](const std::string& line) { return line.contains(words); });
  }
  // Sent, and shown by a report.
  void settle(std::int64_t memory_mib, std::int64_t generation) {
    ASSERT_TRUE(tell(memory_mib, generation));
    clock.advance(1s);
    ASSERT_TRUE(refresh());
    ASSERT_NE(link.acts_on(kNm), nullptr);
    ASSERT_EQ(link.acts_on(kNm)->generation, generation);
  }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  std::vector<std::string> said;
  base::Log log{clock, {base::LogLevel::kInfo, base::LogFormat::kText, [this](std::string_view line) {
                          said.emplace_back(line);
                        }}};
  base::Registry metrics;
  net::WorkerPool workers{1, 4};
  std::vector<model::AuditLine> audit;
  HourRoom no_room;  // drains need none
  ResourceManagerTwin one{loop};
  ResourceManagerTwin two{loop};
  ClusterLink link{loop,
                   workers,
                   cluster(one, two),
                   log,
                   metrics,
                   base::Random(1),
                   {[this](model::AuditLine line) { audit.push_back(std::move(line)); }, "me"}};
};

TEST_F(ClusterLinkTest, ReportsTooFewContainersForAWhileAfterAFailover) {
  one.nodes = {{kNm, {.used_memory = 1024, .used_vcores = 1}}};
  ASSERT_TRUE(refresh());
  EXPECT_FALSE(link.may_hold_more(kNm)) << "nothing showed a restart";
  fail_over();
  ASSERT_TRUE(refresh());
  EXPECT_EQ(link.find(kNm), nullptr) << "it has not registered with the other one yet";
  two.nodes = {{kNm, {}}};
  clock.advance(5s);
  ASSERT_TRUE(refresh());
  EXPECT_TRUE(link.may_hold_more(kNm));
  clock.advance(9s);
  EXPECT_TRUE(link.may_hold_more(kNm));
  clock.advance(1s);
  EXPECT_FALSE(link.may_hold_more(kNm));
}

TEST_F(ClusterLinkTest, KeepsTheTimeSinceEachResourceManagerHasItsState) {
  const auto states = [&] {
    net::testing::run_task(loop, link.refresh_managers());
    std::vector<std::string> out;
    for (const auto& each : link.managers()) out.push_back(each.state);
    return out;
  };
  const base::WallTime begun = clock.wall();
  EXPECT_TRUE(link.managers().empty());
  EXPECT_EQ(states(), (std::vector<std::string>{"active", "standby"}));
  clock.advance(10s);
  fail_over();
  EXPECT_EQ(states(), (std::vector<std::string>{"standby", "active"}));
  EXPECT_EQ(link.managers()[1], (model::YarnManager{"c", "rm2", two.admin->address().text(), "active", clock.wall()}));
  clock.advance(10s);
  one.away = true;
  EXPECT_EQ(states(), (std::vector<std::string>{"away", "active"}));
  EXPECT_EQ(link.managers()[0].since, begun + 20s);
  EXPECT_EQ(link.managers()[1].since, begun + 10s);
}

TEST_F(ClusterLinkTest, ReportsTooFewContainersAfterAnOutageEvenIfTheNodeReturnsAtOnce) {
  one.nodes = {{kNm, {}}};
  ASSERT_TRUE(refresh());
  one.away = true;
  EXPECT_FALSE(refresh());
  EXPECT_FALSE(link.answers());
  clock.advance(1min);
  one.away = false;
  ASSERT_TRUE(refresh());
  EXPECT_TRUE(link.answers());
  EXPECT_TRUE(link.may_hold_more(kNm));
  EXPECT_TRUE(link.begins());
  clock.advance(10s);
  EXPECT_FALSE(link.begins());
}

TEST_F(ClusterLinkTest, ReportsTooFewContainersIfAwayWhenWeStarted) {
  one.nodes = {{kNm, {}}};
  one.away = true;
  EXPECT_FALSE(refresh());
  clock.advance(5s);
  one.away = false;
  ASSERT_TRUE(refresh());
  EXPECT_TRUE(link.may_hold_more(kNm));
}

TEST_F(ClusterLinkTest, ReportsTooFewContainersAfterANodeManagerReturns) {
  one.nodes = {{kNm, {}}, {{"b", 1}, {}}};
  ASSERT_TRUE(refresh());
  one.nodes.at(kNm).state = 5;  // LOST
  ASSERT_TRUE(refresh());
  one.nodes.at(kNm).state = 2;
  ASSERT_TRUE(refresh());
  EXPECT_TRUE(link.may_hold_more(kNm));
  EXPECT_FALSE(link.may_hold_more({"b", 1}));
}

// Its ResourceManager keeps the total at what the containers hold.
TEST_F(ClusterLinkTest, SendsNothingToADecommissioningNodeAndCountsNoRoom) {
  one.nodes = {{kNm, {}}, {{"b", 1}, {.memory = 512, .vcores = 1}}};
  ASSERT_TRUE(refresh());
  settle(2048, 1);
  EXPECT_TRUE(link.room({})->for_the_smallest);
  one.nodes.at(kNm) = {.memory = 1024, .vcores = 1, .used_memory = 1024, .used_vcores = 1, .state = 7};
  clock.advance(10s);
  ASSERT_TRUE(refresh());
  EXPECT_EQ(tell(2048, 1)->told, 0U);
  EXPECT_EQ(one.nodes.at(kNm).memory, 1024);
  EXPECT_FALSE(link.room({})->for_the_smallest) << "the other one is too small";
  clock.advance(kBelievedAfter);
  ASSERT_TRUE(refresh());
  EXPECT_EQ(link.acts_on(kNm)->total.memory_mib, 1024) << "the reduced total is known";
  // Recommissioned: nothing has reverted the last total.
  one.nodes.at(kNm).state = 2;
  clock.advance(10s);
  ASSERT_TRUE(refresh());
  const auto told = tell(2048, 1);
  EXPECT_EQ(told->told, 1U);
  EXPECT_TRUE(told->set_again.empty());
}

TEST_F(ClusterLinkTest, DoesNotReportASecondWriterAfterAFailover) {
  one.nodes = two.nodes = {{kNm, {}}};
  ASSERT_TRUE(refresh());
  settle(2048, 1);
  clock.advance(1min);
  fail_over();
  ASSERT_TRUE(refresh());
  const auto told = tell(2048, 1);
  ASSERT_TRUE(told);
  EXPECT_EQ(told->told, 1U);
  EXPECT_TRUE(told->set_again.empty());
  EXPECT_EQ(two.nodes.at(kNm).memory, 2048);
  EXPECT_EQ(audit.back().reason, "TM-YARN-001");
  EXPECT_NE(metrics.text().find("tidemark_yarn_operator_failovers_total 1"), std::string::npos);
}

// A total that another program sets within a second is replaced before a report can show ours.
TEST_F(ClusterLinkTest, ReportsATotalThatNoReportEverShowsAsSentAgain) {
  one.nodes = {{kNm, {}}};
  ASSERT_TRUE(refresh());
  EXPECT_TRUE(tell(2048)->told_again.empty());
  for (int i = 0; i < 3; ++i) {
    one.nodes.at(kNm).memory = 4096;
    clock.advance(3s);
    ASSERT_TRUE(refresh());
    const auto told = tell(2048);
    EXPECT_EQ(told->told_again, std::vector<std::string>{"n"});
    EXPECT_TRUE(told->set_again.empty()) << "the ResourceManager may not have applied it";
  }
  clock.advance(1s);
  ASSERT_TRUE(refresh());
  one.nodes.at(kNm).memory = 4096;
  clock.advance(3s);
  ASSERT_TRUE(refresh());
  const auto undone = tell(2048);
  EXPECT_EQ(undone->set_again, std::vector<std::string>{"n"});
  EXPECT_EQ(undone->told_again, std::vector<std::string>{"n"});
  EXPECT_TRUE(tell(1024)->told_again.empty()) << "another total";
}

// It answers while it starts but applies nothing.
TEST_F(ClusterLinkTest, DoesNotReportTotalsSentAgainToAStartingResourceManager) {
  one.nodes = {{kNm, {}}};
  one.away = true;
  EXPECT_FALSE(refresh());
  one.away = false;
  one.drops = true;
  ASSERT_TRUE(refresh());
  ASSERT_TRUE(tell(2048));
  clock.advance(3s);
  ASSERT_TRUE(refresh());
  const auto told = tell(2048);
  EXPECT_EQ(told->told, 1U);
  EXPECT_TRUE(told->told_again.empty());
}

// A total sent just before the failover is not waited for: its ResourceManager is gone.
TEST_F(ClusterLinkTest, SendsToTheNextResourceManagerAtOnce) {
  one.nodes = two.nodes = {{kNm, {}}};
  ASSERT_TRUE(refresh());
  ASSERT_TRUE(tell(2048));
  fail_over();
  ASSERT_TRUE(refresh());
  ASSERT_TRUE(tell(2048));
  EXPECT_EQ(two.nodes.at(kNm).memory, 2048);
}

TEST_F(ClusterLinkTest, WaitsForALostUpdateOnlyAtTheSameResourceManager) {
  one.nodes = two.nodes = {{kNm, {}}};
  ASSERT_TRUE(refresh());
  settle(4096, 1);
  one.away = true;
  EXPECT_FALSE(tell(2048, 2));
  one.away = false;
  clock.advance(1s);
  one.nodes.at(kNm).memory = 2048;  // it had arrived; or an earlier update arrived and this one is still on its way
  one.nodes.at(kNm).vcores = 4;
  ASSERT_TRUE(refresh());
  ASSERT_TRUE(tell(2048, 2));
  EXPECT_EQ(link.acts_on(kNm)->generation, 1);
  clock.advance(10s);
  two.nodes = one.nodes;
  fail_over();
  ASSERT_TRUE(refresh());
  ASSERT_TRUE(tell(2048, 2));
  EXPECT_EQ(link.acts_on(kNm)->generation, 2);
}

TEST_F(ClusterLinkTest, DoesNotWaitForARefusedUpdate) {
  one.nodes = {{kNm, {}}};
  ASSERT_TRUE(refresh());
  settle(4096, 1);
  one.refuses = "org.apache.hadoop.yarn.exceptions.YarnException";
  EXPECT_FALSE(tell(2048, 2));
  one.refuses.clear();
  clock.advance(1s);
  ASSERT_TRUE(refresh());
  ASSERT_TRUE(tell(4096, 3));
  EXPECT_EQ(link.acts_on(kNm)->generation, 3);
}

NodeReclaim drain(std::int64_t order, std::int64_t keep_mib) {
  return {"n", kNm, model::Reason::kYarnDrained, order, {keep_mib, std::numeric_limits<std::int32_t>::max()}, 4};
}

// A report of less than the containers hold does not mean that a drain is done.
TEST_F(ClusterLinkTest, DoesNotFinishADrainWhileContainersMayBeUnknown) {
  one.nodes = {{kNm, {.used_memory = 2048, .used_vcores = 2}}};
  ASSERT_TRUE(refresh());
  one.away = true;
  EXPECT_FALSE(refresh());
  one.away = false;
  one.nodes.at(kNm).used_memory = 0;
  ASSERT_TRUE(refresh());
  const std::vector<NodeReclaim> due{drain(1, 1024)};
  ReclaimProgress book;
  EXPECT_TRUE(book.begin(due, link, clock.monotonic(), no_room).preemptions.empty());
  clock.advance(10s);
  one.nodes.at(kNm).used_memory = 2048;
  ASSERT_TRUE(refresh());
  const auto begun = book.begin(due, link, clock.monotonic(), no_room);
  ASSERT_EQ(begun.preemptions.size(), 1U);
  EXPECT_EQ(begun.preemptions[0].total.memory_mib, 1024);
  EXPECT_EQ(begun.first, 1U);
}

// Until then a container may start on the empty node.
TEST_F(ClusterLinkTest, AnOrderToEvictIsDoneWhenTheTotalIsZero) {
  one.nodes = {{kNm, {}}};
  ASSERT_TRUE(refresh());
  ReclaimProgress book;
  NodeReclaim due = drain(1, 0);
  due.evicts = true;
  const auto is_due_later = [&] {
    EXPECT_TRUE(book.begin({due}, link, clock.monotonic(), no_room).preemptions.empty());
    clock.advance(1min);
    return !book.to_try({{due}, {}}, clock.monotonic()).due.empty();
  };
  EXPECT_TRUE(is_due_later());
  one.nodes.at(kNm).memory = 0;
  ASSERT_TRUE(refresh());
  EXPECT_FALSE(is_due_later());
}

// The others stay due: the first nodes may release enough.
TEST_F(ClusterLinkTest, StartsATenthOfTheRequestedNodesAtOnceAndOthersLater) {
  ReclaimProgress book;
  Pace pace;
  std::vector<NodeReclaim> due;
  for (int i = 0; i < 15; ++i) {
    const NodeId nm{base::cat("h", i), 1};
    one.nodes[nm] = {.used_memory = 2048, .used_vcores = 2};
    due.push_back({base::cat("n", i), nm, model::Reason::kYarnReclaimed, 1, {1024, 4}, 4});
  }
  ASSERT_TRUE(refresh());
  const auto begin = [&] {
    const auto now = clock.monotonic();
    const auto begun = book.begin(book.to_try({due, {}}, now).due, link, now, no_room, pace.room(due.size(), now));
    pace.began(begun.first);
    return begun.first;
  };
  EXPECT_EQ(begin(), 2U);
  EXPECT_EQ(begin(), 0U);
  clock.advance(kPaceEvery);
  EXPECT_EQ(begin(), 2U);
  due.resize(5);  // the others are no longer requested; four of these were started
  clock.advance(kPaceEvery);
  EXPECT_EQ(begin(), 1U);
  clock.advance(kPaceEvery);
  EXPECT_EQ(begin(), 0U);
}

// The offer fell because online work uses more: that ends no container.
TEST_F(ClusterLinkTest, RetriesADrainOnlyDownToItsFirstTarget) {
  one.nodes = {{kNm, {.used_memory = 2048, .used_vcores = 2}}};
  ASSERT_TRUE(refresh());
  ReclaimProgress book;
  EXPECT_EQ(book.begin({drain(1, 1024)}, link, clock.monotonic(), no_room).preemptions.size(), 1U);
  const auto again = book.begin({drain(1, 512)}, link, clock.monotonic(), no_room);
  ASSERT_EQ(again.preemptions.size(), 1U) << "it was not done yet";
  EXPECT_EQ(again.preemptions[0].total.memory_mib, 1024);
  EXPECT_EQ(again.first, 0U);
  one.nodes.at(kNm).used_memory = 1024;
  ASSERT_TRUE(refresh());
  EXPECT_TRUE(book.begin({drain(1, 512)}, link, clock.monotonic(), no_room).preemptions.empty());
  // A new drain has a new target.
  EXPECT_EQ(book.begin({drain(2, 512)}, link, clock.monotonic(), no_room).preemptions.size(), 1U);
}

class BoundedReclaimTest : public ClusterLinkTest {
 protected:
  void SetUp() override {
    one.nodes = {{kNm, {.used_memory = 4096, .used_vcores = 4}}};
    ASSERT_TRUE(refresh());
  }
  static HourRoom room_for(std::int64_t containers) {
    HourRoom room;
    room.add_pool("night", {.granted = containers});
    room.add_node("n", "night", 0);
    return room;
  }
  static NodeReclaim due(std::int64_t keep_mib = 0, bool bounded = true) {
    return {"n", kNm, model::Reason::kYarnReclaimed, 1, {keep_mib, 4}, 4, {}, bounded};
  }
  ReclaimProgress::Begun begin(HourRoom& room, std::int64_t keep_mib = 0, bool bounded = true) {
    return book.begin({due(keep_mib, bounded)}, link, clock.monotonic(), room);
  }
  void holds(std::int64_t memory_mib, std::int64_t containers) {
    one.nodes.at(kNm).used_memory = memory_mib;
    one.nodes.at(kNm).used_vcores = containers;
    ASSERT_TRUE(refresh());
  }
  using OffTheHour = std::vector<std::pair<std::string, std::int64_t>>;
  ReclaimProgress book;
};

TEST_F(BoundedReclaimTest, EndsOnlyWhatTheHourAllowsAndTheRestLater) {
  auto room = room_for(3);
  auto begun = begin(room);
  ASSERT_EQ(begun.preemptions.size(), 1U);
  EXPECT_EQ(begun.preemptions[0].total.memory_mib, 1024);
  EXPECT_EQ(begun.off_the_hour, (OffTheHour{{"n", 3}}));
  holds(1024, 1);
  EXPECT_TRUE(begin(room).preemptions.empty());
  EXPECT_TRUE(book.waits(due())) << "the rest";
  auto later = room_for(1);
  begun = begin(later);
  ASSERT_EQ(begun.preemptions.size(), 1U);
  EXPECT_EQ(begun.preemptions[0].total.memory_mib, 0);
  EXPECT_EQ(later.left("n"), 0);
  EXPECT_FALSE(book.waits(due()));
}

TEST_F(BoundedReclaimTest, StartsNothingIfTheHourIsUsedUp) {
  auto room = room_for(0);
  const auto begun = begin(room);
  EXPECT_TRUE(begun.preemptions.empty());
  EXPECT_TRUE(begun.off_the_hour.empty());
  EXPECT_EQ(begin(room, 0, false).preemptions.size(), 1U) << "an order of a person is not bounded";
}

TEST_F(BoundedReclaimTest, RetriesADroppedUpdateWithoutCountingItTwice) {
  auto room = room_for(4);
  ASSERT_EQ(begin(room).off_the_hour, (OffTheHour{{"n", 4}}));
  const auto again = begin(room);
  EXPECT_EQ(again.preemptions.size(), 1U);
  EXPECT_TRUE(again.off_the_hour.empty());
}

TEST_F(BoundedReclaimTest, RetriesARefusedUpdateAtOnceWithoutCountingItTwice) {
  auto room = room_for(4);
  auto begun = begin(room);
  ASSERT_EQ(begun.off_the_hour, (OffTheHour{{"n", 4}}));
  book.only_sent(begun, {kNm});
  EXPECT_EQ(begun.first, 1U);
  EXPECT_TRUE(book.to_try({{due()}, {}}, clock.monotonic()).due.empty());
  book.only_sent(begun, {});
  EXPECT_EQ(begun.first, 0U);
  EXPECT_EQ(book.to_try({{due()}, {}}, clock.monotonic()).due.size(), 1U);
  const auto again = begin(room);
  EXPECT_EQ(again.preemptions.size(), 1U);
  EXPECT_EQ(again.first, 1U);
  EXPECT_TRUE(again.off_the_hour.empty());
}

// The newest containers were the smallest, so more ended than the average predicts.
TEST_F(BoundedReclaimTest, CountsContainersThatEndedBeyondTheEstimate) {
  auto room = room_for(4);
  ASSERT_EQ(begin(room, 3072).off_the_hour, (OffTheHour{{"n", 1}}));
  holds(3072, 1);
  EXPECT_EQ(begin(room, 3072).off_the_hour, (OffTheHour{{"n", 2}}));
  EXPECT_EQ(room.left("n"), 1);
  EXPECT_TRUE(begin(room, 3072).off_the_hour.empty()) << "once";
}

TEST_F(ClusterLinkTest, ReportsWaitingForANodeWithALabelAsUnknown) {
  one.nodes = {{kNm, {}}, {{"b", 1}, {.label = "volatile"}}};
  one.waiting = {1024, 1, 1};
  ASSERT_TRUE(refresh());
  EXPECT_EQ(link.waiting_for(kNm), one.waiting);
  EXPECT_EQ(link.waiting_for({"b", 1}), std::nullopt);
}

// The average request decides: smaller requests hide a large one.
TEST_F(ClusterLinkTest, FindsContainersThatFitOnNoNode) {
  one.nodes = {{kNm, {.memory = 6144, .vcores = 4}}, {{"b", 1}, {.memory = 9216, .vcores = 4, .label = "volatile"}}};
  const auto in_vain = [&](const hadoop::QueueWaiting& waiting) {
    one.waiting = waiting;
    EXPECT_TRUE(refresh());
    return link.room({})->waits_in_vain;
  };
  EXPECT_TRUE(in_vain({6145, 1, 1})) << "requests without a label do not run on the larger node";
  EXPECT_EQ(link.room({})->largest_node, kNm);
  EXPECT_FALSE(in_vain({6144, 9, 1})) << "vcores may not be a limit";
  EXPECT_FALSE(in_vain({7168, 1, 2}));
  EXPECT_TRUE(in_vain({12290, 1, 2}));
  EXPECT_FALSE(in_vain({6145, 1, 0})) << "a server that does not report the count";
  EXPECT_TRUE(link.room({})->for_the_smallest);
  EXPECT_FALSE(link.room({{"n", kNm, {512, 1, {}}}, {"m", {"b", 1}, {512, 1, {}}}})->for_the_smallest);
}

}  // namespace
}  // namespace tidemark::yarn_operator
