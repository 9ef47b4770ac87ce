#include "operate/pool_label.h"

#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "kube/objects.h"
#include "manager/state/mark_write.h"
#include "operate/pools.h"

namespace tidemark::operate {
namespace {

using policy::waterline::TidemarkConfig;

Result<std::string> pool_in(const TidemarkConfig& config, std::string_view bytes) {
  kube::Interner interner;
  kube::NodeFields fields;
  fields.meta = manager::mark_fields();
  fields.info = false;
  TM_TRY(const kube::Node node, kube::decode_node(bytes, fields, interner));
  return std::string(policy::waterline::pool_of(config, node.meta.labels).name);
}

// The Node as the API server has it afterwards.
net::Task<Result<std::string>> set_label(kube::Client& client, const PoolLabelOptions& options, bool removes,
                                         std::string name, bool dry_run) {
  const Json value = removes ? Json() : Json(options.pool);
  Json labels = Json::object({});
  labels[std::string(kPoolLabel)] = value;
  const Json body = Json::object({{"metadata", Json::object({{"labels", std::move(labels)}})}});
  kube::WriteOptions write;
  write.dry_run = dry_run;
  co_return co_await client.patch(kube::kNodes, name, kube::PatchType::kMerge, body.dump(), write, options.limit);
}

}  // namespace

net::Task<Result<std::vector<PoolOfNode>>> label_pool(kube::Client& client, PoolLabelOptions options) {
  TM_CO_TRY(const auto config, co_await read_pools(client, options.config_namespace, options.zones, options.limit));
  TM_CO_TRY_VOID(pool_exists(config, options.pool));
  const bool removes = options.pool == std::string_view(config.rest.name);
  std::vector<PoolOfNode> out;
  for (const std::string& name : options.nodes) {
    TM_CO_TRY(const std::string now, co_await client.get(kube::kNodes, "", name, options.limit));
    TM_CO_TRY(const std::string then, co_await set_label(client, options, removes, name, true));
    PoolOfNode node{name, {}, {}, {}};
    TM_CO_TRY(node.before, pool_in(config, now));
    TM_CO_TRY(node.after, pool_in(config, then));
    if (node.after != options.pool) {
      node.problem =
          base::cat("would be in pool ", base::in_quotes(node.after), ": set the labels that the nodeSelector of ",
                    base::in_quotes(options.pool), " wants, or remove those of an earlier pool");
    }
    out.push_back(std::move(node));
  }
  if (options.dry_run) co_return out;
  const auto wrong = std::ranges::find_if(out, [](const PoolOfNode& each) { return !each.problem.empty(); });
  if (wrong != out.end()) co_return fail(ErrorKind::kConflict, "node ", wrong->name, " ", wrong->problem);
  for (const std::string& name : options.nodes) {
    TM_CO_TRY_VOID(co_await set_label(client, options, removes, name, false));
  }
  co_return out;
}

}  // namespace tidemark::operate
