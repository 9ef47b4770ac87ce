#include "main/past_files.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "base/text.h"
#include "cli/incident.h"
#include "cli/look_back.h"
#include "cli/node_record.h"
#include "console/decisions.h"
#include "journal/audit_file.h"
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

std::int64_t seconds(base::WallTime at) {
  return std::chrono::floor<std::chrono::seconds>(at.since_epoch).count();
}
std::string range(std::string_view path, base::WallTime from, base::WallTime to) {
  return base::cat(path, "?from=", seconds(from), "&to=", seconds(to));
}

// Questions to pods.
struct Pods {
  net::EventLoop& loop;
  operate::PastPods& pods;
  net::WorkerPool& workers;

  net::Task<Result<Json>> offer(std::string node, base::WallTime at) {
    TM_CO_TRY(const auto answers, co_await pods.ask_managers(
                                      base::cat("/past/offer?node=", net::percent_encode(node), "&at=", seconds(at))));
    std::string why;
    for (const auto& [pod, body] : answers) {
      if (body) co_return Json::parse(*body);
      why += base::cat(why.empty() ? "" : "; ", pod, ": ", body.error().message);
    }
    co_return fail(ErrorKind::kNotFound, why);
  }
  net::Task<operate::DecisionsFound> decisions(operate::DecisionQuery query) {
    operate::DecisionsFound out;
    const auto answers = co_await pods.ask_managers(base::cat("/past/decisions?", console::query_text(query)));
    if (!answers) {
      out.notes.push_back(answers.error().message);
      co_return out;
    }
    if (!query.pool.empty()) out.notes.emplace_back("an audit records no pool: those of managers are left out");
    for (const auto& [pod, body] : *answers) {
      const auto json = body ? Json::parse(*body) : std::unexpected(body.error());
      auto found = json ? console::read_decisions(*json) : std::unexpected(json.error());
      if (!found) {
        out.notes.push_back(base::cat(pod, ": ", found.error().message));
        continue;
      }
      out.journals += found->journals;
      out.audits += found->audits;
      out.more |= found->more;
      for (const std::string& note : found->notes) out.notes.push_back(base::cat(pod, ": ", note));
      std::ranges::move(found->decisions, std::back_inserter(out.decisions));
    }
    co_return out;
  }
  net::Task<Result<Json>> record(std::string node, base::WallTime from, base::WallTime to) {
    TM_CO_TRY(std::string lines, co_await pods.ask_agent(node, range("/past/record", from, to)));
    co_return co_await examine(
        [node, from, to, lines = std::move(lines)] { return cli::node_record_json_of(lines, node, from, to); });
  }
  net::Task<Result<Json>> incident(std::string node, std::string ns, std::string name, base::WallTime from,
                                   base::WallTime to) {
    cli::IncidentOptions options;
    options.question = {ns, name, from, to};
    options.node = node;
    TM_CO_TRY(options.lines, co_await pods.ask_agent(node, range("/past/record", from + -cli::kIncidentReadBefore,
                                                                 to + cli::kIncidentReadAfter)));
    if (options.lines.empty())
      co_return fail(ErrorKind::kNotFound, "the agent of node ", node, " has no record of that time");
    TM_CO_TRY(const std::string audit, co_await pods.ask_agent(node, range("/past/audit", from, to)));
    options.lines += audit;
    co_return co_await examine([options = std::move(options)]() -> Result<Json> {
      TM_TRY(const auto report, cli::examine_incident(options));
      return policy::explain::render_json(report);
    });
  }

 private:
  net::Task<Result<Json>> examine(std::function<Result<Json>()> work) {
    TM_CO_TRY(auto done, co_await workers.run<Result<Json>>(loop, std::move(work)));
    co_return std::move(done);
  }
};

}  // namespace

console::PastOfPods past_of_pods(net::EventLoop& loop, operate::PastPods& pods, net::WorkerPool& workers) {
  const auto asked = std::make_shared<Pods>(loop, pods, workers);
  return {
      [asked](std::string node, base::WallTime at) { return asked->offer(std::move(node), at); },
      [asked](std::string node, base::WallTime from, base::WallTime to) {
        return asked->record(std::move(node), from, to);
      },
      [asked](std::string node, std::string ns, std::string name, base::WallTime from, base::WallTime to) {
        return asked->incident(std::move(node), std::move(ns), std::move(name), from, to);
      },
      [asked](operate::DecisionQuery query) { return asked->decisions(std::move(query)); },
  };
}

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

journal::PastAnswers past_of_manager(const std::string& journal, const std::string& audit) {
  journal::PastAnswers out;
  if (journal.empty()) return out;
  out["/past/offer"] = [journal](const net::Target& target) -> Result<std::string> {
    const auto at = base::parse_int(target.get("at"));
    if (!at) return fail(ErrorKind::kInvalid, "at: expected seconds since 1970");
    return cli::explain_node_at(
        {journal, std::string(target.get("node")), base::WallTime{std::chrono::seconds(*at)}, true});
  };
  operate::DecisionFiles files{{journal}, {}};
  if (journal::is_file(audit)) files.audits.push_back(audit);
  out["/past/decisions"] = [files](const net::Target& target) -> Result<std::string> {
    TM_TRY(const auto query, console::decision_query(target));
    return console::decisions_document(operate::find_decisions(files, query));
  };
  return out;
}

}  // namespace tidemark::main
