#include "policy/sell/usage/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/text.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::sell {
namespace {

using base::cat;
using base::MonotonicTime;
using std::chrono::minutes;
using std::chrono::seconds;
using testing::Words;

constexpr std::int64_t kMi = std::int64_t{1} << 20;
constexpr base::WallTime kWall{std::chrono::seconds(1'767'225'600)};

std::string text(const model::ReportedUsage& usage) {
  if (!usage) return "{}";
  return cat(model::Quantity::of_milli(usage->cpu.value).canonical(), "/",
             model::Quantity::of(usage->memory.value, model::Quantity::Format::kBinarySI).canonical());
}

UsageReading reading(MonotonicTime at, const model::Resources& use) {
  return {at, use.cpu.value * 1000, {use.memory.value, std::nullopt, std::nullopt}};
}

// `use` and `ramp` take a sample a second, of the node and of the one pod.
class ReportScenario {
 public:
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    if (verb == "durations") {
      CollectAsked asked;
      while (!words.empty()) asked.durations.push_back(testing::duration(words.next()));
      history_.set_collect(collect_in_force(asked, false));
    } else if (verb == "pod") {
      pod_ = testing::amounts(words.next());
    } else if (verb == "use") {
      const auto amounts = testing::amounts(words.next());
      if (words.next() != "for") throw std::runtime_error("wanted for");
      sample(testing::duration(words.next()), [&](std::int64_t) { return amounts; });
    } else if (verb == "ramp") {  // 1, 2, 3 … times this
      const auto amounts = testing::amounts(words.next());
      if (words.next() != "for") throw std::runtime_error("wanted for");
      sample(testing::duration(words.next()), [&](std::int64_t i) {
        return model::Resources{{amounts.cpu.value * (i + 1)}, {amounts.memory.value * (i + 1)}};
      });
    } else if (verb == "pause") {
      now_ = now_ + testing::duration(words.next());
    } else if (verb == "report") {
      return report();
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return {};
  }

 private:
  template <class UseAt>
  void sample(base::Duration length, UseAt use_at) {
    const auto n = static_cast<std::int64_t>(length / seconds(1));
    for (std::int64_t i = 0; i < n; ++i) {
      now_ = now_ + seconds(1);
      std::vector<NamedReading> pods;
      if (pod_) pods.push_back({"uid", reading(now_, *pod_)});
      const model::Resources use = use_at(i);
      history_.observe(
          {now_, reading(now_, use), reading(now_, use - pod_.value_or(model::Resources())), pods, {}, {}});
    }
  }

  std::vector<std::string> report() {
    const ReportedPod pod{"uid", "default", "web", model::PriorityClass::kProd, model::Qos::kLs};
    usage_report(history_, {{&pod, 1}, {}}, now_, kWall, scratch_, report_);
    const auto& told = report_;
    std::vector<std::string> out;
    out.push_back(cat("> node ", text(told.node_usage), "  system ", text(told.system_usage)));
    for (std::size_t i = 0; i < told.aggregated_node_usages.size(); ++i) {
      const auto& node = told.aggregated_node_usages[i];
      const auto& system = told.aggregated_system_usages.at(i);
      out.push_back(cat("> ", base::format_go_duration(node.duration), "  avg ", text(node.avg), "  p50 ",
                        text(node.p50), "  p90 ", text(node.p90), "  p95 ", text(node.p95), "  p99 ", text(node.p99),
                        "  system p95 ", text(system.p95)));
    }
    for (const auto& each : told.pods) out.push_back(cat("> ", each.ns, "/", each.name, "  ", text(each.usage)));
    return out;
  }

  UsageHistory history_{CollectInForce()};
  WindowScratch scratch_;
  model::NodeMetricReport report_;  // one for all tests: an earlier report leaves no trace
  std::optional<model::Resources> pod_;
  MonotonicTime now_;
};

TEST(UsageReport, MatchesTheScenarioFiles) {
  testing::play_scenarios("policy/sell/usage/testdata/report", 2, [] {
    return [scenario = std::make_shared<ReportScenario>()](std::string_view line) { return scenario->run(line); };
  });
}

// Contract 3.1: podsMetric sorted by namespace and name, hostApplicationMetric by name. A pod without CPU or memory
// samples is not listed. CPU is truncated to 1m.
TEST(UsageReport, PodsAndHostApplicationsAreInOrderAndWhole) {
  UsageHistory history{CollectInForce()};
  const MonotonicTime now{seconds(1)};
  UsageReading no_memory = reading(now, {{1}, {1}});
  no_memory.memory = {};
  UsageReading no_cpu = reading(now, {{1}, {1}});
  no_cpu.cpu_micro.reset();
  UsageReading odd = reading(now, {{0}, {1023}});
  odd.cpu_micro = 1'999;
  const std::vector<NamedReading> pods{{"1", odd}, {"2", odd}, {"3", no_memory}, {"4", no_cpu}, {"5", odd}};
  const std::vector<NamedReading> applications{{"nginx", odd}, {"dns", odd}, {"young", no_cpu}};
  history.observe({now, reading(now, {{100}, {1 << 20}}), {}, pods, applications, {}});

  using model::PriorityClass;
  using model::Qos;
  const std::vector<ReportedPod> known{
      {"1", "web", "b", PriorityClass::kProd, Qos::kLs}, {"2", "web", "a", PriorityClass::kBatch, Qos::kBe},
      {"3", "web", "c", PriorityClass::kProd, Qos::kLs}, {"4", "web", "d", PriorityClass::kProd, Qos::kLs},
      {"5", "api", "z", PriorityClass::kMid, Qos::kLsr}, {"6", "api", "never-read", PriorityClass::kMid, Qos::kLsr}};
  const std::vector<ReportedHostApplication> listed{{"nginx", PriorityClass::kProd, Qos::kLs},
                                                    {"dns", PriorityClass::kNone, Qos::kNone},
                                                    {"young", PriorityClass::kProd, Qos::kLs},
                                                    {"gone", PriorityClass::kProd, Qos::kLs}};
  WindowScratch scratch;
  model::NodeMetricReport told;
  usage_report(history, {known, listed}, now, kWall, scratch, told);
  const model::Resources use{{1}, {1023}};
  EXPECT_EQ(told.pods, (std::vector<model::PodReport>{{"api", "z", use, PriorityClass::kMid, Qos::kLsr},
                                                      {"web", "a", use, PriorityClass::kBatch, Qos::kBe},
                                                      {"web", "b", use, PriorityClass::kProd, Qos::kLs}}));
  EXPECT_EQ(told.host_applications,
            (std::vector<model::HostApplicationReport>{{"dns", use, PriorityClass::kNone, Qos::kNone},
                                                       {"nginx", use, PriorityClass::kProd, Qos::kLs}}));
  EXPECT_EQ(told.update_time, kWall);
  EXPECT_FALSE(told.prod_reclaimable);
  EXPECT_FALSE(told.prod_peak);
}

TEST(UsageReport, SortsZonesById) {
  UsageHistory history{CollectInForce()};
  const MonotonicTime now{seconds(1)};
  const std::vector<NumaReading> zones{{1, reading(now, {{3'000}, {100 * kMi}}), reading(now, {{2'000}, {70 * kMi}})},
                                       {0, reading(now, {{1'000}, {0}}), {}}};
  UsageReading node = reading(now, {{4'000}, {100 * kMi}});
  history.observe({now, node, {}, {}, {}, zones});
  WindowScratch scratch;
  model::NodeMetricReport told;
  usage_report(history, {}, now, kWall, scratch, told);
  EXPECT_EQ(told.numa_usages, (std::vector<model::NumaReport>{
                                  {0, model::Resources{{1'000}, {0}}, std::nullopt},
                                  {1, model::Resources{{3'000}, {100 * kMi}}, model::Resources{{2'000}, {70 * kMi}}}}));
  model::NodeMetricReport later = told;
  usage_report(history, {}, now + minutes(6), kWall, scratch, later);
  EXPECT_EQ(later.numa_usages,
            (std::vector<model::NumaReport>{{0, std::nullopt, std::nullopt}, {1, std::nullopt, std::nullopt}}));
  EXPECT_FALSE(later.node_usage);
}

}  // namespace
}  // namespace tidemark::policy::sell
