// Runs testdata/*.txt: each line changes the node, the configuration or the metric; `decide` asks for a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "policy/overcommit/overcommit.h"
#include "policy/overcommit/strategy.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy {
namespace {

using base::cat;
using model::Resources;
using testing::amounts;
using testing::duration;
using testing::Words;

const base::WallTime kStart{std::chrono::hours(24 * 365 * 50)};

model::PriorityClass priority(const std::string& text) {
  return model::parse_priority_class(cat("koord-", text));
}

template <class List>
auto& named(List& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.name == name; });
  if (found != list.end()) return *found;
  list.emplace_back().name = name;
  return list.back();
}

class Scenario {
 public:
  // Answers the lines that `decide` is followed by; nothing for other lines.
  std::vector<std::string> run(std::string_view line) {
    Words words(line);
    if (words.empty()) return {};
    const std::string verb = words.next();
    if (verb == "decide") return decide(words);
    if (verb == "config") {
      config(words);
    } else if (verb == "node") {
      node(words);
    } else if (verb == "metric") {
      metric(words);
    } else if (verb == "pod") {
      pod(words);
    } else if (verb == "delete") {
      const model::PodId id("", words.next());
      std::erase_if(node_.pods, [&](const auto& each) { return each.id == id; });
    } else if (verb == "host") {
      auto& host = named(metric().host_applications, words.next());
      host.priority = priority(words.next());
      host.usage = amounts(words.next());
    } else if (verb == "third-party") {
      third_party(words);
    } else if (verb == "plugins") {
      plugins(words);
    } else if (verb == "written") {
      const std::string when = words.next();
      written_ = when == "never" ? std::nullopt : std::optional(duration(when));
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return {};
  }

 private:
  // config cpuCalculatePolicy=request enable=false: over what the lines before said.
  void config(Words& words) {
    while (!words.empty()) {
      const std::string setting = words.next();
      const auto equals = setting.find('=');
      const std::string value = setting.substr(equals + 1);
      const auto json = Json::parse(value);
      config_.as_object().set(setting.substr(0, equals), json ? *json : Json(value));
    }
  }

  void node(Words& words) {
    while (!words.empty()) {
      const std::string field = words.next();
      if (field == "capacity") {
        node_.capacity = amounts(words.next());
      } else if (field == "allocatable") {
        node_.allocatable = amounts(words.next());
      } else if (field == "reserves") {
        node_.reserved_by_annotation = amounts(words.next());
      } else if (field == "carries-batch") {
        const Resources batch = amounts(words.next());
        node_.published.batch_cpu = batch.cpu;
        node_.published.batch_memory = batch.memory;
      } else if (field == "carries-mid") {
        const Resources mid = amounts(words.next());
        node_.published.mid_cpu = mid.cpu;
        node_.published.mid_memory = mid.memory;
      } else if (field == "disabled") {
        annotation_ = R"({"enable":false})";
      } else if (field == "enabled") {
        annotation_ = R"({"enable":true})";
      } else {
        throw std::runtime_error(cat("no such field of a node: ", field));
      }
    }
  }

  model::NodeMetricView& metric() {
    if (!node_.metric) {
      node_.metric.emplace();
      node_.metric->has_node_metric = true;
      node_.metric->update_time = kStart;
    }
    return *node_.metric;
  }

  void metric(Words& words) {
    while (!words.empty()) {
      const std::string field = words.next();
      if (field == "age") {
        metric().update_time = kStart + -duration(words.next());
      } else if (field == "system") {
        metric().system_usage = amounts(words.next());
      } else if (field == "node") {
        metric().node_usage = amounts(words.next());
      } else if (field == "reclaimable") {
        metric().prod_reclaimable = amounts(words.next());
      } else if (field == "missing") {
        node_.metric.reset();
      } else if (field == "never-reported") {
        metric().update_time.reset();
      } else if (field == "empty") {
        metric().has_node_metric = false;
      } else {
        throw std::runtime_error(cat("no such field of a metric: ", field));
      }
    }
  }

  // pod NAME PRIORITY QOS PHASE request C/M [use C/M]; a phase "gone" is a report without a pod.
  void pod(Words& words) {
    model::PodView view;
    view.id = {"", words.next()};
    view.priority = priority(words.next());
    view.qos = model::parse_qos(words.next());
    const std::string phase = words.next();
    view.phase = model::parse_pod_phase(phase);
    std::erase_if(metric().pods, [&](const auto& each) { return each.id == view.id; });
    while (!words.empty()) {
      const std::string field = words.next();
      if (field == "request") {
        view.request = amounts(words.next());
      } else if (field == "use") {
        metric().pods.push_back({view.id, amounts(words.next()), view.priority, view.qos});
      } else {
        throw std::runtime_error(cat("no such field of a pod: ", field));
      }
    }
    if (phase == "gone") return;
    std::erase_if(node_.pods, [&](const auto& each) { return each.id == view.id; });
    node_.pods.push_back(view);
  }

  void third_party(Words& words) {
    const std::string name = words.next();
    if (name == "unreadable") {
      node_.third_party.reset();
      return;
    }
    if (!node_.third_party) node_.third_party.emplace();
    auto& allocation = named(*node_.third_party, name);
    allocation.priority = priority(words.next());
    allocation.resources = amounts(words.next());
  }

  template <class Amount>
  static std::string batch_line(std::string_view name, const BatchTerms<Amount>& t) {
    std::string line = cat("> ", name, " = ", t.capacity.value, " - margin ", t.margin.value, " - reserved ",
                           t.reserved.value, " [", reason_id(t.reserved_by), "] - online ", t.high_priority.value, " [",
                           reason_id(t.policy), "] = ", t.left.value);
    if (t.cap) line += cat(", cap ", t.cap->value);
    line += cat(" -> origin ", t.origin.value, " [", reason_id(t.origin_by), "]");
    if (t.third_party_by != model::Reason::kThirdPartyNone) {
      line += cat(" - third party ", t.third_party.value, " [", reason_id(t.third_party_by), "]");
    }
    return cat(line, " -> ", t.published.value);
  }

  template <class Amount>
  static std::string mid_line(std::string_view name, const MidTerms<Amount>& t) {
    const bool is_static = t.reason == model::Reason::kMidStatic || t.reason == model::Reason::kMidStaticCapped;
    const std::string offer = is_static ? cat("static ", t.static_share.value)
                                        : cat("min(reclaimable ", t.prod_reclaimable.value, ", unused ",
                                              t.node_unused.value, ") = ", t.base.value, " + share of unallocated ",
                                              t.unallocated.value, " = ", t.unallocated_share.value);
    return cat("> ", name, " = ", offer, ", cap ", t.cap.value, " -> ", t.published.value, " [", reason_id(t.reason),
               "]");
  }

  // The plan's numbers as the node is to carry them, "-" where a key is absent.
  static std::string published_line(const OvercommitPlan& plan) {
    const auto text = [](const auto& amount) { return amount ? cat(amount->value) : std::string("-"); };
    const auto& carries = plan.publish;
    return cat(
        "> batch ", text(carries.batch_cpu), "/", text(carries.batch_memory), " mid ", text(carries.mid_cpu), "/",
        text(carries.mid_memory),
        plan.origin ? cat(" origin ", plan.origin->cpu.value, "/", plan.origin->memory.value) : " origin as it is");
  }

  void plugins(Words& words) {
    std::vector<std::string> names;
    while (!words.empty()) names.push_back(words.next());
    auto parsed = parse_plugins(names);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    plugins_ = *parsed;
  }

  // decide [batch] [mid] [published] [write]: what of the plan is shown besides the action.
  std::vector<std::string> decide(Words& words) const {
    std::set<std::string> shown;
    while (!words.empty()) shown.insert(words.next());
    const auto config = parse_colocation_config(config_.dump());
    if (!config) throw std::runtime_error(config.error().error.message);
    auto strategy = strategy_for(*config, {}, annotation_);
    strategy.plugins = plugins_;
    const auto plan = overcommit(node_, strategy, kStart);
    const auto write = needs_write(node_.published, plan.publish, written_, strategy.values);

    constexpr std::array kActions{"publish", "reset", "hold"};
    std::vector<std::string> lines{
        cat("> ", kActions[static_cast<std::size_t>(plan.action)], " [", reason_id(plan.reason), "]")};
    if (shown.contains("batch") && plan.action == PlanAction::kPublish) {
      lines.push_back(batch_line("batch-cpu", plan.batch_cpu));
      lines.push_back(batch_line("batch-memory", plan.batch_memory));
    }
    if (shown.contains("mid") && plan.action == PlanAction::kPublish) {
      lines.push_back(mid_line("mid-cpu", plan.mid_cpu));
      lines.push_back(mid_line("mid-memory", plan.mid_memory));
    }
    if (shown.contains("published")) lines.push_back(published_line(plan));
    if (shown.contains("write") && plan.action != PlanAction::kHold) {
      lines.push_back(cat("> ", write.write ? "write" : "no write", " [", reason_id(write.reason), "]"));
    }
    return lines;
  }

  Json config_ = Json::object({{"enable", true}});
  std::optional<std::string> annotation_;
  PluginSet plugins_;
  std::optional<base::Duration> written_;
  model::NodeSnapshot node_;
};

TEST(Scenarios, DecideAsTheFilesSay) {
  testing::play_scenarios("policy/overcommit/testdata", 6, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy
