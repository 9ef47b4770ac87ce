#include "policy/explain/overcommit_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/names.h"
#include "policy/explain/why.h"
#include "policy/explain/zones_text.h"
#include "policy/sell/overcommit/normalization.h"

namespace tidemark::policy::explain {
namespace {

constexpr int kExplainSchema = 1;

// One line of a sum: sign, name, amount, and a remark.
struct Line {
  char sign = ' ';
  std::string what;
  std::string amount;
  std::string remark;
};

class Table {
 public:
  void add(char sign, std::string what, std::string amount, std::string remark = "") {
    lines_.push_back({sign, std::move(what), std::move(amount), std::move(remark)});
  }
  void append_to(std::string& out) const {
    std::size_t what_width = 0;
    std::size_t amount_width = 0;
    for (const auto& line : lines_) {
      what_width = std::max(what_width, line.what.size());
      amount_width = std::max(amount_width, line.amount.size());
    }
    for (const auto& line : lines_) {
      out += "  ";
      out += line.sign;
      out += ' ';
      out += line.what;
      out.append(what_width - line.what.size() + 2, ' ');
      out.append(amount_width - line.amount.size(), ' ');
      out += line.amount;
      if (!line.remark.empty()) out += "   " + line.remark;
      out += '\n';
    }
  }

