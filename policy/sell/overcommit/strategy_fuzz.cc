// Any text is parsed as settings or rejected with a reason; any annotation is merged or ignored; the result decides any
// node.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "policy/sell/overcommit/overcommit.h"
#include "policy/sell/overcommit/strategy.h"
#include "policy/sell/overcommit/writes.h"

namespace {

namespace policy = tidemark::policy;
namespace model = tidemark::model;

void check(const policy::sell::OvercommitPlan& plan, const model::NodeSnapshot& node,
           tidemark::model::Profile profile) {
  const auto& ratio = plan.normalization.ratio_percent;
  TM_CHECK(!ratio || (*ratio >= policy::sell::kRatioPercentMin && *ratio <= policy::sell::kRatioPercentMax),
           "a ratio is 1 to 5");
  TM_CHECK(!plan.normalization.annotate || ratio, "what is annotated is known");
  const bool sets = plan.amplification.action == policy::sell::AnnotationAction::kSet;
  TM_CHECK(sets != plan.amplification.text.empty(), "what is set has a text");
  for (const auto& zone : plan.zones.zones) {
    TM_CHECK(zone.batch_cpu.value >= 0 && zone.batch_memory.value >= 0, "no zone offers less than nothing");
  }
  if (plan.origin) TM_CHECK(plan.origin->cpu.value >= 0 && plan.origin->memory.value >= 0, "nor does the node");
  (void)policy::sell::needs_ratio_write(node, plan, profile);
}

// A node that carries the text wherever it carries one.
model::NodeSnapshot node_with(std::string_view text) {
  model::NodeSnapshot node;
  node.capacity = node.allocatable = {{32'000}, {std::int64_t{1} << 37}};
  node.metric.emplace();
  node.metric->update_time = tidemark::base::WallTime{};
  node.metric->has_node_metric = true;
  node.topology.emplace();
  node.topology->cpu = model::CpuBasicInfo{"Model A", true, true};
  node.topology->zones = {{"node-0", model::CpuMilli{32'000}, model::MemoryMilli{std::int64_t{1} << 46}}};
  node.normalization_annotation = text;
  node.amplification_annotation = text;
  return node;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto normalization = policy::sell::parse_normalization_config(text);
  const auto amplification = policy::sell::parse_amplification_config(text);
  TM_CHECK(normalization || !normalization.error().message.empty(), "a refusal says what is wrong");
  TM_CHECK(amplification || !amplification.error().message.empty(), "a refusal says what is wrong");
  const auto config = policy::sell::parse_colocation_config(text);
  if (!config) {
    TM_CHECK(!config.error().error.message.empty(), "a refusal says what is wrong");
    return 0;
  }
  const model::NodeSnapshot node = node_with(text);
  for (const auto profile : {tidemark::model::Profile::kKoordinator, tidemark::model::Profile::kTidemark}) {
    const policy::sell::OvercommitSettings settings{
        *config, normalization ? &*normalization : nullptr, amplification ? &*amplification : nullptr, {}, profile};
    const auto strategy = policy::sell::strategy_for(settings, {}, text);
    TM_CHECK(strategy.enabled == (config->cluster.enable && strategy.values.enable),
             "a node can only switch itself off");
    check(policy::sell::overcommit(node, strategy, tidemark::base::WallTime{}), node, profile);
  }
  return 0;
}
