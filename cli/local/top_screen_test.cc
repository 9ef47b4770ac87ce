#include "cli/local/top_screen.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/local/top.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

TopValues busy() {
  TopValues values;
  values.now = *base::parse_rfc3339("2026-11-23T12:00:00Z");
  values.node = "big";
  values.isolation = "agent: Enforcing";
  values.age = 10s;
  values.capacity = {{32'000}, {128 * kGi}};
  values.parts = {{'o', "online", {{10'200}, {40 * kGi}}},
                  {'b', "batch", {{8'100}, {12 * kGi}}},
                  {'s', "system", {{2'700}, {4 * kGi}}}};
  values.line_cpu_percent = 65;
  values.line_memory_percent = 70;
  values.batch = {{{9'000}, {20 * kGi}}, {{9'500}, {30 * kGi}}};
  values.offline_limit_milli = 8'250;
  values.limited = {{"train-x7k2pq", "", "held to a quota 40 % of the time"}};
  values.queue = {{"1 fit", "2 cores, 4Gi, 30m0s", "batch-cpu: 500m of 2 left"},
                  {"2 other", "12 cores, 1Gi, 5s", "behind fit"}};
  values.evicted = {{"default/old", "2026-11-23T11:00:00Z", "memory [TM-EVICT-001]"}};
  return values;
}

std::string text(const TopValues& values, std::size_t width, std::size_t height = 0) {
  return base::join(top_screen(values, width, height), "\n") + "\n";
}

TEST(TopScreenTest, ABusyMachine) {
  EXPECT_EQ(text(busy(), 80),
            R"(tidemark  big  2026-11-23T12:00:00Z  agent: Enforcing

CPU  [oooooooooooooooooobbbbbbbbbbbbbbbsssss|...................]  21 of 32
     o online 10.2  b batch 8.1  s system 2.7  . idle 11  | line 65 %
MEM  [oooooooooooooooooobbbbbbs................|................]  56Gi of 128Gi
     o online 40Gi  b batch 12Gi  s system 4Gi  . idle 72Gi  | line 70 %
SOLD 9 of 9.5 cores, 20Gi of 30Gi to batch work; it may use 8.25 cores now

LIMITED  1
  train-x7k2pq  held to a quota 40 % of the time
QUEUE  2
  1 fit    2 cores, 4Gi, 30m0s  batch-cpu: 500m of 2 left
  2 other  12 cores, 1Gi, 5s    behind fit
EVICTED  1
  default/old  2026-11-23T11:00:00Z  memory [TM-EVICT-001]
)");
}

TEST(TopScreenTest, ShowsSoldMidIfAny) {
  TopValues values = busy();
  EXPECT_EQ(text(values, 80).find("mid work"), std::string::npos);
  values.mid.sellable = {{1'500}, {4 * kGi}};
  EXPECT_NE(text(values, 80)
                .find("to batch work; it may use 8.25 cores now\n"
                      "     0 of 1.5 cores, 0 of 4Gi to mid work\n"),
            std::string::npos)
      << text(values, 80);
  values.mid = {{{500}, {kGi}}, {}};  // sold before the offer was withdrawn
  EXPECT_NE(text(values, 80).find("     0.5 of 0 cores, 1Gi of 0 to mid work\n"), std::string::npos);
}

TEST(TopScreenTest, EmptyMachine) {
  TopValues values;
  values.node = "big";
  values.now = *base::parse_rfc3339("2026-11-23T12:00:00Z");
  values.capacity = {{32'000}, {128 * kGi}};
  EXPECT_EQ(text(values, 80), R"(tidemark  big  2026-11-23T12:00:00Z

nothing was measured yet, of 32 cores and 128Gi
SOLD 0 of 0 cores, 0 of 0 to batch work

LIMITED  none
QUEUE  none waits
EVICTED  none lately
)");
  EXPECT_EQ(top_screen({}, 80, 0)[0], "tidemark  no node yet");
}

TEST(TopScreenTest, FitsWidthAndHeight) {
  TopValues values = busy();
  for (int i = 0; i < 40; ++i) values.queue.push_back({base::cat("3 warteschlange-ä", i), "", std::string(200, 'x')});
  for (const std::size_t width : {1u, 20u, 60u, 79u, 80u, 200u, 500u}) {
    for (const std::size_t height : {1u, 5u, 12u, 24u, 100u}) {
      const auto lines = top_screen(values, width, height);
      EXPECT_LE(lines.size(), height);
      for (const std::string& line : lines) {
        const auto columns =
            std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
        EXPECT_LE(static_cast<std::size_t>(columns), width) << line;
        EXPECT_TRUE(base::valid_utf8(line)) << line;
      }
    }
  }
}

TEST(TopScreenTest, LowScreenShowsFirstOfEachList) {
  TopValues values = busy();
  for (int i = 3; i < 30; ++i) values.queue.push_back({base::cat(i, " more"), "", ""});
  const auto lines = top_screen(values, 80, 20);
  EXPECT_EQ(lines.size(), 20u);
  EXPECT_EQ(lines[15], "  5 more");
}

TEST(TopScreenTest, ExtremeNumbersStayInTheBar) {
  TopValues values = busy();
  const auto most = std::numeric_limits<std::int64_t>::max();
  values.parts[0].used = {{most}, {most}};
  values.parts[1].used = {{most}, {-5}};
  values.line_cpu_percent = most;
  for (const std::string& line : top_screen(values, 80, 0)) EXPECT_LE(line.size(), 80u);
  values.capacity = {};
  for (const std::string& line : top_screen(values, 80, 0)) EXPECT_LE(line.size(), 80u);
}

TEST(TopScreenTest, ShowsProblemsFirst) {
  TopValues values = busy();
  values.trouble = "the server\nis away";
  EXPECT_EQ(top_screen(values, 80, 0)[1], "! the server is away");
}

TEST(TopScreenTest, Json) {
  const Json json = top_json(busy());
  EXPECT_EQ(*json.at("cpu", "usedMilli", "batch"), Json(8100));
  EXPECT_EQ(*json.at("measuredSecondsAgo"), Json(10));
  EXPECT_EQ(json.at("queue")->as_array().size(), 2u);
  EXPECT_EQ(*json.at("sold", "cpuMilli"), Json(9000));
  EXPECT_EQ(*json.at("midSold", "cpuMilli"), Json(0));
}

TEST(TopEvictedTest, ByTheAudit) {
  const std::string_view lines[] = {
      R"({"schema":1,"time":"2026-11-23T12:00:00.000000Z","actor":"agent big","verb":"create","object":{"kind":"Pod","namespace":"default","name":"b","part":"eviction"},"old":null,"new":null,"reason":"TM-EVICT-001","config":null,"trace":null,"outcome":"refused","milliseconds":1})",
      "torn",
      R"({"schema":1,"time":"2026-11-23T11:00:00.000000Z","actor":"agent big","verb":"write","object":{"kind":"CgroupFile","name":"eviction"},"old":null,"new":null,"reason":null,"config":null,"trace":null,"outcome":"done","milliseconds":1})",
      R"({"schema":1,"time":"2026-11-23T10:00:00.000000Z","actor":"agent big","verb":"create","object":{"kind":"Pod","namespace":"default","name":"a","part":"eviction"},"old":null,"new":null,"reason":"TM-EVICT-001","config":null,"trace":null,"outcome":"done","milliseconds":1})"};
  const auto rows = evicted_by(lines);
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].name, "default/a");
  EXPECT_EQ(rows[0].what, "2026-11-23T10:00:00Z");
  EXPECT_TRUE(rows[0].why.ends_with("[TM-EVICT-001]")) << rows[0].why;
  EXPECT_GT(rows[0].why.size(), 20u);
}

// As agent/evict writes them: a container of YARN that did not listen has two lines, one that its copilot could not be
// asked for has none that is done.
TEST(TopEvictedTest, CountsEachCopilotContainerOnce) {
  const auto line = [](std::string_view time, std::string_view verb, std::string_view name, std::string_view outcome) {
    return base::cat(R"({"schema":1,"time":"2026-11-23T)", time, R"(:00.000000Z","actor":"agent big","verb":")", verb,
                     R"(","object":{"kind":"CopilotTask","name":")", name,
                     R"("},"old":null,"new":null,"reason":"TM-EVICT-001","config":null,"trace":null,"outcome":")",
                     outcome, R"(","milliseconds":1})");
  };
  const std::string texts[] = {
      line("12:02", "stop", "container_3", "unknown"), line("12:01", "kill", "container_1", "done"),
      line("12:00", "stop", "container_2", "done"), line("11:59", "stop", "container_1", "done")};
  const std::vector<std::string_view> lines(std::begin(texts), std::end(texts));
  const auto rows = evicted_by(lines);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, "container_1");
  EXPECT_EQ(rows[0].what, "2026-11-23T12:01:00Z");
  EXPECT_EQ(rows[1].name, "container_2");
}

}  // namespace
}  // namespace tidemark::cli
