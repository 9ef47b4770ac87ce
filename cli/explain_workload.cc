#include "cli/explain_workload.h"

#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "kube/decode.h"
#include "manager/capacity/pod_projection.h"
#include "manager/history/store.h"
#include "manager/profiles/profile_reader.h"
#include "model/names.h"
#include "operate/get.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/profile_text.h"
#include "policy/settings/config/parse.h"
#include "policy/waterline/profile/recommendation.h"
#include "policy/waterline/profile/workload.h"

namespace tidemark::cli {
namespace {

struct PodsNow {
  std::size_t count = 0;
  std::vector<policy::waterline::ContainerRequest> containers;
};

net::Task<Result<PodsNow>> pods_of(kube::Client& client, policy::waterline::Workload workload, base::Duration limit) {
  PodsNow pods;
  const std::string name = policy::waterline::workload_text(workload);
  kube::Interner interner;
  kube::ListOptions list;
  list.ns = workload.ns;
  auto done = co_await client.list(
      kube::kPods, std::move(list),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto pod, manager::decode_pod_projection(item, interner));
          if (pod.workload != name) return {};
          ++pods.count;
          pods.containers = policy::waterline::parse_containers(pod.containers);
          return {};
        }));
        return {};
      },
      [&] { pods = {}; }, limit);
  if (!done) co_return std::unexpected(std::move(done).error().within("listing the workload's pods"));
  co_return pods;
}

// As tidemark-config has it; the defaults where it does not exist or cannot be read.
policy::waterline::ProfileSettings settings_in(const std::optional<kube::ConfigMap>& map,
                                               const manager::ZonesOf& zones) {
  if (!map) return {};
  const auto* text = map->data.find(model::kTidemarkConfigKey);
  if (text == nullptr) return {};
  const auto config = policy::settings::parse_tidemark_config(*text, zones(*text));
  return config ? config->profiles : policy::waterline::ProfileSettings();
}

}  // namespace

net::Task<Result<std::string>> explain_workload(net::EventLoop& loop, kube::Client& client, ExplainOptions options) {
  const policy::waterline::Workload workload = policy::waterline::parse_workload(options.node);
  if (workload.none()) {
    co_return fail(ErrorKind::kInvalid, base::in_quotes(options.node),
                   " is not a workload; expected NAMESPACE/KIND/NAME, e.g. shop/Deployment/web");
  }
  const base::WallTime now = loop.clock().wall();
  TM_CO_TRY(const auto stored,
            co_await manager::read_profiles(client, options.config_namespace, options.node, now, options.limit));
  const std::string map = manager::profile_map(options.node);
  const policy::waterline::UsageProfile* profile = stored.book.find(options.node);
  if (profile == nullptr) {
    co_return fail(ErrorKind::kNotFound, "there is no profile of ", base::in_quotes(options.node), " in ConfigMap ",
                   options.config_namespace, "/", map,
                   stored.maps.empty()
                       ? ", which does not exist: does a manager learn (profiles.learn of tidemark-config)?"
                       : "; a new workload is stored some minutes after its first report");
  }
  kube::Interner interner;
  TM_CO_TRY(const auto config,
            co_await operate::config_map(client, options.config_namespace, std::string(model::kTidemarkConfigName),
                                         options.limit, interner));
  TM_CO_TRY(const PodsNow pods, co_await pods_of(client, workload, options.limit));
  const auto settings = settings_in(config, options.zones).recommendations;
  const auto wanted = policy::waterline::recommend(*profile, pods.containers, settings, now);
  if (options.json) {
    Json out = policy::explain::render_json(options.node, *profile, now);
    out["podsNow"] = Json(static_cast<std::int64_t>(pods.count));
    out["configMap"] = Json(base::cat(options.config_namespace, "/", map));
    Json list = Json::array();
    if (wanted) {
      for (const auto& each : wanted->containers) {
        list.as_array().push_back(Json::object({{"container", Json(each.name)},
                                                {"cpuMilli", each.request.cpu.value},
                                                {"memoryBytes", each.request.memory.value}}));
      }
    }
    out["recommended"] = std::move(list);
    co_return out.dump_pretty() + "\n";
  }
  std::string out = policy::explain::render_text(options.node, *profile, now);
  out += base::cat("stored in ConfigMap ", options.config_namespace, "/", map, "; ", pods.count,
                   pods.count == 1 ? " pod" : " pods", " now\n");
  if (wanted) {
    for (const auto& each : wanted->containers) {
      out += base::cat("would recommend: ", each.name, " cpu ", policy::explain::amount_text(each.request.cpu),
                       " memory ", policy::explain::amount_text(each.request.memory), "\n");
    }
  } else {
    out += base::cat("would recommend: nothing yet; ", settings.known_hours, " hours and a pod that runs are needed\n");
  }
  co_return out;
}

}  // namespace tidemark::cli
