// Findings of a pod as rendered text: first the examples, then the rules behind them.
#include "policy/explain/incident.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "policy/explain/incident_text.h"

namespace tidemark::policy::explain {
namespace {

using namespace std::chrono_literals;
using model::AuditLine;
using model::NodeRecord;
using model::TaskRecord;

const base::WallTime kNoon = *base::parse_rfc3339("2026-11-23T12:00:00Z");
constexpr std::string_view kUid = "11111111-2222-3333-4444-555555555555";

struct IncidentTest : ::testing::Test {
  // 8 cores and 1000 bytes; lines end each half minute, from noon on.
  IncidentTest() {
    for (int i = -2; i <= 10; ++i) {
      NodeRecord record;
      record.time = kNoon + i * 30s;
      record.over = 30s;
      record.node = "n1";
      record.whole = i % 10 == -2 || i == 8;
      record.permit = "enforce";
      record.cpus = 8;
      record.cpu_milli = 6000;
      record.offline_milli = 0;
      record.memory_total = 1000;
      record.tasks_pressure = true;
      if (record.whole) record.tasks.push_back(task());
      records.push_back(record);
    }
    wrote(-10min, "kubepods/burstable/podother", "cpu.shares", "2", "1024");
  }
  TaskRecord task() const {
    TaskRecord out;
    out.source = "kubernetes";
    out.ns = "shop";
    out.name = "web-0";
    out.task = kUid;
    out.group = offline ? "kubepods/besteffort" : "kubepods/burstable";
    out.offline = offline;
    return out;
  }
  // The line that ends this many half minutes after noon.
  NodeRecord& line(int number) { return records.at(static_cast<std::size_t>(number + 2)); }
  TaskRecord& task_in(int number) {
    NodeRecord& record = line(number);
    if (record.tasks.empty()) record.tasks.push_back(task());
    return record.tasks.back();
  }
  AuditLine& wrote(base::Duration after_noon, std::string group, std::string file, std::string_view before,
                   std::string_view after) {
    AuditLine& made = audit.emplace_back();
    made.time = kNoon + after_noon;
    made.actor = "agent n1";
    made.verb = "write";
    made.kind = "CgroupFile";
    made.name = std::move(group);
    made.part = std::move(file);
    made.old_value = base::cat('"', before, '"');
    made.new_value = base::cat('"', after, '"');
    made.reason = "TM-SUPPRESS-001";
    return made;
  }
  std::string own_group() const { return base::cat("kubepods/burstable/pod", kUid); }

  IncidentReport judge(base::Duration from = 0min, base::Duration to = 5min) {
    const auto begins = audit.empty() ? std::nullopt : std::optional(audit.front().time);
    return judge_incident({"shop", "web-0", kNoon + from, kNoon + to}, {records, audit, begins, lost});
  }
  // "likely: cpuBeside, heldByOwn"
  std::string says(base::Duration from = 0min, base::Duration to = 5min) {
    const Json json = render_json(judge(from, to));
    std::vector<std::string> facts;
    for (const Json& each : json.member("findings")->as_array()) facts.emplace_back(each.text_at("fact"));
    return base::cat(json.text_at("verdict"), ": ", base::join(facts, ", "));
  }

