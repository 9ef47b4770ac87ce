#include "operate/plan.h"

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/settings/effective.h"
#include "manager/specs/node_slo.h"
#include "manager/state/mark_write.h"
#include "model/names.h"
#include "operate/cluster_now.h"
#include "operate/in_force.h"
#include "operate/manifests.h"
#include "operate/plan_changes.h"
#include "operate/surroundings.h"
#include "policy/explain/admission_text.h"
#include "policy/settings/check.h"

namespace tidemark::operate {
namespace {

using base::cat;

std::vector<policy::settings::SettingsKey> keys_of(const Manifests::Data& data) {
  std::vector<policy::settings::SettingsKey> keys;
  for (const auto& [key, text] : data) keys.push_back({key, text});
  return keys;
}

// All that is wrong with the new settings, by the rules of the webhook.
void check(const Manifests& wanted, const ClusterNow& now, const PlanOptions& options,
           std::vector<SettingsFault>& problems, std::vector<std::string>& warnings) {
  if (wanted.slo) {
    std::vector<std::vector<model::Label>> labels;
    std::vector<policy::settings::LabelledNode> nodes;
    labels.reserve(now.nodes.size());  // under the nodes
    for (const auto& node : now.nodes) {
      labels.push_back(manager::labels_of(node));
      nodes.push_back({node.meta.name.view(), labels.back()});
    }
    // Against nothing, so that every key is looked at.
    const auto after = keys_of(*wanted.slo);
    policy::settings::SettingsEdit edit;
    edit.after = after;
    edit.nodes = nodes;
    const auto verdict = policy::settings::check_settings(edit);
    for (const auto& problem : verdict.errors) {
      problems.push_back({options.config_name, problem.key, problem.place, policy::explain::render_text(problem)});
    }
    for (const auto& problem : verdict.warnings) warnings.push_back(policy::explain::render_text(problem));
    if (verdict.left_off > 0) problems.push_back({options.config_name, "", "", cat("and ", verdict.left_off, " more")});
  }
  if (!wanted.tidemark) return;
  const std::string map(model::kTidemarkConfigName);
  for (const auto& [key, text] : *wanted.tidemark) {
    if (key != model::kTidemarkConfigKey) {
      problems.push_back({map, key, "", cat(map, ": key ", key, ": wanted only ", model::kTidemarkConfigKey)});
      continue;
    }
    const auto config = policy::settings::parse_tidemark_config(text, options.zones(text));
    if (config) continue;
    for (const auto& problem : config.error()) {
      problems.push_back(
          {map, key, problem.place, cat(map, ": ", problem.place, problem.place.empty() ? "" : ": ", problem.why)});
    }
  }
}

SurroundingsWanted either(const SurroundingsWanted& a, const SurroundingsWanted& b) {
  return {a.profiles || b.profiles, a.waiting || b.waiting};
}

}  // namespace

net::Task<Result<SettingsPlan>> plan_settings(net::EventLoop& loop, kube::Client& client, PlanOptions options) {
  SettingsPlan plan;
  Manifests wanted;
  if (options.manifests) {
    wanted = *options.manifests;
  } else {
    for (auto& problem : read_manifests(options.text, options.config_name, wanted)) {
      plan.problems.push_back({"", "", "", std::move(problem)});
    }
  }
  if (!plan.problems.empty()) co_return plan;
  ClusterNow now;
  TM_CO_TRY_VOID(
      co_await read_cluster(loop, client, {options.config_namespace, options.config_name, options.limit}, now));
  check(wanted, now, options, plan.problems, plan.warnings);
  if (!plan.problems.empty()) co_return plan;

  InForce in_force(now.maps, options.zones);
  std::optional<manager::Revision> after;
  std::optional<manager::Revision> unslewed;  // the same, with growth at once
  std::optional<Surroundings> beside;
  manager::ExpectedUse expected;
  std::set<std::string> stopped;
  bool moves = false;
  std::size_t silent = 0;
  for (const kube::Node& node : now.nodes) {
    TM_CO_TRY(const auto* const before, in_force.on(node));
    if (!after) {
      policy::settings::SettingsTexts texts = in_force.target().value_or(before->revision.texts);
      if (wanted.slo) texts.slo = *wanted.slo;
      if (wanted.tidemark) {
        const auto key = wanted.tidemark->find(std::string(model::kTidemarkConfigKey));
        texts.tidemark = key == wanted.tidemark->end() ? std::nullopt : std::optional(key->second);
      }
      after = manager::revision_of(texts, options.zones);
      if (!after || !after->colocation.config) {
        co_return fail(ErrorKind::kInvalid, "the settings in force beside the new ones cannot be used together");
      }
      unslewed = without_slew(*after);
    }
    const auto labels = manager::labels_of(node);
    if (!beside) {
      const auto both = either(wanted_by(before->revision.tidemark), wanted_by(after->tidemark));
      beside = co_await read_surroundings(loop, client, options.config_namespace, options.limit, both,
                                          after->tidemark.classes);
      expected = beside->expected(loop.clock().wall());
    }
    AboutNode around = about(now, node);
    around.state = as_a_manager_remembers(node, around.metric, loop.clock());
    around.waiting = &beside->waiting;
    around.expected = &expected;
    const auto was = decided(now, node, before->revision, options.plugins, loop.clock(), around);
    const auto is = decided(now, node, *after, options.plugins, loop.clock(), around);
    const auto ends = is.offer.motion ? decided(now, node, *unslewed, options.plugins, loop.clock(), around) : is;
    if (is.offer.stopped) stopped.insert(is.permit.pool);
    moves = moves || is.offer.motion;
    // It offers something, and no report of it is young enough to go by.
    const bool offers = manager::carried_by(node).origin.has_value();
    if (is.offer.motion && offers && around.state == policy::sell::OfferState()) ++silent;
    const auto slo = [&](const manager::Revision& revision) {
      return manager::decide_node_slo(&node, nullptr, revision, loop.clock().wall(), now.overrides_known()).spec;
    };
    plan.nodes.push_back({std::string(node.meta.name.view()),
                          offered_of(was, policy::waterline::pool_of(before->revision.tidemark, labels).name),
                          offered_of(is, policy::waterline::pool_of(after->tidemark, labels).name),
                          offered_of(ends, policy::waterline::pool_of(after->tidemark, labels).name),
                          changed_parts(slo(before->revision), slo(*after))});
  }
  if (in_force.by_node())
    plan.notes.emplace_back("a rollout is in progress; \"before\" shows the settings in force on each node");
  if (moves) {
    plan.notes.emplace_back(
        "with profile tidemark an offer grows in steps: the plan shows the next step, and the end if nothing else "
        "changes");
  }
  if (silent > 0) {
    plan.notes.push_back(cat(silent, silent == 1 ? " node" : " nodes",
                             " with profile tidemark did not report lately: the plan shows the held amount; without "
                             "reports an offer falls in steps to the recent minimum of that hour"));
  }
  for (const auto& pool : stopped) {
    plan.notes.push_back(cat("evictions of pool ", pool,
                             " spiked: the plan shows only what is sold on its nodes, until "
                             "selling resumes (tidemark report budgets, tidemark resume pool ",
                             pool, ")"));
  }
  for (const auto& note : now.notes) plan.notes.push_back(note);
  if (beside) plan.notes.insert(plan.notes.end(), beside->notes.begin(), beside->notes.end());
  plan.notes.emplace_back("observed nodes are shown as if they were written; nodes that are off offer nothing");
  plan.notes.emplace_back("new settings reach the nodes by their rollout (tidemark list revisions)");
  co_return plan;
}

}  // namespace tidemark::operate
