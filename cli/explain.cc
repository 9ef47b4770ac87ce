#include "cli/explain.h"

#include <utility>

#include "base/text.h"
#include "cli/look_back.h"
#include "manager/state/node_permit.h"
#include "operate/explain.h"
#include "policy/explain/grounds_text.h"
#include "policy/explain/offer_text.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/sources_text.h"
#include "policy/explain/state_text.h"

namespace tidemark::cli {
namespace {

std::string render_text(const operate::Explanation& explanation) {
  const manager::NodeDecision& decision = explanation.decision;
  std::string out = policy::explain::render_text(explanation.shown(), decision.snapshot, decision.strategy());
  out += policy::explain::render_text(decision.offer, explanation.names());
  out += policy::explain::classes_off_text("kubernetes", decision.kubernetes_off);
  out += policy::explain::classes_off_text("yarn", decision.yarn_off);
  out += base::cat("state: ", manager::node_permit_text(decision.permit), "\n");
  out += policy::explain::render_text(explanation.grounds);
  out += policy::explain::render_text(explanation.sources);
  for (const auto& note : explanation.notes) out += base::cat("note: ", note, "\n");
  return out;
}

}  // namespace

net::Task<Result<std::string>> explain_node(net::EventLoop& loop, kube::Client& client, ExplainOptions options) {
  operate::ExplainQuestion question;
  question.node = options.node;
  question.config_namespace = options.config_namespace;
  question.config_name = options.config_name;
  question.zones = options.zones;
  question.plugins = options.plugins;
  question.limit = options.limit;
  question.journal = options.journal;
  if (!options.journal.empty()) {
    question.remember = [directory = options.journal, node = options.node](base::WallTime now) {
      return remembered_of(directory, node, now);
    };
  }
  TM_CO_TRY(const auto explanation, co_await operate::explain_node(loop, client, std::move(question)));
  co_return options.json ? operate::render_json(explanation).dump_pretty() + "\n" : render_text(explanation);
}

}  // namespace tidemark::cli
