#include "base/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <thread>

#include "base/text.h"

namespace tidemark::base {
namespace {

TEST(Metrics, TextIsSortedByNameAndSeries) {
  Registry registry;
  registry.gauge("tidemark_z_bytes", "Last.").set(1.5);
  registry.counter("tidemark_a_total", "First.", {{"side", "yarn"}}).add(2);
  registry.counter("tidemark_a_total", "First.", {{"side", "kube"}}).add();
  EXPECT_EQ(registry.text(),
            "# HELP tidemark_a_total First.\n"
            "# TYPE tidemark_a_total counter\n"
            "tidemark_a_total{side=\"kube\"} 1\n"
            "tidemark_a_total{side=\"yarn\"} 2\n"
            "# HELP tidemark_z_bytes Last.\n"
            "# TYPE tidemark_z_bytes gauge\n"
            "tidemark_z_bytes 1.5\n");
}

TEST(Metrics, SeriesByPoolOrClassAreOnThePageOfOfflineWork) {
  Registry registry;
  registry.counter("tidemark_a_total", "A.", {{"component", "x"}}).add();
  registry.gauge("tidemark_b", "B.", {{"pool", "night"}}).set(1);
  registry.gauge("tidemark_c", "C.", {{"reason", "r"}, {"class", "spark"}}).set(1);
  EXPECT_EQ(registry.text(Page::kComponent),
            "# HELP tidemark_a_total A.\n# TYPE tidemark_a_total counter\ntidemark_a_total{component=\"x\"} 1\n");
  EXPECT_EQ(registry.text(Page::kOffline),
            "# HELP tidemark_b B.\n# TYPE tidemark_b gauge\ntidemark_b{pool=\"night\"} 1\n"
            "# HELP tidemark_c C.\n# TYPE tidemark_c gauge\ntidemark_c{class=\"spark\",reason=\"r\"} 1\n");
}

TEST(Metrics, EmptyRegistryIsAnEmptyPage) {
  EXPECT_EQ(Registry().text(), "");
}

TEST(Metrics, EscapesValuesAndHelpAsTheFormatTells) {
  Registry registry;
  registry.gauge("g", "back\\slash \"quoted\"\nsecond line", {{"v", "a\\b\"c\nd"}}).set(0);
  EXPECT_EQ(registry.text(),
            "# HELP g back\\\\slash \"quoted\"\\nsecond line\n"
            "# TYPE g gauge\n"
            "g{v=\"a\\\\b\\\"c\\nd\"} 0\n");
}

TEST(Metrics, ValuesThatAreNotUtf8OrTooLongDoNotSpoilThePage) {
  Registry registry;
  registry.counter("c", "h", {{"v", "a\xff"}}).add();
  EXPECT_NE(registry.text().find("c{v=\"a?\"} 1"), std::string::npos) << registry.text();

  std::string lengthy(Registry::kLabelValueMax - 1, 'x');
  lengthy += "é";  // the limit falls inside the character
  registry.counter("d", "h", {{"v", lengthy}}).add();
  EXPECT_TRUE(valid_utf8(registry.text()));
  EXPECT_NE(registry.text().find(std::string(Registry::kLabelValueMax - 1, 'x') + "\"} 1"), std::string::npos);
}

TEST(Metrics, SpecialNumbersAreSpelledAsPrometheusReadsThem) {
  Registry registry;
  registry.gauge("a", "h").set(std::nan(""));
  registry.gauge("b", "h").set(HUGE_VAL);
  registry.gauge("c", "h").set(-HUGE_VAL);
  registry.gauge("d", "h").set(0.1);
  const std::string text = registry.text();
  for (const char* line : {"\na NaN\n", "\nb +Inf\n", "\nc -Inf\n", "\nd 0.1\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST(Metrics, HistogramHasBucketsInfSumAndCount) {
  Registry registry;
  Histogram& histogram = registry.histogram("tidemark_wait_seconds", "Waits.", {0.1, 1, 10}, {{"side", "kube"}});
  for (const double value : {0.05, 0.1, 0.5, 100.0}) histogram.observe(value);
  histogram.observe(std::nan(""));
  EXPECT_EQ(registry.text(),
            "# HELP tidemark_wait_seconds Waits.\n"
            "# TYPE tidemark_wait_seconds histogram\n"
            "tidemark_wait_seconds_bucket{side=\"kube\",le=\"0.1\"} 2\n"
            "tidemark_wait_seconds_bucket{side=\"kube\",le=\"1\"} 3\n"
            "tidemark_wait_seconds_bucket{side=\"kube\",le=\"10\"} 3\n"
            "tidemark_wait_seconds_bucket{side=\"kube\",le=\"+Inf\"} 4\n"
            "tidemark_wait_seconds_sum{side=\"kube\"} 100.65\n"
            "tidemark_wait_seconds_count{side=\"kube\"} 4\n");
}

TEST(Metrics, HistogramWithoutLabelsOrBounds) {
  Registry registry;
  registry.histogram("h", "x", {}).observe(2);
  EXPECT_NE(registry.text().find("h_bucket{le=\"+Inf\"} 1\nh_sum 2\nh_count 1\n"), std::string::npos);
}

TEST(Metrics, SameNameAndLabelsInAnyOrderAreOneSeries) {
  Registry registry;
  Counter& one = registry.counter("c", "h", {{"a", "1"}, {"b", "2"}});
  Counter& same = registry.counter("c", "other help", {{"b", "2"}, {"a", "1"}});
  EXPECT_EQ(&one, &same);
  EXPECT_NE(&one, &registry.counter("c", "h", {{"a", "1"}, {"b", "3"}}));
  EXPECT_NE(registry.text().find("# HELP c h\n"), std::string::npos);
}

// A value with a quote in it must not look like two labels.
TEST(Metrics, ValuesCannotForgeLabels) {
  Registry registry;
  Counter& forged = registry.counter("c", "h", {{"a", "1\",b=\"2"}});
  EXPECT_NE(&forged, &registry.counter("c", "h", {{"a", "1"}, {"b", "2"}}));
}

TEST(Metrics, ALabelGoneWildEndsInOneOverflowSeries) {
  Registry registry;
  for (std::size_t i = 0; i < Registry::kSeriesMax + 50; ++i) {
    const std::string value = cat(i);
    registry.counter("c", "h", {{"user", value}, {"side", "kube"}}).add();
  }
  const std::string text = registry.text();
  EXPECT_NE(text.find("c{side=\"overflow\",user=\"overflow\"} 50\n"), std::string::npos);
  EXPECT_NE(text.find("user=\"999\"} 1\n"), std::string::npos);
  EXPECT_EQ(text.find("user=\"1000\""), std::string::npos);
  registry.counter("c", "h", {{"user", "5"}, {"side", "kube"}}).add();
  EXPECT_NE(registry.text().find("user=\"5\"} 2\n"), std::string::npos) << "known series go on";
  registry.counter("other", "h", {{"user", "1000"}}).add();
  EXPECT_NE(registry.text().find("other{user=\"1000\"} 1\n"), std::string::npos) << "the limit is a name's own";
}

TEST(MetricsDeathTest, ConfusedNamesAreBugs) {
  Registry registry;
  registry.counter("c", "h");
  EXPECT_DEATH(registry.gauge("c", "h"), "two kinds");
  registry.histogram("h", "h", {1, 2});
  EXPECT_DEATH(registry.histogram("h", "h", {1, 3}), "two lists of bounds");
  EXPECT_DEATH(registry.counter("1c", "h"), "not a metric name");
  EXPECT_DEATH(registry.counter("d-e", "h"), "not a metric name");
  EXPECT_DEATH(registry.counter("d", "h", {{"a-b", "x"}}), "label name");
  EXPECT_DEATH(registry.counter("d", "h", {{"le", "x"}}), "label name");
  EXPECT_DEATH(registry.counter("d", "h", {{"a", "x"}, {"a", "y"}}), "twice");
  EXPECT_DEATH(Histogram({2, 1}), "must rise");
  EXPECT_DEATH(Histogram({1, HUGE_VAL}), "Inf");
}

TEST(ConcurrentMetrics, NothingIsLostAndThePageIsAlwaysWhole) {
  Registry registry;
  constexpr int kThreads = 4, kRounds = 2000;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&registry, t] {
      const std::string mine = cat(t);
      for (int i = 0; i < kRounds; ++i) {
        registry.counter("shared_total", "h").add();
        registry.counter("own_total", "h", {{"side", mine}}).add();
        registry.gauge("level", "h").add(1);
        registry.histogram("wait_seconds", "h", {1, 2}).observe(t);
      }
    });
  }
  // A scrape in the middle: the count is the last bucket, always.
  for (int i = 0; i < 50; ++i) {
    const Histogram::Snapshot now = registry.histogram("wait_seconds", "h", {1, 2}).snapshot();
    EXPECT_LE(now.cumulative[0], now.cumulative[1]);
    EXPECT_LE(now.cumulative[1], now.cumulative[2]);
    EXPECT_TRUE(registry.text().ends_with("\n"));
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.counter("shared_total", "h").value(), static_cast<std::uint64_t>(kThreads * kRounds));
  EXPECT_EQ(registry.counter("own_total", "h", {{"side", "3"}}).value(), static_cast<std::uint64_t>(kRounds));
  EXPECT_EQ(registry.gauge("level", "h").value(), kThreads * kRounds);
  const Histogram::Snapshot now = registry.histogram("wait_seconds", "h", {1, 2}).snapshot();
  EXPECT_EQ(now.cumulative.back(), static_cast<std::uint64_t>(kThreads * kRounds));
  EXPECT_EQ(now.sum, kRounds * (0 + 1 + 2 + 3));
}

}  // namespace
}  // namespace tidemark::base
