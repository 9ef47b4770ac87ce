#include "main/past_files.h"

#include <functional>
#include <utility>

#include "cli/incident.h"
#include "cli/look_back.h"
#include "cli/node_record.h"
#include "policy/explain/incident_text.h"

namespace tidemark::main {
namespace {

Result<Json> first_answer(const std::vector<std::string>& directories,
                          const std::function<Result<Json>(const std::string& directory)>& ask) {
  Result<Json> answer = fail(ErrorKind::kNotFound, "no directory was given");
  for (const std::string& directory : directories) {
    answer = ask(directory);
    if (answer) break;
  }
  return answer;
}

}  // namespace

console::PastFiles past_files(std::vector<std::string> journals, std::vector<std::string> agents) {
  console::PastFiles out;
  if (!journals.empty()) {
    out.offer = [journals = std::move(journals)](const std::string& node, base::WallTime at) {
      return first_answer(journals, [&](const std::string& directory) -> Result<Json> {
        TM_TRY(const std::string text, cli::explain_node_at({directory, node, at, true}));
        return Json::parse(text);
      });
    };
  }
  if (agents.empty()) return out;
  out.record = [agents](const std::string& node, base::WallTime from, base::WallTime to) {
    return first_answer(agents,
                        [&](const std::string& directory) { return cli::node_record_json(directory, node, from, to); });
  };
  out.incident = [agents](const std::string& ns, const std::string& name, base::WallTime from, base::WallTime to) {
    return first_answer(agents, [&](const std::string& directory) -> Result<Json> {
      cli::IncidentOptions options;
      options.question = {ns, name, from, to};
      options.state_dir = directory;
      TM_TRY(const auto report, cli::examine_incident(options));
      return policy::explain::render_json(report);
    });
  };
  return out;
}

}  // namespace tidemark::main
