#include "operate/pools.h"

#include <ranges>
#include <utility>
#include <vector>

#include "base/text.h"
#include "manager/settings/effective.h"
#include "model/names.h"
#include "operate/get.h"
#include "policy/explain/rollout_text.h"
#include "policy/settings/config/parse.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::operate {

net::Task<Result<policy::waterline::TidemarkConfig>> read_pools(kube::Reader& reader, std::string config_namespace,
                                                                manager::ZonesOf zones, base::Duration limit) {
  auto bytes = co_await reader.get(kube::kConfigMaps, config_namespace, model::kTidemarkConfigName, limit);
  if (!bytes && bytes.error().kind == ErrorKind::kNotFound) co_return policy::waterline::drop_in();
  if (!bytes) co_return std::unexpected(std::move(bytes).error().within("reading the pools"));
  kube::Interner interner;
  TM_CO_TRY(const auto map, kube::decode_config_map(*bytes, {}, {model::kTidemarkConfigKey}, interner));
  const auto* text = map.data.find(model::kTidemarkConfigKey);
  if (text == nullptr) {
    co_return fail(ErrorKind::kInvalid, "ConfigMap ", config_namespace, "/", model::kTidemarkConfigName, " has no key ",
                   model::kTidemarkConfigKey);
  }
  auto config = policy::settings::parse_tidemark_config(text->view(), zones(text->view()));
  if (!config) {
    co_return fail(ErrorKind::kInvalid, "ConfigMap ", config_namespace, "/", model::kTidemarkConfigName,
                   " cannot be used: ", to_string(config.error()));
  }
  co_return std::move(*config);
}

net::Task<std::optional<PoolsInForce>> pools_in_force(kube::Client& client, std::string config_namespace,
                                                      manager::ZonesOf zones, std::string pool, base::Duration limit) {
  kube::Interner interner;
  const auto map = co_await config_map(client, config_namespace, std::string(model::kRevisionsName), limit, interner);
  if (!map || !*map) co_return std::nullopt;
  const auto stored = policy::settings::decode_stored(manager::data_of(**map));
  if (!stored.state) co_return std::nullopt;
  for (const policy::settings::Layer& layer : stored.state->layers | std::views::reverse) {
    const auto* revision = policy::settings::find_revision(stored.book, layer.revision);
    if (revision == nullptr) continue;
    PoolsInForce found{policy::waterline::drop_in(), policy::explain::revision_name(stored.book, layer.revision)};
    if (const auto& text = revision->texts.tidemark) {
      auto config = policy::settings::parse_tidemark_config(*text, zones(*text));
      if (!config) continue;
      found.config = std::move(*config);
    }
    if (pool_exists(found.config, pool)) co_return found;
  }
  co_return std::nullopt;
}

Result<policy::state::Overrides> overrides_in(const manager::StoredText& stored) {
  if (!stored.overrides) return policy::state::Overrides();
  auto read = policy::state::parse_overrides(*stored.overrides);
  if (!read) return std::unexpected(std::move(read).error().within("cannot read the stored settings"));
  return read;
}

Result<void> pool_exists(const policy::waterline::TidemarkConfig& config, std::string_view pool) {
  std::vector<std::string> names{config.rest.name};
  for (const auto& each : config.pools) names.push_back(each.name);
  std::vector<std::string_view> views(names.begin(), names.end());
  for (const auto& name : names) {
    if (name == pool) return {};
  }
  const auto meant = base::nearest(pool, views);
  return fail(ErrorKind::kNotFound, "there is no pool ", base::in_quotes(pool),
              meant ? base::cat("; did you mean ", *meant, "?") : std::string("."),
              " There are: ", base::join(names, ", "));
}

bool in_pool(const policy::waterline::TidemarkConfig& config, const kube::Node& node, std::string_view pool) {
  return policy::waterline::pool_of(config, node.meta.labels).name == pool;
}

}  // namespace tidemark::operate
