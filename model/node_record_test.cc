#include "model/node_record.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace tidemark::model {
namespace {

using namespace std::chrono_literals;

NodeRecord a_record() {
  NodeRecord record;
  record.time = *base::parse_rfc3339("2026-11-23T20:15:30Z");
  record.node = "n1";
  record.over = 30s;
  record.whole = true;
  record.permit = "enforce";
  record.cpus = 8;
  record.cpu_milli = 5200;
  record.cpu_peak_milli = 7900;
  record.offline_milli = 2100;
  record.offline_peak_milli = 3000;
  record.offline_limit_milli = 4000;
  record.memory_total = 1000;
  record.memory_used = 600;
  record.offline_memory = 100;
  record.cpu_pressure = 12;
  record.tasks_pressure = true;
  record.disk_bytes = 50;
  record.offline_disk_bytes = 20;
  TaskRecord task;
  task.source = "kubernetes";
  task.ns = "shop";
  task.name = "web-0";
  task.task = "u1";
  task.group = "kubepods/burstable";
  task.cpu_milli = 800;
  task.cpu_peak_milli = 1900;
  task.throttled_permille = 120;
  task.oom_kills = 1;
  record.tasks.push_back(task);
  record.events.push_back({record.time, std::string(kOomKillEvent), "java", "shop/web-0", "shop/web-0"});
  return record;
}

TEST(NodeRecord, OmitsEmptyValues) {
  EXPECT_EQ(to_line(a_record()),
            R"({"schema":1,"time":"2026-11-23T20:15:30.000000Z","node":"n1","milliseconds":30000,"whole":true,)"
            R"("permit":"enforce","cpus":8,)"
            R"("cpu":{"used":5200,"peak":7900,"offline":2100,"offlinePeak":3000,"limit":4000},)"
            R"("memory":{"total":1000,"used":600,"offline":100},"pressure":{"cpu":12},"tasksPressure":true,)"
            R"("disk":{"tasks":50,"offline":20},"tasks":[{"source":"kubernetes","namespace":"shop","name":"web-0",)"
            R"("task":"u1","group":"kubepods/burstable","cpu":800,"cpuPeak":1900,"throttled":120,"oomKills":1}],)"
            R"("events":[{"time":"2026-11-23T20:15:30.000000Z","what":"oom kill","process":"java",)"
            R"("task":"shop/web-0","limit":"shop/web-0"}]})");
}

TEST(NodeRecord, ReadsWhatItWrote) {
  NodeRecord record = a_record();
  for (const bool more : {false, true}) {
    if (more) {
      record.tasks[0].name = "two\nlines \"quoted\"";
      record.tasks[0].offline = record.tasks[0].ended = true;
      record.tasks[0].limit_hits = 3;
      record.tasks[0].work_class = "spark";
      record.tasks[0].limits = {{"", "cpu.shares", "512", "inForce", "TM-LIMIT-001"},
                                {"main", "cpu.cfs_quota_us", "-1", "refused", "TM-KNOB-003"}};
      record.io_pressure = record.memory_pressure = 999;
      record.cpu_milli.reset();
      record.events.clear();
      record.classes = {{"spark", 900, 1200, 450}, {"transcode", 0, 100, std::nullopt}};
    }
    const std::string line = to_line(record);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const auto read = parse_node_record(line);
    ASSERT_TRUE(read) << read.error().message;
    EXPECT_EQ(read->record, record);
    EXPECT_EQ(read->lost, 0u);
  }
}

TEST(NodeRecord, RejectsUnreadableLinesWithAReason) {
  const auto refusal = [](std::string_view line) {
    const auto read = parse_node_record(line);
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(parse_node_record(node_record_lost_line(5))->lost, 5u);
  EXPECT_EQ(refusal(R"({"schema":7,"time":"2026-11-23T20:15:30Z"})"), "a record of schema 7, and this program reads 1");
  EXPECT_EQ(refusal(R"({"schema":1})"), "missing time");
  EXPECT_EQ(refusal(R"({"schema":1,"time":"2026-11-23T20:15:30Z","milliseconds":100000000})"),
            "a record over 100000000 ms; at most one day");
  EXPECT_NE(refusal(R"({"schema":1,"time":"2026-11-23T20:15:30Z","cpu":{"used":-1}})").find("a negative number"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"schema":1,"time":"yesterday"})").find("no time"), std::string::npos);
  EXPECT_TRUE(parse_node_record(R"({"schema":1,"time":"2026-11-23T20:15:30Z","newer":{"a":[1]},"tasks":[{"b":2}]})"));
}

}  // namespace
}  // namespace tidemark::model
