// The command line of tidemark-agent and tidemark-hadoop, which `tidemark` starts.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::main {

inline constexpr std::string_view kAgentProgram = "tidemark-agent";
inline constexpr std::string_view kHadoopProgram = "tidemark-hadoop";

struct StartedCommand {
  std::string_view name;
  int (*run)(const std::vector<std::string>& args);
};

// Runs the command that the first argument names. Returns the exit code.
int run_started(std::string_view program, std::span<const StartedCommand> commands, int argc, char** argv);

}  // namespace tidemark::main
