// Whether a decision is written, for each action of the manager on a node and of the node's agent.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/node_strategy.h"

namespace tidemark::model {

enum class Mode : std::uint8_t {
  kObserve,  // decided and shown, not written
  kEnforce,
};

// Of the strategies of an agent.
struct AgentModes {
  Mode otherwise = Mode::kEnforce;  // "default": of a strategy that is not named
  std::array<std::optional<Mode>, kStrategies.size()> named{};
  // The mode of the reaction of kCpuSuppress between two decisions (policy/protect/reaction). Unset: that of the
  // strategy.
  std::optional<Mode> reaction{};

  Mode of(Strategy strategy) const;
  Mode of_reaction() const;  // suppression in mode observe also observes in between
  bool operator==(const AgentModes&) const = default;
};

struct PoolModes {
  Mode capacity = Mode::kEnforce;  // batch and mid resources in the node's status
  Mode node_slo = Mode::kEnforce;  // the NodeSLO that the node's agent enforces
  AgentModes agent{};              // the agent's modes for it
  Mode yarn = Mode::kEnforce;      // totals of ResourceManagers for the node
  bool operator==(const PoolModes&) const = default;
};

inline constexpr std::string_view kReactionMode = "reaction";

std::string_view to_string(Mode);

}  // namespace tidemark::model
