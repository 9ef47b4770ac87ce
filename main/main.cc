// tidemark: selects the sub-command. Each sub-command has its own file in this directory.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "main/process.h"
#include "main/start_beside.h"
#include "main/started.h"
#include "runtime/shim/shim.h"

namespace {

using namespace tidemark;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& args);  // null: `program` runs it
  std::string_view program = {};                     // the executable beside this one that runs the command
  std::string_view peer = {};  // the Koordinator program that it replaces; under that name no sub-command is needed
};

// The gateway explains its runs; everything else is calculated from the cluster.
int run_explain_command(const std::vector<std::string>& args) {
  if (!args.empty() && args[0] == "run") return main::run_explain_run({args.begin() + 1, args.end()});
  return main::start_beside(main::kHadoopProgram, "explain", args);
}

constexpr Command kCommands[] = {
    {"manager", "publish idle capacity of nodes as batch resources", main::run_manager, {}, "koord-manager"},
    {"agent", "measure one node, report its usage, limit and evict offline work", nullptr, main::kAgentProgram,
     "koordlet"},
    {"yarn-operator", "publish to YARN what it may use of each node, and to Kubernetes what YARN holds", nullptr,
     main::kHadoopProgram, "koord-yarn-operator"},
    {"yarn-copilot", "list, limit and evict the YARN containers of this node for the agent", nullptr,
     main::kHadoopProgram, "yarn-copilot-agent"},
    {"gateway", "send Spark jobs to Kubernetes or YARN, and follow them", nullptr, main::kHadoopProgram},
    {"generate", "print the yarn-site.xml of a NodeManager on a Kubernetes node", nullptr, main::kHadoopProgram},
    {"explain", "show why a node offers what it offers, which settings apply, why a run went where it went",
     run_explain_command},
    {"incident", "show what slowed or evicted a pod, and which component caused it", main::run_incident},
    {"plan", "show the effect of new settings, per node and in total", main::run_plan},
    {"replay", "repeat recorded decisions and show the ones that differ", main::run_replay},
    {"console", "show the cluster on a web page on this machine", main::run_console},
    {"top", "show the live state of the cluster in this terminal", main::run_top},
    {"check", "check whether nodes offer more than they have", nullptr, main::kHadoopProgram},
    {"list", "list the revisions of the settings and the current rollout", main::run_list},
    {"report", "show node states, pending changes, the progress of off, eviction budgets or evictions",
     main::run_report},
    {"undo", "restore earlier settings", main::run_undo},
    {"pause", "pause the rollout of settings", main::run_pause},
    {"resume", "resume a paused rollout, or selling in a pool that evictions stopped", main::run_resume},
    {"off", "stop selling, after a drain or at once", main::run_off},
    {"on", "start selling again", main::run_on},
    {"observe", "compute and show decisions for nodes, but write nothing", main::run_observe},
    {"node", "let nodes join co-location or leave it, step by step", main::run_node},
    {"override", "change the water line of a pool or the cluster for a limited time", main::run_override},
    {"uninstall", "remove what Tidemark wrote to the cluster", main::run_uninstall},
    {"doctor", "report what prevents offline work on this machine, in the cluster or at YARN", main::run_doctor},
    {"preview", "show the water line of a pool for the next days, and why", main::run_preview},
    {"local", "run, list and stop online and batch work on one machine", main::run_local},
    {"spark", "submit, list and cancel Spark jobs at the gateway", main::run_spark},
    {"up", "run all components on this machine, without a cluster", main::run_up},
};

std::string help() {
  std::string out =
      "usage: tidemark COMMAND [FLAGS]\n\nRuns offline work on the idle capacity of machines that serve online "
      "traffic.\n\n";
  for (const auto& command : kCommands) {
    out += base::cat("  ", command.name, std::string(15 - command.name.size(), ' '), command.summary, "\n");
  }
  out += "\nFor the flags of a command, run: tidemark COMMAND --help. Exit codes: 0 done, 1 failed, 2 wrong use.\n";
  return out;
}

int run(const Command& command, const std::vector<std::string>& args) {
  return command.run != nullptr ? command.run(args) : main::start_beside(command.program, command.name, args);
}

int wrong_use(const std::string& why) {
  return main::wrong_use(base::cat("tidemark: ", why, "\n", help()));
}

}  // namespace

int main(int argc, char** argv) {
  // Internal: the runtime of `up` starts one shim per container. It runs before anything that allocates memory.
  if (argc == 4 && argv[1] == tidemark::runtime::kShimCommand) {
    return tidemark::runtime::run_shim(argv[2], base::SystemClock(),
                                       static_cast<int>(base::parse_int(argv[3]).value_or(-1)));
  }
  tidemark::main::prepare_process();
  const std::string_view program = argc > 0 ? argv[0] : "";
  const std::string_view called = program.substr(program.rfind('/') + 1);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (const auto& command : kCommands) {
    if (!command.peer.empty() && command.peer == called) return run(command, words);
  }
  if (called == "tidemark-spark-submit" || called == "spark-submit") return tidemark::main::run_spark_submit(words);
  if (words.empty()) return wrong_use("command is missing");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return tidemark::main::print(help());
  if (words[0] == "--version" || words[0] == "version") {
    return tidemark::main::print("tidemark " TIDEMARK_VERSION "\n");
  }
  std::vector<std::string_view> names;
  for (const auto& command : kCommands) {
    if (command.name == words[0]) return run(command, {words.begin() + 1, words.end()});
    names.push_back(command.name);
  }
  const auto meant = base::nearest(words[0], names);
  return wrong_use(base::cat("unknown command ", base::in_quotes(words[0]),
                             meant ? base::cat("; did you mean ", *meant, "?") : std::string()));
}
