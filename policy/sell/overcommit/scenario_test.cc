// Runs testdata/*.txt: each line changes the node, the configuration or the metric; `decide` asks for a plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/sell/overcommit/writes.h"
#include "policy/testing/scenario.h"

namespace tidemark::policy::sell {
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
    } else if (verb == "profile") {
      profile_ = words.next() == "tidemark" ? model::Profile::kTidemark : model::Profile::kKoordinator;
    } else if (verb == "zone") {
      zone(words);
    } else if (verb == "cpu-model") {
      cpu_model(words);
    } else if (verb == "normalization") {
      take_settings(next_chosen(normalization_, source_of(words), parse_normalization_config), normalization_);
    } else if (verb == "amplification") {
      take_settings(next_chosen(amplification_, source_of(words), parse_amplification_config), amplification_);
    } else if (verb == "written") {
      const std::string when = words.next();
      written_ = when == "never" ? std::nullopt : std::optional(duration(when));
    } else {
      throw std::runtime_error(cat("no such verb: ", verb));
    }
    words.expect_end();
    return std::exchange(answers_, {});
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
      } else if (field == "carries-origin") {
        node_.origin = amounts(words.next());
      } else if (field == "carries-ratio") {
        node_.normalization_annotation = text_or_none(words.next());
      } else if (field == "carries-amplification") {
        node_.amplification_annotation = text_or_none(words.next());
      } else if (field == "reservation-unreadable") {
        node_.reservation_unreadable = true;
      } else if (field == "label") {
        labels_ = {{words.next(), words.next()}};
      } else if (field == "says") {
        annotation_ = text_or_none(words.next());
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
      } else if (field == "below-zero") {
        metric().below_zero = words.next() == "yes";
      } else if (field == "never-reported") {
        metric().update_time.reset();
      } else if (field == "empty") {
        metric().has_node_metric = false;
      } else {
        throw std::runtime_error(cat("no such field of a metric: ", field));
      }
    }
  }

  static std::optional<std::string> text_or_none(std::string text) {
    return text == "none" ? std::nullopt : std::optional(std::move(text));
  }

  model::TopologyView& topology() {
    if (!node_.topology) node_.topology.emplace();
    return *node_.topology;
  }

  // zone NAME [cpu C] [memory M] [carries C/M] | zone none: the node has no NodeResourceTopology.
  void zone(Words& words) {
    const std::string name = words.next();
    if (name == "none") return node_.topology.reset();
    auto& zone = named(topology().zones, name);
    while (!words.empty()) {
      const std::string field = words.next();
      const std::string amount = words.next();
      if (field == "cpu") {
        zone.cpu = cpu_milli(testing::quantity(amount));
      } else if (field == "memory") {
        const auto memory = testing::quantity(amount);
        zone.memory = model::MemoryMilli{memory.scaled_value_saturated(-3)};
        zone.memory_format = memory.format();
      } else if (field == "carries") {
        const auto parts = base::split(amount, '/');
        const auto cpu = model::CpuMicro{testing::quantity(parts.at(0)).scaled_value_saturated(-3)};
        const auto memory = model::MemoryMilli{testing::quantity(parts.at(1)).scaled_value_saturated(-3)};
        zone.batch_cpu = {cpu, cpu, cpu};
        zone.batch_memory = {memory, memory, memory};
      } else {
        throw std::runtime_error(cat("no such field of a zone: ", field));
      }
    }
  }

  // cpu-model NAME [hyper-thread] [turbo] | cpu-model unreadable | cpu-model none
  void cpu_model(Words& words) {
    const std::string name = words.next();
    topology().cpu.reset();
    topology().cpu_info_unreadable = name == "unreadable";
    if (name == "unreadable" || name == "none") return;
    topology().cpu = model::CpuBasicInfo{name, false, false};
    while (!words.empty()) {
      const std::string field = words.next();
      (field == "turbo" ? topology().cpu->turbo : topology().cpu->hyper_thread) = true;
    }
  }

  // What a key of the ConfigMap holds; "missing" is no key.
  model::ConfigSource source_of(Words& words) {
    text_ = words.next();
    return text_ == "missing" ? model::ConfigSource{true, std::nullopt} : model::ConfigSource{true, text_};
  }
  template <class Step, class Config>
  void take_settings(Step step, Config& config) {
    config = std::move(step.config);
    answers_ = {cat("> [", reason_id(step.reason), "]", step.problem.empty() ? "" : cat(" ", step.problem))};
  }

  // pod NAME PRIORITY QOS PHASE request C/M [use C/M] [numa 0,1] [warms LEFT [expected C/M]]; a phase "gone" is a
  // report without a pod.
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
      } else if (field == "numa") {
        const std::string listed = words.next();
        for (const auto id : base::split(listed, ',')) {
          view.numa_nodes.push_back(static_cast<std::int32_t>(base::parse_int(id).value()));
        }
      } else if (field == "use") {
        metric().pods.push_back({view.id, amounts(words.next()), view.priority, view.qos});
      } else if (field == "warms") {  // so many thousandths of its ramp are left
        view.warm_up = model::WarmUp{base::parse_int(words.next()).value(), std::nullopt};
      } else if (field == "expected") {
        view.warm_up.value().expected = amounts(words.next());
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
    if (t.ratio_percent) line += cat(" -> allowed ", t.allowed.value, " x ", ratio_text(*t.ratio_percent));
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

  template <class Amount>
  static std::string terms_text(const WaterLineTerms<Amount>& t) {
    return cat(t.capacity.value, " - ", t.margin.value, " - ", t.reserved.value, " - ", t.high_priority.value, " = ",
               t.left.value, t.cap ? cat(", cap ", t.cap->value) : "");
  }

  static void zone_lines(const OvercommitPlan& plan, std::vector<std::string>& lines) {
    lines.push_back(cat("> zones [", reason_id(plan.zones.reason), "]"));
    for (const auto& zone : plan.zones.zones) {
      lines.push_back(
          cat(">   ", zone.name, " cpu ", terms_text(zone.cpu), " -> ", zone_quantity(zone.batch_cpu).canonical()));
      lines.push_back(cat(">   ", zone.name, " memory ", terms_text(zone.memory), " -> ",
                          zone_quantity(zone.batch_memory, zone.memory_format).canonical()));
    }
  }

  void ratio_lines(const OvercommitPlan& plan, model::Profile profile, std::vector<std::string>& lines) const {
    const auto& ratio = plan.normalization;
    lines.push_back(cat("> ratio ", ratio.ratio_percent ? ratio_text(*ratio.ratio_percent) : "-",
                        ratio.annotate ? "" : ", annotation stays", " [", reason_id(ratio.reason), "]"));
    constexpr std::array kActions{"stays", "set to ", "removed"};
    const auto& amplification = plan.amplification;
    lines.push_back(cat("> amplification ", kActions[static_cast<std::size_t>(amplification.action)],
                        amplification.text, " [", reason_id(amplification.reason), "]"));
    const auto write = needs_ratio_write(node_, plan, profile);
    lines.push_back(cat("> ", write.write ? "write" : "no write", " [", reason_id(write.reason), "]"));
  }

  void zone_write_lines(const OvercommitPlan& plan, const NodeStrategy& strategy,
                        std::vector<std::string>& lines) const {
    if (!node_.topology) return;
    const auto decision = needs_zone_write(*node_.topology, plan.zones, written_, strategy.values);
    lines.push_back(cat("> ", decision.write.write ? "write zones" : "no write of zones", " [",
                        reason_id(decision.write.reason), "]"));
    for (const auto& change : decision.changes) {
      lines.push_back(cat(">   ", node_.topology->zones[change.zone].name,
                          change.is_cpu ? " batch-cpu" : " batch-memory", change.added ? " added" : "",
                          change.capacity ? " capacity" : "", change.allocatable ? " allocatable" : "",
                          change.available ? " available" : ""));
    }
  }

  void plugins(Words& words) {
    std::vector<std::string> names;
    while (!words.empty()) names.push_back(words.next());
    auto parsed = parse_plugins(names);
    if (!parsed) throw std::runtime_error(parsed.error().message);
    plugins_ = *parsed;
  }

  // decide [batch] [mid] [zones] [ratio] [safe] [published] [write] [zone-write]: what of the plan is shown besides the
  // action.
  std::vector<std::string> decide(Words& words) const {
    std::set<std::string> shown;
    while (!words.empty()) shown.insert(words.next());
    const auto config = parse_colocation_config(config_.dump());
    if (!config) throw std::runtime_error(config.error().error.message);
    const OvercommitSettings settings{*config, normalization_ ? &*normalization_ : nullptr,
                                      amplification_ ? &*amplification_ : nullptr, plugins_, profile_};
    const auto strategy = strategy_for(settings, labels_, annotation_);
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
    if (shown.contains("zones")) zone_lines(plan, lines);
    if (shown.contains("ratio")) ratio_lines(plan, profile_, lines);
    if (shown.contains("safe")) {
      std::string line = ">";
      for (const auto reason : strategy.ignored) line += cat(" [", reason_id(reason), "]");
      for (const auto reason : plan.safeguards) line += cat(" [", reason_id(reason), "]");
      lines.push_back(line + (line == ">" ? " nothing" : ""));
    }
    if (shown.contains("published")) lines.push_back(published_line(plan));
    if (shown.contains("write") && plan.action != PlanAction::kHold) {
      lines.push_back(cat("> ", write.write ? "write" : "no write", " [", reason_id(write.reason), "]"));
    }
    if (shown.contains("zone-write")) zone_write_lines(plan, strategy, lines);
    return lines;
  }

  Json config_ = Json::object({{"enable", true}});
  std::optional<std::string> annotation_;
  std::vector<model::Label> labels_;
  PluginSet plugins_;
  model::Profile profile_ = model::Profile::kKoordinator;
  std::optional<NormalizationConfig> normalization_ = NormalizationConfig();
  std::optional<AmplificationConfig> amplification_ = AmplificationConfig();
  std::string text_;
  std::vector<std::string> answers_;  // of a line that is not `decide`
  std::optional<base::Duration> written_;
  model::NodeSnapshot node_;
};

TEST(Scenarios, MatchTheScenarioFiles) {
  testing::play_scenarios("policy/sell/overcommit/testdata", 6, [] {
    return [scenario = std::make_shared<Scenario>()](std::string_view line) { return scenario->run(line); };
  });
}

}  // namespace
}  // namespace tidemark::policy::sell
