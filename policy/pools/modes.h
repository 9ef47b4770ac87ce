// Whether what is decided is written, for each thing that the manager does on a node and that the node's agent does.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/node_strategy.h"

namespace tidemark::policy {

enum class Mode : std::uint8_t {
  kObserve,  // decided and shown, not written
  kEnforce,
};

// Of the strategies of an agent.
struct AgentModes {
  Mode otherwise = Mode::kEnforce;  // "default": of a strategy that is not named
  std::array<std::optional<Mode>, model::kStrategies.size()> named{};
  // Of what kCpuSuppress does between two decisions (policy/reaction). Not named: as that strategy.
  std::optional<Mode> reaction{};

  Mode of(model::Strategy strategy) const;
  Mode of_reaction() const;  // what is decided for suppression and not written is not written in between either
  bool operator==(const AgentModes&) const = default;
};

struct PoolModes {
  Mode capacity = Mode::kEnforce;  // batch and mid resources in the node's status
  Mode node_slo = Mode::kEnforce;  // the NodeSLO that the node's agent enforces
  AgentModes agent{};              // what the agent is told there to do with it
  Mode yarn = Mode::kEnforce;      // what ResourceManagers are told of the node
  bool operator==(const PoolModes&) const = default;
};

inline constexpr std::string_view kReactionMode = "reaction";

std::string_view to_string(Mode);

}  // namespace tidemark::policy