 private:
  std::vector<Line> lines_;
};

// It counts as 0.
bool measured_below_zero(const model::NodeSnapshot& node) {
  return node.metric && node.metric->below_zero;
}

std::string_view policy_word(model::Reason policy) {
  switch (policy) {
    case model::Reason::kPolicyRequest:
      return "the requests of online pods";
    case model::Reason::kPolicyMaxUsageRequest:
      return "the larger of use and request of online pods";
    default:
      return "the use of online pods";
  }
}

template <class Amount>
std::string on_node_now(const std::optional<Amount>& amount) {
  return amount ? base::cat("on the node now: ", amount_text(*amount)) : "not on the node now";
}

std::string third_party_names(const model::NodeSnapshot& node) {
  std::string names;
  if (!node.third_party) return names;
  for (const auto& allocation : *node.third_party) {
    if (allocation.priority != model::PriorityClass::kBatch) continue;
    names += (names.empty() ? "" : ", ") + allocation.name;
  }
  return names;
}

std::string warm_up_remark(const sell::WarmUpTerms& warm_up) {
  std::string text = base::cat(warm_up.pods, warm_up.pods == 1 ? " pod" : " pods");
  if (warm_up.by_request > 0) text += base::cat(", ", warm_up.by_request, " by request");
  return text;
}

// Capacity above the water line is never sold. A line above the capacity of the node gives no margin: by Koordinator's
// rules more is sold than the node has; `profile: tidemark` stops at the capacity.
template <class Amount>
void add_margin(Table& table, Amount margin, std::int64_t threshold_percent, model::Profile profile) {
  constexpr std::int64_t kWhole = 100;
  constexpr std::string_view kMargin = "margin above the water line";
  if (threshold_percent <= kWhole) {
    table.add('-', std::string(kMargin), amount_text(margin),
              base::cat("100 % - ", threshold_percent, " % of capacity"));
  } else if (profile == model::Profile::kTidemark) {
    table.add('-', std::string(kMargin), amount_text(margin),
              base::cat("none: the water line at ", threshold_percent, " % of capacity counts as 100 %"));
  } else {
    table.add('+', "sold beyond capacity", amount_text(Amount{0} - margin),
              base::cat("the water line is at ", threshold_percent, " % of capacity"));
  }
}

// One batch resource of a node.
template <class Amount>
struct BatchSide {
  std::string_view title;
  const sell::BatchTerms<Amount>& terms;
  std::int64_t threshold;  // water line in percent of capacity
  const std::optional<Amount>& offers;
  const std::optional<Amount>& now_on_node;
  Amount model::Resources::* side;
};

template <class Amount>
void render_batch(std::string& out, const BatchSide<Amount>& of, const model::NodeSnapshot& node,
                  const sell::WarmUpTerms& warm_up, model::Profile profile) {
  const sell::BatchTerms<Amount>& terms = of.terms;
  out += base::cat("\n", of.title, "\n");
  Table table;
  table.add(' ', "capacity", amount_text(terms.capacity));
  add_margin(table, terms.margin, of.threshold, profile);
  table.add(
      '-', "reserved", amount_text(terms.reserved),
      base::cat(why(terms.reserved_by), "; system ", amount_text(terms.system_used), ", kubelet ",
                amount_text(terms.reserved_by_kubelet), ", annotation ", amount_text(terms.reserved_by_annotation)));
  table.add('-', base::cat("online work: ", policy_word(terms.policy)), amount_text(terms.high_priority),
            base::cat("[", model::reason_id(terms.policy), "]"));
  if (warm_up.pods > 0 && terms.policy != model::Reason::kPolicyRequest) {
    const bool by_larger = terms.policy == model::Reason::kPolicyMaxUsageRequest;
    table.add(' ', "  of it because pods warm up",
              amount_text((by_larger ? warm_up.added_to_max : warm_up.added).*of.side), warm_up_remark(warm_up));
  }
  table.add('=', "left", amount_text(terms.left));
  if (terms.cap) table.add('<', "cap", amount_text(*terms.cap), "batch threshold percent of capacity");
  if (terms.ratio_percent && *terms.ratio_percent > sell::kRatioPercentMin)
    table.add('x', "normalization", sell::ratio_text(*terms.ratio_percent), "the value of one CPU of this model");
  table.add('=', "batch may use (origin)", amount_text(terms.origin), why(terms.origin_by));
  const std::string names = third_party_names(node);
  table.add('-', names.empty() ? std::string("third parties") : base::cat("third parties: ", names),
            amount_text(terms.third_party), why(terms.third_party_by));
  table.add('=', "offered to Kubernetes", amount_text(terms.published), on_node_now(of.now_on_node));
  if (of.offers && *of.offers != terms.published) {
    table.add('=', "offered after the steps below", amount_text(*of.offers));
  }
  table.append_to(out);
}

template <class Amount>
void render_mid(std::string& out, std::string_view title, const sell::MidTerms<Amount>& terms,
                const std::optional<Amount>& now_on_node) {
  out += base::cat("\n", title, "\n");
  Table table;
  const bool is_static = terms.reason == model::Reason::kMidStatic || terms.reason == model::Reason::kMidStaticCapped;
  if (is_static) {
    table.add(' ', "static share", amount_text(terms.static_share));
  } else {
    table.add(' ', "online work does not need (predicted)", amount_text(terms.prod_reclaimable));
    table.add('<', "not used on the node", amount_text(terms.node_unused));
    table.add('=', "base", amount_text(terms.base));
    table.add('+', "share of unrequested capacity", amount_text(terms.unallocated_share),
              base::cat("of ", amount_text(terms.unallocated), ": capacity - reserved ", amount_text(terms.reserved),
                        " - requests ", amount_text(terms.prod_request)));
  }
  table.add('<', "cap", amount_text(terms.cap), "mid threshold percent of capacity");
  table.add('=', "offered as mid", amount_text(terms.published),
            base::cat(why(terms.reason), "; ", on_node_now(now_on_node)));
  table.append_to(out);
}

template <class Amount>
Json optional_json(const std::optional<Amount>& amount) {
  return amount ? Json(amount->value) : Json(nullptr);
}

template <class Amount>
Json batch_json(const sell::BatchTerms<Amount>& terms, const std::optional<Amount>& now_on_node) {
  return Json::object({{"capacity", terms.capacity.value},
                       {"margin", terms.margin.value},
                       {"systemUsed", terms.system_used.value},
                       {"reservedByKubelet", terms.reserved_by_kubelet.value},
                       {"reservedByAnnotation", terms.reserved_by_annotation.value},
                       {"reserved", terms.reserved.value},
                       {"reservedBy", why_json(terms.reserved_by)},
                       {"policy", why_json(terms.policy)},
                       {"highPriority", terms.high_priority.value},
                       {"left", terms.left.value},
                       {"cap", optional_json(terms.cap)},
                       {"ratioPercent", terms.ratio_percent ? Json(*terms.ratio_percent) : Json(nullptr)},
                       {"origin", terms.origin.value},
                       {"originBy", why_json(terms.origin_by)},
                       {"thirdParty", terms.third_party.value},
                       {"thirdPartyBy", why_json(terms.third_party_by)},
                       {"published", terms.published.value},
                       {"onNode", optional_json(now_on_node)}});
}

template <class Amount>
Json mid_json(const sell::MidTerms<Amount>& terms, const std::optional<Amount>& now_on_node) {
  return Json::object({{"capacity", terms.capacity.value},
                       {"prodReclaimable", terms.prod_reclaimable.value},
                       {"nodeUnused", terms.node_unused.value},
                       {"base", terms.base.value},
                       {"reserved", terms.reserved.value},
                       {"prodRequest", terms.prod_request.value},
                       {"unallocated", terms.unallocated.value},
                       {"unallocatedShare", terms.unallocated_share.value},
                       {"staticShare", terms.static_share.value},
                       {"cap", terms.cap.value},
                       {"reason", why_json(terms.reason)},
                       {"published", terms.published.value},
                       {"onNode", optional_json(now_on_node)}});
}

std::string_view reset_words(const sell::PluginSet& plugins) {
  if (!plugins.mid_resource) return "batch";
  return plugins.batch_resource ? "batch and mid" : "mid";
}

// The parts that stay unchanged while the rest is decided.
std::vector<model::Reason> switched_off(const sell::OvercommitPlan& plan, const sell::PluginSet& plugins) {
  std::vector<model::Reason> off;
  if (plan.action == sell::PlanAction::kHold) return off;
  if (!plugins.batch_resource) off.push_back(model::Reason::kBatchPluginOff);
  if (!plugins.mid_resource) off.push_back(model::Reason::kMidPluginOff);
  return off;
}

std::string render_amounts(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node,
                           const sell::NodeStrategy& strategy) {
  const sell::PluginSet& plugins = strategy.plugins;
  std::string out;
  if (plugins.batch_resource) {
    render_batch(out,
                 BatchSide<model::CpuMilli>{.title = model::kBatchCpu,
                                            .terms = plan.batch_cpu,
                                            .threshold = strategy.values.cpu_reclaim_threshold_percent,
                                            .offers = plan.publish.batch_cpu,
                                            .now_on_node = node.published.batch_cpu,
                                            .side = &model::Resources::cpu},
                 node, plan.warm_up, strategy.profile);
    render_batch(out,
                 BatchSide<model::MemoryBytes>{.title = model::kBatchMemory,
                                               .terms = plan.batch_memory,
                                               .threshold = strategy.values.memory_reclaim_threshold_percent,
                                               .offers = plan.publish.batch_memory,
                                               .now_on_node = node.published.batch_memory,
                                               .side = &model::Resources::memory},
                 node, plan.warm_up, strategy.profile);
  }
  if (plugins.mid_resource) {
    render_mid(out, model::kMidCpu, plan.mid_cpu, node.published.mid_cpu);
    render_mid(out, model::kMidMemory, plan.mid_memory, node.published.mid_memory);
  }
  return out;
}

}  // namespace

std::string_view action_word(sell::PlanAction action) {
  switch (action) {
    case sell::PlanAction::kPublish:
      return "publish";
    case sell::PlanAction::kReset:
      return "reset";
    case sell::PlanAction::kHold:
      return "hold";
  }
  return "hold";
}

std::string binary_text(std::int64_t bytes) {
  constexpr std::int64_t kKib = 1024;
  constexpr std::string_view kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::int64_t scale = kKib;
  std::size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && bytes / scale >= kKib) {
    scale *= kKib;
    ++unit;
  }
  // Unsigned: ten times a remainder below 2^60 exceeds int64.
  const std::uint64_t tenth = static_cast<std::uint64_t>(bytes % scale) * 10 / static_cast<std::uint64_t>(scale);
  return base::cat(bytes / scale, ".", tenth, " ", kUnits[unit]);
}

