#include "policy/settings/nodeslo/line_caps.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tidemark::policy::settings {
namespace {

using namespace std::chrono_literals;

const base::WallTime kLineCapsSix = *base::parse_rfc3339("2026-11-22T06:00:00Z");
constexpr std::string_view kStrategy =
    R"({"cpuSuppressThresholdPercent":65,"memoryEvictThresholdPercent":70,"memoryEvictLowerPercent":65})";

waterline::LineFall fall(base::WallTime at, std::int64_t cpu, std::int64_t memory) {
  model::LinePlan line;
  line.cpu.base = line.memory.base = 60;
  line.cpu.hold = cpu;
  line.memory.hold = memory;
  return {at, line};
}

std::string json_of(const std::vector<model::LineCap>& caps) {
  std::string text;
  base::JsonWriter json(text);
  json.begin_object().member("schema", 1);
  write_line_caps(json, caps);
  json.end_object();
  return text;
}

std::string caps_text(SloShift now, const std::vector<waterline::LineFall>& falls) {
  return json_of(line_caps(Json::parse(kStrategy)->as_object(), now, falls));
}

TEST(LineCaps, PublishesDayThresholdsAtNight) {
  EXPECT_EQ(caps_text({20, 10}, {fall(kLineCapsSix, 60, 60)}),
            R"({"schema":1,"lines":[{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":65,)"
            R"("memoryEvictThresholdPercent":70,"memoryEvictLowerPercent":65}]})");
}

TEST(LineCaps, NamesOnlyFallingThresholds) {
  EXPECT_EQ(caps_text({20, -10}, {fall(kLineCapsSix, 60, 60)}),
            R"({"schema":1,"lines":[{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":65}]})")
      << "a line that was lowered stays";
  EXPECT_EQ(caps_text({-20, -20}, {}), R"({"schema":1,"lines":[]})");
}

TEST(LineCaps, EachStepIsLowerThanAllBeforeIt) {
  EXPECT_EQ(caps_text({20, 0},
                      {fall(kLineCapsSix, 70, 60), fall(kLineCapsSix + 1h, 70, 60), fall(kLineCapsSix + 2h, 40, 60)}),
            R"({"schema":1,"lines":[{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":75},)"
            R"({"from":"2026-11-22T08:00:00Z","cpuSuppressThresholdPercent":45}]})");
}

TEST(LineCaps, LowersToTheConfiguredValueIfThereAreTooMany) {
  std::vector<waterline::LineFall> many;
  for (int i = 1; i < 30; ++i) many.push_back(fall(kLineCapsSix + i * 1min, 90 - i, 60));
  const auto caps = line_caps(Json::parse(kStrategy)->as_object(), {30, 0}, many);
  ASSERT_EQ(caps.size(), kLineCapsMax);
  EXPECT_EQ(caps.back().lines, (std::vector<model::CappedLine>{{"cpuSuppressThresholdPercent", 65}}));
}

TEST(LineCaps, ReadsWhatItWrote) {
  const auto caps = line_caps(Json::parse(kStrategy)->as_object(), {20, 10},
                              std::vector{fall(kLineCapsSix, 70, 60), fall(kLineCapsSix + 1h, 60, 60)});
  EXPECT_EQ(read_line_caps(*Json::parse(json_of(caps))).value(), caps);
  EXPECT_TRUE(read_line_caps(*Json::parse("{}")).value().empty());
}

TEST(LineCaps, RejectsInvalidTextAsAWholeAndNamesThePlace) {
  const auto refused = [](std::string_view lines, int schema = 1) {
    const auto read = read_line_caps(*Json::parse(base::cat(R"({"schema":)", schema, R"(,"lines":)", lines, "}")));
    return read ? std::string("read") : read.error().message;
  };
  EXPECT_EQ(refused(R"([{"from":"2026-11-22T06:00:00Z","aNewLine":5}])"), "read");
  EXPECT_EQ(refused("7"), "lines: wanted a list");
  EXPECT_EQ(refused(R"([{"from":"2026-11-22T06:00:00Z"},{"from":"soon"}])"), "lines[1]: from: wanted a time");
  EXPECT_EQ(refused(R"([{"from":"2026-11-22T06:00:00Z","cpuSuppressThresholdPercent":101}])"),
            "lines[0]: cpuSuppressThresholdPercent: wanted 0 to 100");
  EXPECT_EQ(refused("[]", 2), "written with schema 2; this version reads 1");
  std::string many = "[";
  for (std::size_t i = 0; i <= kLineCapsMax; ++i) many += (i == 0 ? "" : ",") + std::string("{}");
  EXPECT_EQ(refused(many + "]"), "lines: at most 16, found 17");
}

}  // namespace
}  // namespace tidemark::policy::settings
