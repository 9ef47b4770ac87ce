#include "operate/pool_line.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "manager/capacity/decide.h"
#include "model/names.h"
#include "operate/get.h"
#include "operate/pools.h"
#include "policy/settings/config/parse.h"

namespace tidemark::operate {
namespace {

kube::NodeFields strategy_fields() {
  kube::NodeFields fields;
  fields.meta.labels = kube::KeyFilter::all();
  fields.meta.annotations = {model::kColocationStrategyAnnotation};
  fields.info = false;
  return fields;
}

Result<policy::waterline::TidemarkConfig> pools_in(const Manifests::Data& data, const manager::ZonesOf& zones) {
  const auto text = data.find(std::string(model::kTidemarkConfigKey));
  if (text == data.end())
    return fail(ErrorKind::kInvalid, "the file's tidemark-config has no ", model::kTidemarkConfigKey);
  auto config = policy::settings::parse_tidemark_config(text->second, zones(text->second));
  if (!config) {
    return fail(ErrorKind::kInvalid, "the file's tidemark-config cannot be used: ", to_string(config.error()));
  }
  return std::move(*config);
}

}  // namespace

const model::Pool& PoolLine::settings() const {
  const auto at = std::ranges::find(config.pools, pool, &model::Pool::name);
  return at == config.pools.end() ? config.rest : *at;
}

const policy::waterline::Calendar& PoolLine::calendar() const {
  static const policy::waterline::Calendar kNone;
  const auto& named = settings().calendar;
  return named ? config.calendars[*named] : kNone;
}

model::LinePlan PoolLine::at(base::WallTime now) const {
  return policy::waterline::water_line(calendar(), base_cpu, base_memory,
                                       policy::state::overrides_of(overrides, pool, now), now);
}

net::Task<Result<PoolLine>> read_pool_line(kube::Client& client, PoolQuestion question, std::string pool,
                                           std::optional<Manifests> file) {
  PoolLine out;
  out.pool = pool;
  if (file && file->tidemark) {
    TM_CO_TRY(out.config, pools_in(*file->tidemark, question.zones));
  } else {
    TM_CO_TRY(out.config, co_await read_pools(client, question.config_namespace, question.zones, question.limit));
  }
  TM_CO_TRY_VOID(pool_exists(out.config, pool));
  TM_CO_TRY(const auto stored, co_await manager::read_desired(client, question.config_namespace, question.limit));
  TM_CO_TRY(out.overrides, overrides_in(stored));
  kube::Interner interner;
  TM_CO_TRY(const auto map,
            co_await config_map(client, question.config_namespace, question.config_name, question.limit, interner));
  model::ConfigSource source = manager::config_source(map ? &*map : nullptr, model::kColocationConfigKey);
  if (file && file->slo) {
    source.found = true;
    const auto text = file->slo->find(std::string(model::kColocationConfigKey));
    source.text = text == file->slo->end() ? std::nullopt : std::optional<std::string_view>(text->second);
  }
  const auto step = policy::sell::next_config({}, source);
  if (!step.state.config) {
    co_return fail(ErrorKind::kInvalid, "the co-location settings cannot be used: ", step.problem);
  }
  const auto profile = out.settings().profile;
  using Base = std::pair<std::int64_t, std::int64_t>;
  std::map<Base, std::size_t> bases;
  const auto base_of = [](const policy::sell::NodeStrategy& strategy) {
    return Base(strategy.values.cpu_reclaim_threshold_percent, strategy.values.memory_reclaim_threshold_percent);
  };
  auto listed = co_await client.list(
      kube::kNodes, {},
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto node, kube::decode_node(item, strategy_fields(), interner));
          if (in_pool(out.config, node, pool)) {
            ++bases[base_of(manager::strategy_of_node(node, *step.state.config, profile))];
          }
          return {};
        }));
        return {};
      },
      [&] { bases.clear(); }, question.limit * 4);
  if (!listed) co_return std::unexpected(std::move(listed).error().within("listing nodes"));
  Base most = base_of(policy::sell::strategy_for(*step.state.config, {}, std::nullopt, profile));
  std::size_t of_most = 0;
  for (const auto& [base, nodes] : bases) {
    out.nodes += nodes;
    if (nodes <= of_most) continue;
    of_most = nodes;
    most = base;
  }
  out.base_cpu = most.first;
  out.base_memory = most.second;
  out.other_base = out.nodes - of_most;
  co_return out;
}

}  // namespace tidemark::operate