  bool offline = false;
  std::vector<NodeRecord> records;
  std::vector<AuditLine> audit;
  std::uint64_t lost = 0;
};

TEST_F(IncidentTest, QuietTaskIsNotOurs) {
  EXPECT_EQ(says(), "notOurs: quiet");
  const auto report = judge();
  EXPECT_EQ(report.recorded, 5min);
  EXPECT_EQ(report.moments.size(), 10u);
  EXPECT_TRUE(report.moments[3].listed && report.moments[3].quiet) << "between two lines that are whole";
}

TEST_F(IncidentTest, WaitingBesideOfflineWorkIsLikelyOurs) {
  for (int i = 3; i <= 4; ++i) {
    task_in(i).cpu_pressure = 60 * i;
    line(i).offline_milli = 3000;
  }
  EXPECT_EQ(says(), "likely: cpuBeside");
  const auto found = judge().findings.at(0);
  EXPECT_EQ(found.from, kNoon + 60s);
  EXPECT_EQ(found.to, kNoon + 120s);
  EXPECT_EQ(found.average, 210);
  EXPECT_EQ(found.worst, 240);
  EXPECT_EQ(found.beside, 3000);
  EXPECT_EQ(says(2min, 5min), "notOurs: quiet") << "after that";
}

TEST_F(IncidentTest, WaitingForOnlineNeighboursIsNotOurs) {
  task_in(3).cpu_pressure = 300;
  line(3).offline_milli = 100;
  EXPECT_EQ(says(), "notOurs: cpuAlone");
}

TEST_F(IncidentTest, OwnLimitIsNotOurs) {
  task_in(3).throttled_permille = 400;
  EXPECT_EQ(says(), "notOurs: heldByOwn");
  task_in(3).cpu_pressure = 300;
  EXPECT_EQ(says(), "notOurs: heldByOwn") << "which is what it waited for";
  line(3).offline_milli = 3000;
  EXPECT_EQ(says(), "cannotTell: cpuHeldAndBeside, heldByOwn");
}

TEST_F(IncidentTest, QuotaThatWeSetIsOurs) {
  wrote(-5min, own_group(), "cpu.cfs_quota_us", "-1", "50000");
  task_in(3).throttled_permille = 400;
  EXPECT_EQ(says(), "ours: heldByOurs") << "set before the time, and in force";
  wrote(61s, own_group(), "cpu.cfs_quota_us", "50000", "-1");
  EXPECT_EQ(says(), "notOurs: heldByOwn") << "undone before the line ended";
}

// kube-proxy and other pods without requests share a cgroup with offline work.
TEST_F(IncidentTest, OnlineWorkWaitsInCgroupLimitedForOfflineWork) {
  wrote(-5min, "kubepods/besteffort", "cpu.cfs_quota_us", "-1", "2000");
  for (NodeRecord& record : records) {
    for (TaskRecord& each : record.tasks) each.group = "kubepods/besteffort";
  }
  EXPECT_EQ(says(), "notOurs: quiet") << "it did not wait";
  TaskRecord& waiting = task_in(3);
  waiting.group = "kubepods/besteffort";
  waiting.cpu_pressure = 300;
  waiting.cpu_peak_milli = 10;
  EXPECT_EQ(says(), "cannotTell: cpuUnderOurLimit") << "the rest of that limit is not recorded";
  line(3).offline_limit_milli = 20;
  EXPECT_EQ(says(), "cannotTell: cpuUnderOurLimit") << "others without requests may have used the rest";
  line(3).offline_peak_milli = 9;
  EXPECT_EQ(says(), "ours: cpuAtOurLimit");
  EXPECT_EQ(judge().findings.at(0).detail,
            "cpu.cfs_quota_us of kubepods/besteffort = 2000 (-1 before), TM-SUPPRESS-001");
  waiting.throttled_permille = 400;
  EXPECT_EQ(says(), "cannotTell: cpuUnderOurLimit, heldByOwn") << "the kernel does not distinguish the two";
  waiting.throttled_permille = 0;
  wrote(61s, "kubepods/besteffort", "cpu.cfs_quota_us", "2000", "-1");
  EXPECT_EQ(says(), "notOurs: cpuAlone") << "undone before the line ended";
}

TEST_F(IncidentTest, OnlineWorkWaitsOnCpusetThatWeReduced) {
  wrote(-5min, own_group(), "cpuset.cpus", "0-7", "0-1");  // version 1: each pod below has its own cpuset
  task_in(3).cpu_pressure = 300;
  task_in(3).cpu_peak_milli = 200;
  line(3).offline_milli = line(3).offline_peak_milli = 1700;
  EXPECT_EQ(says(), "likely: cpuBeside");
  line(3).offline_limit_milli = 2000;
  EXPECT_EQ(says(), "ours: cpuAtOurLimit");
}

TEST_F(IncidentTest, ReducedLimitIsOurs) {
  wrote(1min, own_group() + "/container", "cpu.shares", "1024", "2");
  EXPECT_EQ(says(), "ours: narrowed");
  audit.back().outcome = model::AuditOutcome::kRefused;
  EXPECT_EQ(says(), "notOurs: quiet") << "the kernel refused it";
  audit.back().outcome = model::AuditOutcome::kDone;
  audit.back().name = "kubepods/burstable";
  EXPECT_EQ(says(), "ours: narrowed") << "above it";
  audit.back().name = "kubepods/besteffort";
  EXPECT_EQ(says(), "notOurs: quiet") << "of another writer";
  EXPECT_EQ(judge().deeds.size(), 1u) << "and listed all the same";
}

TEST_F(IncidentTest, RecognizesSystemdCgroupNames) {
  records.front().tasks.front().group = "kubepods.slice/kubepods-burstable.slice";
  line(8).tasks.front().group = "kubepods.slice/kubepods-burstable.slice";
  wrote(1min,
        "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod11111111_2222_3333_4444_555555555555.slice",
        "cpu.max", "max 100000", "50000 100000");
  EXPECT_EQ(says(), "ours: narrowed");
}

TEST_F(IncidentTest, EvictionIsOurs) {
  AuditLine& asked = wrote(2min, "web-0", "eviction", "", "");
  asked.verb = "create";
  asked.kind = "Pod";
  asked.ns = "shop";
  asked.reason = "TM-EVICT-001";
  task_in(4).ended = true;
  line(8).tasks.clear();
  EXPECT_EQ(says(), "ours: ended");
  EXPECT_EQ(judge().findings.at(0).detail, "evict, TM-EVICT-001");
  EXPECT_FALSE(judge().moments.back().listed) << "after its end it is not quiet but gone";
  asked.outcome = model::AuditOutcome::kRefused;
  EXPECT_EQ(says(), "notOurs: quiet") << "its disruption budget forbade it";
  asked.name = "web-1";
  EXPECT_EQ(judge().deeds.at(0).what, "evict");
  EXPECT_FALSE(judge().deeds.at(0).own);
}

TEST_F(IncidentTest, LimitedOfflineWorkWaitsByDesign) {
  offline = true;
  for (NodeRecord& each : records) {
    if (each.whole) each.tasks = {task()};
  }
  task_in(3).cpu_pressure = 700;
  line(3).offline_milli = 900;
  line(3).offline_peak_milli = 1000;
  EXPECT_EQ(says(), "notOurs: cpuAlone") << "no limit is in force";
  line(3).offline_limit_milli = 1000;
  EXPECT_EQ(says(), "ours: offlineLimited");
  line(3).offline_limit_milli = 4000;
  EXPECT_EQ(says(), "notOurs: cpuAlone") << "the limit is far away";
}

TEST_F(IncidentTest, OomKillBelongsToTheOwnerOfTheLimit) {
  task_in(3).oom_kills = 1;
  EXPECT_EQ(says(), "cannotTell: oomUntold");
  line(3).events.push_back({kNoon + 80s, std::string(model::kOomKillEvent), "java", "shop/web-0", "shop/web-0"});
  EXPECT_EQ(says(), "notOurs: oomAtOwnLimit");
  wrote(-1min, own_group(), "memory.limit_in_bytes", "9223372036854771712", "500");
  EXPECT_EQ(says(), "ours: oomAtOurLimit");
  line(3).events[0].limit.clear();
  EXPECT_EQ(says(), "notOurs: oomOfMachineAlone");
  line(3).offline_memory = 300;
  EXPECT_EQ(says(), "likely: oomOfMachine");
}

TEST_F(IncidentTest, MemoryAndDisks) {
  task_in(3).memory_pressure = 100;
  EXPECT_EQ(says(), "notOurs: memoryAlone");
  line(3).offline_memory = 300;
  EXPECT_EQ(says(), "likely: memoryBeside");
  task_in(3).limit_hits = 4;
  EXPECT_EQ(says(), "notOurs: limitHit") << "it reclaims from itself";
  task_in(3) = task();
  task_in(3).io_pressure = 100;
  EXPECT_EQ(says(), "cannotTell: ioUnknown");
  line(3).disk_bytes = 1000;
  line(3).offline_disk_bytes = 100;
  EXPECT_EQ(says(), "notOurs: ioAlone");
  line(3).offline_disk_bytes = 400;
  EXPECT_EQ(says(), "likely: ioBeside");
}

TEST_F(IncidentTest, MissingRecordsAreNeverNotOurs) {
  for (NodeRecord& each : records) each.tasks_pressure = false;
  EXPECT_EQ(says(), "cannotTell: pressureUnknown");
  task_in(3).run_queue = 900;
  task_in(3).run_queue_worst = 30;
  line(3).offline_milli = 3000;
  EXPECT_EQ(says(), "cannotTell: pressureUnknown") << "many that waited a little";
  task_in(3).run_queue_worst = 300;
  EXPECT_EQ(says(), "likely: cpuBeside, pressureUnknown") << "processes report it if cgroups do not";
  task_in(3).run_queue = task_in(3).run_queue_worst = 0;
  line(3).offline_milli = 0;
  for (NodeRecord& each : records) each.tasks_pressure = true;
  lost = 3;
  EXPECT_EQ(says(), "cannotTell: linesLost, quiet");
  lost = 0;
  const auto all = records;
  std::erase_if(records, [](const NodeRecord& each) { return each.time > kNoon + 1min && each.time < kNoon + 3min; });
  EXPECT_EQ(says(), "cannotTell: gaps, quiet");
  records = all;
  for (NodeRecord& each : records) each.tasks.clear();
  EXPECT_EQ(says(), "cannotTell: absent");
  records.clear();
  EXPECT_EQ(says(), "cannotTell: gaps");
  audit.clear();
  EXPECT_EQ(says(), "cannotTell: gaps, auditShort");
}

TEST_F(IncidentTest, ReportsKernelTrouble) {
  line(3).events.push_back({kNoon + 80s, "hung task", "java", "", ""});
  EXPECT_EQ(says(), "notOurs: kernel");
  EXPECT_EQ(says(2min, 5min), "notOurs: quiet");
}

// A StatefulSet's pod: the same name, another uid.
TEST_F(IncidentTest, LaterPodOfTheSameNameIsAnotherOne) {
  line(8).tasks.front().task = "later";
  EXPECT_EQ(judge(0min, 3min).task, kUid);
  EXPECT_EQ(judge(0min, 5min).task, "later");
}

TEST_F(IncidentTest, WritesOfOneFileAreOneRow) {
  for (int i = 0; i < 20; ++i) {
    wrote(i * 1s, "kubepods/besteffort", "cpu.cfs_quota_us", base::cat(1000 + i), base::cat(1001 + i));
  }
  const auto report = judge();
  ASSERT_EQ(report.deeds.size(), 1u);
  EXPECT_EQ(report.deeds[0].before, "1000");
  EXPECT_EQ(report.deeds[0].after, "1020");
  EXPECT_EQ(report.deeds[0].times, 20);
}

TEST(IncidentDeeds, RecognizesReducedLimits) {
  EXPECT_EQ(narrows("cpu.cfs_quota_us", "-1", "100"), true);
  EXPECT_EQ(narrows("cpu.cfs_quota_us", "100", "-1"), false);
  EXPECT_EQ(narrows("cpu.cfs_quota_us", "100", "200"), false);
  EXPECT_EQ(narrows("cpu.max", "max 100000", "100000 100000"), true);
  EXPECT_EQ(narrows("cpu.shares", "1024", "2"), true);
  EXPECT_EQ(narrows("cpu.idle", "0", "1"), true);
  EXPECT_EQ(narrows("cpu.idle", "1", "0"), false);
  EXPECT_EQ(narrows("cpu.bvt_warp_ns", "0", "-1"), true);
  EXPECT_EQ(narrows("cpu.bvt_warp_ns", "-1", "2"), false);
  EXPECT_EQ(narrows("cpuset.cpus", "0-7", "0-3,6"), true);
  EXPECT_EQ(narrows("cpuset.cpus", "0", "0-1"), false);
  EXPECT_EQ(narrows("memory.low", "100", "0"), true);
  EXPECT_EQ(narrows("cpuset.cpus", "a", "0-1"), std::nullopt);
  EXPECT_EQ(narrows("cpu.shares", "", "2"), std::nullopt);
}

// The whole page, as a user reads it.
TEST_F(IncidentTest, OnePage) {
  line(3).offline_milli = 3000;
  line(3).offline_limit_milli = 4000;
  task_in(3).cpu_pressure = 180;
  task_in(3).cpu_milli = 1250;
  task_in(3).cpu_peak_milli = 2000;
  wrote(70s, "kubepods/besteffort", "cpu.cfs_quota_us", "-1", "400000");
  EXPECT_EQ(render_text(judge(1min, 2min)),
            R"(shop/web-0 on n1
2026-11-23T12:01:00Z to 2026-11-23T12:02:00Z

was it us?  likely: it waited for resources that offline work used

  LIKELY       12:01:00 to 12:01:30  waited for processors 18.0 % of the time, 18.0 % at its worst; offline work had up to 3.00 of 8.00 cores

1m0s of 1m0s recorded; suppression: enforce; audit from 2026-11-23T11:50:00Z

record of n1, lines that end at (UTC)
            CORES  OFFLINE    LIMIT   ITS CPU/PEAK    HELD  CPU WAIT MEM WAIT  IO WAIT
  12:01:30     6.00     3.00     4.00     1.25/2.00    0.0 %   18.0 %    0.0 %    0.0 %
  12:02:00     6.00     0.00        -             -     <1 %     <1 %     <1 %     <1 %

what Tidemark did on the node in that time
  12:01:10  write kubepods/besteffort cpu.cfs_quota_us -1 -> 400000  TM-SUPPRESS-001
)");
}

TEST_F(IncidentTest, ShowsRareColumnsIfARecordHasThem) {
  const std::string plain = render_text(judge(1min, 2min));
  EXPECT_FALSE(plain.contains("QUEUE") || plain.contains("CPI"));
  task_in(3).run_queue = 150;
  task_in(3).cpi = 1450;
  const std::string page = render_text(judge(1min, 2min));
  EXPECT_TRUE(page.contains("IO WAIT  QUEUE    CPI\n")) << page;
  EXPECT_TRUE(page.contains("0.0 %   0.15   1.45\n")) << page;
}

TEST_F(IncidentTest, ALongTimeStaysOnePage) {
  NodeRecord record = line(1);
  record.tasks = {task()};
  for (int i = 11; i < 400; ++i) {
    record.time = kNoon + i * 30s;
    record.tasks[0].cpu_pressure = i;
    records.push_back(record);
    wrote(i * 30s, base::cat("kubepods/besteffort/pod", i), "cpu.shares", "1024", "2");
  }
  const std::string page = render_text(judge(0min, 3h));
  EXPECT_LT(std::ranges::count(page, '\n'), 60);
  EXPECT_NE(page.find("in which it was throttled less; -o json shows all"), std::string::npos) << page;
  EXPECT_EQ(render_json(judge(0min, 3h)).member("deeds")->as_array().size(), 350u);
}

}  // namespace
}  // namespace tidemark::policy::explain