std::string amount_text(model::CpuMilli cpu) {
  return base::cat(cpu.value, "m");
}

std::string amount_text(model::MemoryBytes memory) {
  if (memory.value < 1024) return base::cat(memory.value);  // negative values too: exact is enough
  return base::cat(memory.value, " (", binary_text(memory.value), ")");
}

std::string render_text(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node,
                        const sell::NodeStrategy& strategy) {
  const sell::PluginSet& plugins = strategy.plugins;
  std::string out = base::cat("node ", node.name, ": ");
  switch (plan.action) {
    case sell::PlanAction::kPublish:
      if (plugins.batch_resource) {
        out += base::cat("offers batch-cpu ", amount_text(plan.publish.batch_cpu.value_or(plan.batch_cpu.published)),
                         " and batch-memory ",
                         amount_text(plan.publish.batch_memory.value_or(plan.batch_memory.published)), "\n");
      } else {
        out += base::cat("offers mid-cpu ", amount_text(plan.publish.mid_cpu.value_or(plan.mid_cpu.published)),
                         " and mid-memory ", amount_text(plan.publish.mid_memory.value_or(plan.mid_memory.published)),
                         "\n");
      }
      break;
    case sell::PlanAction::kReset:
      out += base::cat("offers nothing; its ", reset_words(plugins), " resources are removed\n");
      break;
    case sell::PlanAction::kHold:
      out += "stays unchanged\n";
      break;
  }
  out += base::cat("why: ", why(plan.reason), "\n");
  for (const auto ignored : strategy.ignored) out += base::cat("note: ", why(ignored), "\n");
  for (const auto off : switched_off(plan, plugins)) out += base::cat("note: ", why(off), "\n");
  for (const auto safe : plan.safeguards) {
    const bool below = safe == model::Reason::kSafeCutsOnly && measured_below_zero(node);
    out += base::cat("profile tidemark: ", why(safe), below ? "; a measured value was negative" : "", "\n");
  }
  if (plan.action == sell::PlanAction::kPublish) out += render_amounts(plan, node, strategy);
  if (plugins.batch_resource) out += render_zones_text(plan, node);
  if (plan.action != sell::PlanAction::kHold) out += render_ratios_text(plan, node, plugins);
  return out;
}

