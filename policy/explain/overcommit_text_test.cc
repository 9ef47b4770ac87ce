#include "policy/explain/overcommit_text.h"

#include <gtest/gtest.h>

#include <string>

#include "model/names.h"

namespace tidemark::policy::explain {
namespace overcommit_text_test {

using model::CpuMilli;
using model::MemoryBytes;

constexpr std::int64_t kGib = std::int64_t{1} << 30;
const base::WallTime kNow{std::chrono::hours(24 * 365 * 50)};

// Worked example A of contract 5.3, less the pods that have no part in a line of their own.
model::NodeSnapshot example() {
  model::NodeSnapshot node;
  node.name = "n1";
  node.capacity = {CpuMilli{32000}, MemoryBytes{128 * kGib}};
  node.allocatable = {CpuMilli{31000}, MemoryBytes{124 * kGib}};
  node.reserved_by_annotation.cpu = CpuMilli{2000};
  node.third_party = {{"hadoop-yarn", model::PriorityClass::kBatch, {CpuMilli{3000}, MemoryBytes{0}}}};
  node.published.batch_cpu = CpuMilli{7800};
  model::NodeMetricView metric;
  metric.update_time = kNow;
  metric.has_node_metric = true;
  metric.node_usage = model::Resources{CpuMilli{11400}, MemoryBytes{27 * kGib}};
  metric.system_usage = {CpuMilli{1500}, MemoryBytes{3 * kGib}};
  metric.pods.push_back({{"default", "dangling"},
                         {CpuMilli{9900}, MemoryBytes{24 * kGib}},
                         model::PriorityClass::kProd,
                         model::Qos::kLs});
  node.metric = metric;
  return node;
}

sell::NodeStrategy enabled() {
  sell::NodeStrategy strategy;
  strategy.enabled = true;
  strategy.reason = model::Reason::kConfigApplied;
  strategy.values.enable = true;
  return strategy;
}

// A line of the text, without the blanks that align it.
std::string line_with(const std::string& text, std::string_view part) {
  const auto at = text.find(part);
  if (at == std::string::npos) return base::cat("no line with ", part, " in:\n", text);
  const auto begin = text.rfind('\n', at) + 1;
  std::string line;
  for (const char c : text.substr(begin, text.find('\n', at) - begin)) {
    if (c != ' ' || (!line.empty() && line.back() != ' ')) line += c;
  }
  return line;
}

TEST(OvercommitText, ShowsEachTermWithItsSignItsAmountAndItsReason) {
  const auto node = example();
  const auto strategy = enabled();
  const auto plan = sell::overcommit(node, strategy, kNow);
  const std::string text = render_text(plan, node, strategy);
  EXPECT_EQ(line_with(text, "node n1"), "node n1: offers batch-cpu 4300m and batch-memory 59270548685 (55.2 GiB)");
  EXPECT_EQ(line_with(text, "margin"), "- margin above the water line 12800m 100 % - 60 % of capacity");
  EXPECT_NE(line_with(text, "- reserved").find("2000m"), std::string::npos);
  EXPECT_NE(line_with(text, "- reserved").find("system 1500m, kubelet 1000m, annotation 2000m"), std::string::npos);
  EXPECT_EQ(line_with(text, "online work:"), "- online work: the use of online pods 9900m [TM-BATCH-001]");
  EXPECT_NE(line_with(text, "third parties: hadoop-yarn").find("3000m"), std::string::npos);
  EXPECT_EQ(line_with(text, "offered to Kubernetes"), "= offered to Kubernetes 4300m on the node now: 7800m");
}

TEST(OvercommitText, AWaterLineAboveTheTopOfTheNodeIsNoMargin) {
  const auto node = example();
  auto strategy = enabled();
  const auto told = [&](std::int64_t percent, model::Profile profile) {
    strategy.values.cpu_reclaim_threshold_percent = percent;
    strategy.profile = profile;
    const std::string text = render_text(sell::overcommit(node, strategy, kNow), node, strategy);
    return text.substr(text.find("\n", text.find("capacity")) + 1);
  };
  EXPECT_EQ(line_with(told(100, model::Profile::kKoordinator), "margin"),
            "- margin above the water line 0m 100 % - 100 % of capacity");
  EXPECT_EQ(line_with(told(120, model::Profile::kKoordinator), "sold beyond capacity"),
            "+ sold beyond capacity 6400m the water line is at 120 % of capacity");
  EXPECT_EQ(line_with(told(120, model::Profile::kTidemark), "margin"),
            "- margin above the water line 0m none: the water line at 120 % of capacity counts as 100 %");
}

TEST(OvercommitText, TheAmountsOfATermAddUpInTheTextAsTheyDoInThePlan) {
  const auto node = example();
  const auto plan = sell::overcommit(node, enabled(), kNow);
  const auto& terms = plan.batch_cpu;
  EXPECT_EQ(terms.capacity - terms.margin - terms.reserved - terms.high_priority, terms.left);
  EXPECT_EQ(terms.origin - terms.third_party, terms.published);
}

TEST(OvercommitText, ANodeThatOffersNothingSaysWhyAndShowsNoTerms) {
  auto node = example();
  node.metric.reset();
  const auto strategy = enabled();
  const std::string text = render_text(sell::overcommit(node, strategy, kNow), node, strategy);
  EXPECT_NE(text.find("node n1: offers nothing"), std::string::npos) << text;
  EXPECT_NE(text.find("[TM-NODE-"), std::string::npos) << text;
  EXPECT_EQ(text.find("margin"), std::string::npos) << text;
}

TEST(OvercommitText, JsonCarriesTheSameNumbersAndTheStableIds) {
  const auto node = example();
  const auto strategy = enabled();
  const auto plan = sell::overcommit(node, strategy, kNow);
  const Json json = render_json(plan, node, strategy);
  EXPECT_EQ(*json.at("schema"), Json(1));
  EXPECT_EQ(json.text_at("action"), "publish");
  EXPECT_EQ(*json.at("kubernetes.io/batch-cpu", "published"), Json(plan.batch_cpu.published.value));
  EXPECT_EQ(*json.at("kubernetes.io/batch-cpu", "onNode"), Json(7800));
  EXPECT_TRUE(json.at("kubernetes.io/batch-memory", "onNode")->is_null());
  EXPECT_EQ(json.text_at("kubernetes.io/batch-cpu", "policy", "id"), "TM-BATCH-001");
  EXPECT_EQ(json.text_at("reason", "id"), "TM-NODE-001");
}

TEST(OvercommitText, NamesDisabledParts) {
  const auto node = example();
  auto strategy = enabled();
  strategy.plugins.batch_resource = false;
  auto plan = sell::overcommit(node, strategy, kNow);
  std::string text = render_text(plan, node, strategy);
  EXPECT_EQ(line_with(text, "node n1"), "node n1: offers mid-cpu 0m and mid-memory 0");
  EXPECT_EQ(line_with(text, "TM-BATCH-014"), "note: batch is switched off; what is published stays [TM-BATCH-014]");
  EXPECT_EQ(text.find(model::kBatchCpu), std::string::npos);
  const Json json = render_json(plan, node, strategy);
  EXPECT_EQ(json.at(model::kBatchCpu), nullptr);
  EXPECT_EQ(json.at("switchedOff")->as_array().front().text_at("id"), "TM-BATCH-014");

  strategy.plugins.mid_resource = false;
  plan = sell::overcommit(node, strategy, kNow);
  text = render_text(plan, node, strategy);
  EXPECT_EQ(line_with(text, "node n1"), "node n1: stays unchanged");
  EXPECT_EQ(line_with(text, "why"), "why: batch and mid are switched off; what is published stays [TM-NODE-008]");

  strategy.plugins.batch_resource = true;
  strategy.enabled = false;
  strategy.reason = model::Reason::kDisabledForNode;
  plan = sell::overcommit(node, strategy, kNow);
  EXPECT_EQ(line_with(render_text(plan, node, strategy), "node n1"),
            "node n1: offers nothing; its batch resources are removed");
}

TEST(AmountText, MemoryIsExactAndRoundedDownForPeople) {
  EXPECT_EQ(amount_text(MemoryBytes{0}), "0");
  EXPECT_EQ(amount_text(MemoryBytes{-5}), "-5");
  EXPECT_EQ(amount_text(MemoryBytes{1023}), "1023");
  EXPECT_EQ(amount_text(MemoryBytes{1024}), "1024 (1.0 KiB)");
  EXPECT_EQ(amount_text(MemoryBytes{kGib - 1}), "1073741823 (1023.9 MiB)");
  EXPECT_EQ(amount_text(MemoryBytes{3 * kGib / 2}), "1610612736 (1.5 GiB)");
  EXPECT_EQ(amount_text(MemoryBytes::max_value()), "9223372036854775807 (7.9 EiB)");
}

}  // namespace overcommit_text_test
}  // namespace tidemark::policy::explain
