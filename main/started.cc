#include "main/started.h"

#include "base/text.h"
#include "main/process.h"

namespace tidemark::main {

int run_started(std::string_view program, std::span<const StartedCommand> commands, int argc, char** argv) {
  prepare_process();
  const std::string_view name = argc > 1 ? argv[1] : "";
  if (name == "--version") return print(base::cat(program, " " TIDEMARK_VERSION "\n"));
  std::string known;
  for (const auto& command : commands) {
    if (command.name == name) return command.run({argv + 2, argv + argc});
    known += base::cat(known.empty() ? "" : ", ", command.name);
  }
  const std::string help =
      base::cat("usage: ", program, " COMMAND [FLAGS]\n\n`tidemark` starts this program for its commands: ", known,
                ". Use `tidemark COMMAND`.\n");
  if (name == "--help") return print(help);
  return wrong_use(base::cat(program, ": unknown command ", base::in_quotes(name), "\n", help));
}

}  // namespace tidemark::main
