// tidemark-agent: only the code that a node needs.
#include "main/process.h"
#include "main/started.h"

int main(int argc, char** argv) {
  using namespace tidemark;
  static constexpr main::StartedCommand kCommands[] = {{"agent", main::run_agent}};
  return main::run_started(main::kAgentProgram, kCommands, argc, argv);
}
