#include "cli/explain_config.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "manager/settings/effective.h"
#include "manager/specs/node_slo.h"
#include "manager/state/desired_store.h"
#include "model/names.h"
#include "operate/get.h"
#include "operate/pools.h"
#include "policy/explain/config_text.h"
#include "policy/protect/node_rules.h"
#include "policy/sell/overcommit/strategy_origin.h"
#include "policy/settings/nodeslo/lines_held.h"
#include "policy/settings/nodeslo/origin.h"
#include "policy/settings/nodeslo/read_rules.h"

namespace tidemark::cli {
namespace {

std::optional<std::string_view> annotation(const kube::Node& node, std::string_view key) {
  const kube::Text* found = node.meta.annotations.find(key);
  return found == nullptr ? std::nullopt : std::optional<std::string_view>(found->view());
}

// Raised lines that have ended: the agent ends them by its own clock if no manager does
// (policy/settings/nodeslo/lines_held.h).
std::string ended_lines(std::string_view slo_bytes, base::WallTime now, kube::Interner& interner) {
  const auto slo = kube::decode_node_slo(slo_bytes, {}, interner);
  if (!slo) return "";
  return to_string(policy::settings::lines_held(policy::settings::next_node_rules({}, slo->spec).rules, now));
}

}  // namespace

net::Task<Result<std::string>> explain_config(net::EventLoop& loop, kube::Client& client, ExplainOptions options) {
  kube::Interner interner;
  TM_CO_TRY(const auto node_bytes,
            co_await operate::get_if_there(client, kube::kNodes, "", options.node, options.limit));
  if (!node_bytes) co_return fail(ErrorKind::kNotFound, "no such node: ", base::in_quotes(options.node));
  TM_CO_TRY(const kube::Node node, kube::decode_node(*node_bytes, manager::node_fields(), interner));
  manager::SettingsMaps maps;
  TM_CO_TRY(maps.slo, co_await operate::config_map(client, options.config_namespace, options.config_name, options.limit,
                                                   interner));
  TM_CO_TRY(maps.tidemark,
            co_await operate::config_map(client, options.config_namespace, std::string(model::kTidemarkConfigName),
                                         options.limit, interner));
  TM_CO_TRY(maps.revisions, co_await operate::config_map(client, options.config_namespace,
                                                         std::string(model::kRevisionsName), options.limit, interner));
  TM_CO_TRY(const auto slo_bytes,
            co_await operate::get_if_there(client, kube::kNodeSlos, "", options.node, options.limit));

  const auto labels = manager::labels_of(node);
  policy::explain::ConfigInForce shown;
  // Settings reach the nodes in steps: shows the texts in force on this node. If they are unknown, the present ones.
  const auto settings = manager::effective_settings(maps, node, options.zones);
  if (settings) {
    shown.revision = settings->revision.hash;
    shown.pool = settings->pool;
    for (const auto line : base::split(settings->notes, '\n')) {
      if (!line.empty()) shown.notes.emplace_back(line);
    }
  } else {
    shown.notes.push_back(settings.error().message);
  }
  const auto source = [&](std::string_view key) {
    if (!settings) return manager::config_source(maps.slo ? &*maps.slo : nullptr, key);
    model::ConfigSource text;
    const auto& texts = settings->revision.texts.slo;
    if (const auto at = texts.find(std::string(key)); at != texts.end()) text.text = at->second;
    return text;
  };
  shown.node = options.node;
  shown.config_map = base::cat(options.config_namespace, "/", options.config_name);
  shown.config_map_found = maps.slo.has_value();
  shown.parts.push_back(policy::sell::colocation_in_force(source(model::kColocationConfigKey), labels,
                                                          annotation(node, model::kColocationStrategyAnnotation)));
  const auto bandwidth = annotation(node, model::kNetworkBandwidthAnnotation);
  policy::settings::SloConfig config;
  TM_CO_TRY(const auto stored, co_await manager::read_desired(client, options.config_namespace, options.limit));
  const auto overrides = operate::overrides_in(stored);
  if (!overrides) shown.notes.push_back(base::cat("overrides of the water line: ", overrides.error().message));
  const auto calendar =
      settings ? manager::slo_calendar(node, settings->revision, loop.clock().wall(), overrides ? &*overrides : nullptr)
               : std::nullopt;
  std::optional<manager::NodeSloProjection> object;
  if (slo_bytes) {
    TM_CO_TRY(object, manager::decode_node_slo_projection(*slo_bytes, interner));
    if (const auto ended = ended_lines(*slo_bytes, loop.clock().wall(), interner); !ended.empty()) {
      shown.notes.push_back(
          base::cat("raised lines of its NodeSLO have ended, and no manager has written so: its agent holds the lower ",
                    "ones until one does: ", ended));
    }
  }
  const auto own = manager::own_settings(node, object ? &*object : nullptr);
  if (!own.problem.empty()) {
    shown.notes.push_back(base::cat("annotation ", model::kNodeSettingsAnnotation, ": ",
                                    model::reason_sentence(*own.note), ": ", own.problem));
  }
  policy::settings::SloLayers layers;
  if (settings) {
    const model::Pool& pool = policy::waterline::pool_of(settings->revision.tidemark, labels);
    layers.pool = &pool.nodeslo;
    shown.agent = manager::agent_word(settings->revision, pool);
  }
  if (own.in_force) layers.node = &own.in_force->slo;
  const auto live = [&](std::string_view key) { return manager::config_source(maps.slo ? &*maps.slo : nullptr, key); };
  const auto refused = [&](std::string_view problem) {
    if (settings && !problem.empty())
      shown.notes.push_back(base::cat("refused, the last good text is in force: ", problem));
  };
  refused(policy::sell::next_config({}, live(model::kColocationConfigKey)).problem);
  for (const auto& info : policy::settings::slo_parts()) {
    refused(policy::settings::next_slo_part(info.part, live(info.key)).problem);
    shown.parts.push_back(
        policy::settings::slo_in_force(info.part, source(info.key), labels, bandwidth, calendar, layers));
    auto step = policy::settings::next_slo_part(info.part, source(info.key));
    if (step.next) config.parts[static_cast<std::size_t>(info.part)] = std::move(*step.next);
  }
  const auto spec = policy::settings::slo_for(
      config, labels, bandwidth, calendar ? std::optional(policy::settings::slo_shift(calendar->line)) : std::nullopt,
      layers);
  if (auto text = policy::protect::without_effect_text(
          policy::settings::next_node_rules({}, policy::settings::slo_spec_json(spec)).rules);
      !text.empty()) {
    shown.notes.push_back(std::move(text));
  }
  if (object) {
    const auto wanted = policy::settings::slo_fingerprint(spec);
    shown.object.emplace();
    for (std::size_t i = 0; i < model::kSloParts; ++i) {
      if (object->fingerprint.parts[i] != wanted.parts[i])
        shown.object->differs.emplace_back(policy::settings::slo_parts()[i].field);
    }
    if (settings) {
      // What is granted and asked for is taken as it stands there; the rest of what is ours can be told from here.
      const auto decision = manager::decide_node_slo(&node, &*object, settings->revision, loop.clock().wall(),
                                                     overrides ? &*overrides : nullptr);
      if (decision.spec.ours && policy::settings::slo_fingerprint(decision.spec).ours != object->fingerprint.ours) {
        shown.object->differs.emplace_back(base::cat(policy::settings::kSloExtensions, ".",
                                                     policy::settings::kSloObject, ".", policy::settings::kSloOurs));
      }
    }
  }
  co_return options.json ? policy::explain::render_json(shown).dump_pretty() + "\n"
                         : policy::explain::render_text(shown);
}

}  // namespace tidemark::cli
