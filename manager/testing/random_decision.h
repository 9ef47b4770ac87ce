// Nodes, reports and settings drawn by a seed: for tests of what holds for any decision.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/random.h"
#include "base/text.h"
#include "manager/capacity/decide.h"
#include "manager/settings/revision.h"

namespace tidemark::manager::testing {

inline model::Resources draw_amount(base::Random& random, std::uint64_t cores) {
  return {{static_cast<std::int64_t>(random.below(cores * 1000))},
          {static_cast<std::int64_t>(random.below(cores << 32))}};
}

inline Revision draw_revision(base::Random& random) {
  policy::settings::SettingsTexts texts;
  texts.slo["colocation-config"] = base::cat(
      R"({"enable":true,"cpuReclaimThresholdPercent":)", 40 + random.below(50), R"(,"cpuCalculatePolicy":")",
      random.below(2) == 0 ? "usage" : "maxUsageRequest", R"(","memoryCalculatePolicy":")",
      random.below(2) == 0 ? "request" : "usage",
      R"(","nodeConfigs":[{"name":"small","nodeSelector":{"matchLabels":{"size":"small"}},"cpuReclaimThresholdPercent":)",
      30 + random.below(40), "}]}");
  if (random.below(2) == 0) {
    texts.slo["cpu-normalization-config"] =
        R"({"enable":true,"ratioModel":{"cpu-a":{"baseRatio":1.25,"turboEnabledRatio":1.5}}})";
  }
  if (random.below(3) > 0) {
    const std::string_view mode = random.below(2) == 0 ? "strict" : "shared";
    const std::string entries =
        random.below(2) == 0
            ? ""
            : base::cat(", entries: [{class: spark, hours: ", random.below(12), "-", 12 + random.below(12),
                        ", cpuPercent: ", 100 + random.below(100), "}, {class: transcode, memoryPercent: 90}]");
    texts.tidemark = base::cat(
        "schema: 1\nmode: enforce\npools:\n- name: ours\n  nodeSelector: {matchLabels: {pool: ours}}\n  profile: ",
        random.below(2) == 0 ? "tidemark" : "koordinator", "\n  ledger: {mode: ", mode,
        ", classAware: ", random.below(2) == 0 ? "true" : "false", ", kubernetes: {minPercent: ", random.below(50),
        "}, yarn: {overReport: {cpuPercent: ", 80 + random.below(80), entries,
        "}}}\n  calendar: night\n"
        "classes: [{name: transcode, order: 1}, {name: training, order: 2}, {name: spark, order: 3}]\ncalendars:\n- "
        "name: night\n  zone: Test/East\n  entries:\n"
        "  - {name: night, cron: \"0 22 * * *\", until: \"0 7 * * *\", cpu: 80, rampUp: 30m}\n");
  }
  auto revision = revision_of(texts, [](std::string_view) {
    policy::waterline::Zones zones;
    zones.add(*model::TimeZone::from_spans(
        "Test/East", {{std::numeric_limits<std::int64_t>::min(), 8 * 3600}, {1'700'000'000, 9 * 3600}}));
    return zones;
  });
  TM_CHECK(revision.has_value(), "the settings of this test are good");
  return std::move(*revision);
}

// `twice`: a pod may be listed more than once, which no cluster does.
inline model::NodeSnapshot draw_snapshot(base::Random& random, base::WallTime now, bool twice = false) {
  model::NodeSnapshot node;
  node.name = base::cat("node-", random.below(100));
  node.capacity = {{64'000}, {std::int64_t{256} << 30}};
  node.allocatable = node.capacity - draw_amount(random, 4);
  if (random.below(2) == 0) node.published.batch_cpu = draw_amount(random, 40).cpu;
  if (random.below(2) == 0) node.origin = draw_amount(random, 40);
  node.reserved_by_annotation = draw_amount(random, 4);
  if (random.below(8) == 0) node.third_party.reset();
  if (node.third_party && random.below(2) == 0) {
    node.third_party->push_back({"hadoop-yarn", model::PriorityClass::kBatch, draw_amount(random, 20)});
  }
  std::uint64_t pod = 0;
  const auto id = [&] {
    pod = twice ? random.below(60) : pod + 1 + random.below(3);
    return model::PodId("default", base::cat("pod-", pod));
  };
  for (auto left = random.below(40); left > 0; --left) {
    node.pods.push_back({id(),
                         static_cast<model::PodPhase>(random.below(5)),
                         static_cast<model::PriorityClass>(random.below(5)),
                         static_cast<model::Qos>(random.below(6)),
                         draw_amount(random, 3),
                         {},
                         std::nullopt});
    if (random.below(6) == 0) {
      auto& warm_up = node.pods.back().warm_up.emplace();
      warm_up.left_permille = static_cast<std::int64_t>(random.below(1001));
      if (random.below(3) > 0) warm_up.expected = draw_amount(random, 3);
    }
  }
  if (random.below(10) > 0) {
    pod = 0;
    auto& metric = node.metric.emplace();
    metric.update_time = base::WallTime{now.since_epoch - std::chrono::seconds(random.below(1200))};
    metric.has_node_metric = true;
    metric.node_usage = draw_amount(random, 50);
    metric.system_usage = draw_amount(random, 5);
    for (auto left = random.below(40); left > 0; --left) {
      metric.pods.push_back({id(), draw_amount(random, 3), static_cast<model::PriorityClass>(random.below(5)),
                             static_cast<model::Qos>(random.below(6))});
    }
    metric.prod_reclaimable = draw_amount(random, 10);
  }
  if (random.below(2) == 0) {
    auto& topology = node.topology.emplace();
    topology.cpu = {{"cpu-a", random.below(2) == 0, random.below(2) == 0}};
    for (int zone = 0; zone < 2; ++zone) {
      topology.zones.push_back(
          {base::cat("node-", zone), model::CpuMilli{32'000}, model::MemoryMilli{(std::int64_t{128} << 30) * 1000}});
    }
  }
  return node;
}

inline std::string draw_class(base::Random& random) {
  constexpr std::string_view kNames[] = {"", "transcode", "training", "spark"};
  return std::string(kNames[random.below(4)]);
}

inline policy::sell::SideBook draw_book(base::Random& random) {
  policy::sell::SideBook book;
  if (random.below(6) > 0) {
    book.sold.emplace();
    for (auto left = random.below(4); left > 0; --left) {
      const auto order = static_cast<std::int64_t>(random.below(4));
      policy::sell::add_sold(*book.sold, order, draw_class(random), draw_amount(random, 20));
    }
  }
  book.told = draw_amount(random, 40);
  book.confirmed = draw_amount(random, 40);
  book.wants_more = random.below(2) == 0;
  book.best_order = static_cast<std::int64_t>(random.below(4));
  book.waits_class = draw_class(random);
  if (random.below(2) == 0) book.waits_for = draw_amount(random, 20);
  return book;
}

inline DecisionBasis draw_basis(base::Random& random, base::WallTime now) {
  DecisionBasis basis;
  if (random.below(2) == 0) basis.node.labels.set(kube::Text::plain("pool"), kube::Text::plain("ours"));
  if (random.below(2) == 0) basis.node.labels.set(kube::Text::plain("size"), kube::Text::plain("small"));
  if (random.below(4) == 0) basis.node.strategy_annotation = R"({"cpuReclaimThresholdPercent":33})";
  basis.plugins.mid_resource = random.below(4) > 0;
  basis.now = now;
  basis.mono = {std::chrono::seconds(random.below(100'000))};
  if (random.below(2) == 0) basis.origin.on_node = draw_amount(random, 30);
  basis.node.revisions = {"4711", "4712", ""};
  basis.kubernetes = draw_book(random);
  basis.yarn.book = draw_book(random);
  basis.yarn.obeys = random.below(2) == 0;
  basis.yarn.mark = random.below(4) == 0 ? ~std::uint64_t{0} : random.below(3);
  const auto evicted = [&](std::optional<base::MonotonicTime>& last) {
    if (random.below(4) == 0) last = basis.mono + -std::chrono::seconds(random.below(300));
  };
  evicted(basis.evicted.kubernetes);
  basis.in_force.guard = {random.below(4) == 0, random.below(4) == 0};
  evicted(basis.evicted.yarn);
  return basis;
}

// What people may have ordered of the node.
inline void draw_orders(base::Random& random, DecisionBasis& basis) {
  policy::state::SideStates& orders = basis.in_force.orders;
  orders.k8s = static_cast<model::NodeState>(random.below(4));
  orders.yarn = random.below(2) == 0 ? orders.k8s : static_cast<model::NodeState>(random.below(4));
  basis.kubernetes.withdrawn = orders.k8s >= model::NodeState::kDraining;
  basis.yarn.book.withdrawn = orders.yarn >= model::NodeState::kDraining;
  if (random.below(2) == 0) orders.classes_off = {"spark", "transcode"};
  if (random.below(2) == 0) orders.classes_drained = {"spark"};
  basis.in_force.cuts_only = random.below(4) == 0;
  basis.node.has_yarn_offer = random.below(2) == 0;
}

}  // namespace tidemark::manager::testing