namespace {

// The node's values; the terms of a resource show the formula's.
Json publish_json(const model::ExtendedResources& publish) {
  Json out = Json::object();
  const auto add = [&out](std::string_view name, const auto& amount) {
    if (amount) out[name] = Json(amount->value);
  };
  add(model::kBatchCpu, publish.batch_cpu);
  add(model::kBatchMemory, publish.batch_memory);
  add(model::kMidCpu, publish.mid_cpu);
  add(model::kMidMemory, publish.mid_memory);
  return out;
}

}  // namespace

Json render_json(const sell::OvercommitPlan& plan, const model::NodeSnapshot& node,
                 const sell::NodeStrategy& strategy) {
  Json out = Json::object({{"schema", kExplainSchema},
                           {"node", Json(node.name)},
                           {"action", Json(action_word(plan.action))},
                           {"reason", why_json(plan.reason)},
                           {"cpuReclaimThresholdPercent", strategy.values.cpu_reclaim_threshold_percent},
                           {"memoryReclaimThresholdPercent", strategy.values.memory_reclaim_threshold_percent}});
  Json ignored = Json::array();
  for (const auto reason : strategy.ignored) ignored.as_array().push_back(why_json(reason));
  out["ignored"] = std::move(ignored);
  Json off = Json::array();
  for (const auto reason : switched_off(plan, strategy.plugins)) off.as_array().push_back(why_json(reason));
  out["switchedOff"] = std::move(off);
  Json safeguards = Json::array();
  for (const auto reason : plan.safeguards) safeguards.as_array().push_back(why_json(reason));
  out["safeguards"] = std::move(safeguards);
  if (measured_below_zero(node)) out["measuredBelowZero"] = Json(true);
  if (plan.warm_up.pods > 0) {
    out["warmUp"] = Json::object({{"pods", plan.warm_up.pods},
                                  {"byRequest", plan.warm_up.by_request},
                                  {"addedCpuMilli", plan.warm_up.added.cpu.value},
                                  {"addedMemoryBytes", plan.warm_up.added.memory.value},
                                  {"addedToMaxCpuMilli", plan.warm_up.added_to_max.cpu.value},
                                  {"addedToMaxMemoryBytes", plan.warm_up.added_to_max.memory.value}});
  }
  if (strategy.plugins.batch_resource) out["zones"] = render_zones_json(plan, node);
  if (strategy.plugins.cpu_normalization) out["normalization"] = render_normalization_json(plan.normalization, node);
  if (strategy.plugins.resource_amplification)
    out["amplification"] = render_amplification_json(plan.amplification, node);
  if (plan.action != sell::PlanAction::kPublish) return out;
  out["publish"] = publish_json(plan.publish);
  if (strategy.plugins.batch_resource) {
    out[model::kBatchCpu] = batch_json(plan.batch_cpu, node.published.batch_cpu);
    out[model::kBatchMemory] = batch_json(plan.batch_memory, node.published.batch_memory);
  }
  if (strategy.plugins.mid_resource) {
    out[model::kMidCpu] = mid_json(plan.mid_cpu, node.published.mid_cpu);
    out[model::kMidMemory] = mid_json(plan.mid_memory, node.published.mid_memory);
  }
  return out;
}

}  // namespace tidemark::policy::explain
