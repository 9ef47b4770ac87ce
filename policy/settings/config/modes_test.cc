// Modes as tidemark-config has them.
#include "model/settings/modes.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "policy/settings/config/parse.h"

namespace tidemark::policy::settings {
namespace modes_test {

using model::Strategy;

constexpr model::Mode kObserve = model::Mode::kObserve;
constexpr model::Mode kEnforce = model::Mode::kEnforce;

waterline::TidemarkConfig must(std::string_view text) {
  auto config = parse_tidemark_config(text, waterline::Zones());
  EXPECT_TRUE(config.has_value()) << text << "\n" << (config ? "" : to_string(config.error()));
  return config ? std::move(*config) : waterline::TidemarkConfig();
}
model::PoolModes modes_in(std::string_view mode) {
  return must(base::cat("schema: 1\nmode: ", mode)).rest.modes;
}
model::AgentModes agent_modes(model::Mode otherwise, std::vector<std::pair<Strategy, model::Mode>> named) {
  model::AgentModes modes{otherwise, {}};
  for (const auto& [strategy, mode] : named) modes.named[static_cast<std::size_t>(strategy)] = mode;
  return modes;
}

TEST(Modes, ResolvesModesByComponentAndStrategy) {
  EXPECT_EQ(modes_in("observe"), (model::PoolModes{kObserve, kObserve, {kObserve, {}}, kObserve}));
  EXPECT_EQ(modes_in("enforce"), model::PoolModes());
  EXPECT_EQ(modes_in("{}"), model::PoolModes());
  EXPECT_EQ(modes_in("{agent: observe}"), (model::PoolModes{kEnforce, kEnforce, {kObserve, {}}, kEnforce}));
  EXPECT_EQ(modes_in("{yarn: observe}"), (model::PoolModes{kEnforce, kEnforce, {}, kObserve}));
  EXPECT_EQ(
      modes_in("{capacity: observe, agent: {default: observe, cpuSuppress: enforce}}"),
      (model::PoolModes{kObserve, kEnforce, agent_modes(kObserve, {{Strategy::kCpuSuppress, kEnforce}}), kEnforce}));
  // Every strategy by the name that metrics and the journal have for it.
  for (const Strategy each : model::kStrategies) {
    const model::AgentModes modes = modes_in(base::cat("{agent: {", to_string(each), ": observe}}")).agent;
    EXPECT_EQ(modes, agent_modes(kEnforce, {{each, kObserve}}));
    for (const Strategy other : model::kStrategies) EXPECT_EQ(modes.of(other), other == each ? kObserve : kEnforce);
  }
}

TEST(Modes, ReactionHasAModePerPool) {
  const auto config = must(R"(
schema: 1
mode: {agent: {cpuSuppress: enforce, reaction: observe}}
pools:
- {name: canary, nodeSelector: {matchLabels: {a: a}}, mode: {agent: {reaction: enforce}}}
- {name: shown, nodeSelector: {matchLabels: {a: b}}, mode: {agent: {cpuSuppress: observe, reaction: enforce}}}
- {name: all, nodeSelector: {matchLabels: {a: c}}, mode: {agent: enforce}}
- {name: none, nodeSelector: {}, mode: {agent: {default: observe}}}
)");
  const auto of = [&](std::size_t pool) { return config.pools.at(pool).modes.agent.of_reaction(); };
  EXPECT_EQ(config.rest.modes.agent.of_reaction(), kObserve);
  EXPECT_EQ(of(0), kEnforce);
  EXPECT_EQ(of(1), kObserve) << "what suppression may not write is not written in between either";
  EXPECT_EQ(of(2), kEnforce) << "one mode is for all";
  EXPECT_EQ(of(3), kObserve);
  EXPECT_EQ(model::AgentModes().of_reaction(), kEnforce) << "unset: the mode of suppression";
  EXPECT_EQ(modes_in("{agent: observe}").agent.of_reaction(), kObserve);
}

TEST(Modes, PoolModesOverrideTheDocuments) {
  const auto config = must(R"(
schema: 1
mode: {capacity: enforce, nodeSlo: enforce, agent: {default: observe, cpuSuppress: enforce}}
pools:
- {name: same, nodeSelector: {matchLabels: {a: a}}, mode: {capacity: observe}}
- {name: more, nodeSelector: {matchLabels: {a: b}}, mode: {agent: {batchLimits: enforce}}}
- {name: less, nodeSelector: {matchLabels: {a: c}}, mode: {agent: {cpuSuppress: observe}}}
- {name: all, nodeSelector: {matchLabels: {a: d}}, mode: {agent: enforce}}
- {name: none, nodeSelector: {}, mode: observe}
)");
  const auto of = [&](std::size_t pool) { return config.pools.at(pool).modes.agent; };
  EXPECT_EQ(of(0), config.rest.modes.agent);
  EXPECT_EQ(of(1), agent_modes(kObserve, {{Strategy::kCpuSuppress, kEnforce}, {Strategy::kBatchLimits, kEnforce}}));
  EXPECT_EQ(of(2), agent_modes(kObserve, {{Strategy::kCpuSuppress, kObserve}}));
  EXPECT_EQ(of(3), model::AgentModes()) << "one mode is for all strategies";
  EXPECT_EQ(of(4), agent_modes(kObserve, {})) << "one mode is for everything";
}

TEST(Modes, ReportsAnUnknownModeWithASuggestion) {
  const auto refused = parse_tidemark_config(R"(
schema: 1
mode: {agents: observe, agent: {default: observed, cpuSupress: enforce, memory: observe}}
pools:
- {name: a, nodeSelector: {}, mode: {agent: off}}
- {name: b, nodeSelector: {matchLabels: {x: y}}, mode: {agent: [cpuSuppress], nodeSlo: {default: observe}}}
)",
                                             waterline::Zones());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(to_string(refused.error()),
            R"(mode.agent.default: wanted observe or enforce, found "observed"; did you mean observe?
mode.agent."cpuSupress": unknown setting; did you mean cpuSuppress?
mode.agent."memory": unknown setting
mode."agents": unknown setting; did you mean agent?
pools[0] (a).mode.agent: wanted observe or enforce, found "off"
pools[1] (b).mode.nodeSlo: wanted observe or enforce, found {"default":"observe"}
pools[1] (b).mode.agent: wanted observe or enforce, found ["cpuSuppress"])");
}

}  // namespace modes_test
}  // namespace tidemark::policy::settings
