// Picks the sub-command. What each does with the real world lies in its own file beside this one.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "main/process.h"
#include "runtime/shim/shim.h"

namespace {

using namespace tidemark;

struct Command {
  std::string_view name;
  std::string_view summary;
  int (*run)(const std::vector<std::string>& args);
  std::string_view peer = {};  // the peer's program that it stands for: called by that name it needs no word
};

constexpr Command kCommands[] = {
    {"manager", "turns what nodes measure into batch resources", main::run_manager, "koord-manager"},
    {"agent", "measures one node and what runs on it, and reports it", main::run_agent, "koordlet"},
    {"yarn-operator", "tells YARN what it may hand out of each node, and Kubernetes what YARN holds",
     main::run_yarn_operator, "koord-yarn-operator"},
    {"yarn-copilot", "tells what YARN's containers on this node are, limits and ends them", main::run_yarn_copilot,
     "yarn-copilot-agent"},
    {"generate", "prints the settings of a NodeManager on a node of Kubernetes", main::run_generate},
    {"explain", "shows why a node may sell what it sells", main::run_explain},
    {"incident", "tells what held a pod back, and whose doing that was", main::run_incident},
    {"plan", "shows what other settings would do, node by node and in sum", main::run_plan},
    {"replay", "makes recorded decisions again and shows what would come out otherwise", main::run_replay},
    {"check", "watches from outside whether more is offered than there is", main::run_check},
    {"list", "shows the settings that were in force, and what is being rolled out", main::run_list},
    {"report", "states of all nodes, what a manager would tell them beside what is in force, evictions",
     main::run_report},
    {"undo", "brings earlier settings back", main::run_undo},
    {"hold", "stops a roll-out of settings where it is", main::run_hold},
    {"resume", "lets a held roll-out of settings go on, or a pool that evictions stopped sell again", main::run_resume},
    {"off", "stops selling to offline work, at once or when what runs has ended", main::run_off},
    {"on", "lets nodes sell again", main::run_on},
    {"observe", "decides and shows for nodes, and writes nothing", main::run_observe},
    {"override", "puts the water line of a pool, or of all, somewhere else for a while", main::run_override},
    {"doctor", "tells what on this machine, or in the cluster, stands in the way of offline work", main::run_doctor},
    {"preview", "shows where the water line of a pool will be in the next days, and why", main::run_preview},
    {"local", "runs, lists, reads and stops online and batch work of one machine", main::run_local},
    {"up", "runs everything on this machine, without a cluster", main::run_up},
};

std::string help() {
  std::string out =
      "usage: tidemark COMMAND [FLAGS]\n\nLets offline work run in the idle part of machines that serve online "
      "traffic.\n\n";
  for (const auto& command : kCommands) {
    out += base::cat("  ", command.name, std::string(15 - command.name.size(), ' '), command.summary, "\n");
  }
  out += "\ntidemark COMMAND --help tells a command's flags. Exit codes: 0 done, 1 failed, 2 wrong use.\n";
  return out;
}

int wrong_use(const std::string& why) {
  return main::wrong_use(base::cat("tidemark: ", why, "\n", help()));
}

}  // namespace

int main(int argc, char** argv) {
  // Not for people: what the runtime of `up` starts beside each container, and before anything else that costs memory.
  if (argc == 4 && argv[1] == tidemark::runtime::kShimCommand) {
    return tidemark::runtime::run_shim(argv[2], base::SystemClock(),
                                       static_cast<int>(base::parse_int(argv[3]).value_or(-1)));
  }
  tidemark::main::prepare_process();
  const std::string_view program = argc > 0 ? argv[0] : "";
  const std::string_view called = program.substr(program.rfind('/') + 1);
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  for (const auto& command : kCommands) {
    if (!command.peer.empty() && command.peer == called) return command.run(words);
  }
  if (words.empty()) return wrong_use("which command?");
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") return tidemark::main::print(help());
  if (words[0] == "--version" || words[0] == "version") {
    return tidemark::main::print("tidemark " TIDEMARK_VERSION "\n");
  }
  std::vector<std::string_view> names;
  for (const auto& command : kCommands) {
    if (command.name == words[0]) return command.run({words.begin() + 1, words.end()});
    names.push_back(command.name);
  }
  const auto meant = base::nearest(words[0], names);
  return wrong_use(base::cat("there is no command ", base::in_quotes(words[0]),
                             meant ? base::cat("; did you mean ", *meant, "?") : std::string()));
}
