#include "cli/yarn/explain_yarn.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "cli/yarn/yarn_hour.h"
#include "hadoop/resource_manager.h"
#include "kube/decode.h"
#include "kube/objects.h"
#include "model/annotations.h"
#include "model/ended_tasks.h"
#include "model/isolation.h"
#include "model/names.h"
#include "model/yarn_reclaim.h"
#include "operate/get.h"
#include "policy/evict/drain.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/why.h"
#include "policy/settings/config/parse.h"
#include "yarn_operator/clusters.h"
#include "yarn_operator/node_map.h"
#include "yarn_operator/objects.h"
#include "yarn_operator/reclaim_requests.h"

namespace tidemark::cli {
namespace {

using model::Resources;
using yarn_operator::NmName;

struct Holder {
  std::string pod;
  Resources batch;
};

struct Asked {
  std::string cluster;
  std::string error;  // "" where it answered
  std::optional<hadoop::NodeReport> report;
};

struct Found {
  policy::sell::YarnNode share;
  policy::sell::YarnTotal total;
  std::string pool;
  model::Mode mode = model::Mode::kEnforce;
  std::vector<Holder> pods;  // the largest first
  std::optional<model::YarnOffer> offer;
  std::optional<model::YarnBook> book;
  std::optional<base::WallTime> drains;  // when what containers hold beyond the offer ends, or did a moment ago
  std::vector<model::Reclaim> reclaim;   // what its work must return, the least timely first
  std::optional<YarnHour> hour;          // limits it; set if work must return capacity, or did within the hour
  std::optional<yarn_operator::HeldBack> held_back;
  std::string agent;  // what the node's agent says of itself; "" where none does
  std::optional<NmName> nm;
  std::string mismatch;  // why there is no NodeManager for certain
  std::vector<Asked> asked;
  std::vector<std::string> notes;

  const Asked* of_its_cluster() const {
    if (!nm) return nullptr;
    const auto at = std::ranges::find(asked, nm->cluster, &Asked::cluster);
    return at == asked.end() ? nullptr : &*at;
  }
};

std::string amount_text(Resources amount) {
  return base::cat(policy::explain::amount_text(amount.cpu), ", ", policy::explain::amount_text(amount.memory));
}

Json amount_json(Resources amount) {
  return Json::object({{"cpuMilli", amount.cpu.value}, {"memoryBytes", amount.memory.value}});
}

Json total_json(std::int64_t memory_mib, std::int64_t vcores) {
  return Json::object({{"memoryMiB", memory_mib}, {"vcores", vcores}});
}

std::string total_text(std::int64_t memory_mib, std::int64_t vcores) {
  return base::cat(memory_mib, " MiB and ", vcores, vcores == 1 ? " vcore" : " vcores");
}

template <class Take>
net::Task<Result<void>> each_of(kube::Client& client, kube::Resource resource, kube::ListOptions list,
                                base::Duration limit, std::function<void()> again, Take take) {
  auto done = co_await client.list(
      resource, std::move(list),
      [&](std::string_view page) -> Result<void> {
        TM_TRY_VOID(kube::decode_list(page, [&](std::string_view item) -> Result<void> { return take(item); }));
        return {};
      },
      std::move(again), limit);
  if (!done) co_return std::unexpected(std::move(done).error().within(base::cat("listing ", resource.plural)));
  co_return Result<void>();
}

net::Task<Result<void>> read_pods(kube::Client& client, const ExplainYarnOptions& options, kube::Interner& interner,
                                  Found& found) {
  kube::ListOptions list;
  list.field_selector = base::cat("spec.nodeName=", options.node, ",status.phase!=Succeeded,status.phase!=Failed");
  const auto take = [&](std::string_view item) -> Result<void> {
    TM_TRY(const auto pod, yarn_operator::decode_pod_row(item, interner));
    if (pod.batch == Resources()) return {};
    found.share.pods += pod.batch;
    found.pods.push_back({base::cat(pod.meta.ns.view(), "/", pod.meta.name.view()), pod.batch});
    return {};
  };
  const auto again = [&] {
    found.pods.clear();
    found.share.pods = {};
  };
  TM_CO_TRY_VOID(co_await each_of(client, kube::kPods, std::move(list), options.limit, again, take));
  std::ranges::sort(found.pods, [](const Holder& a, const Holder& b) {
    return a.batch.memory != b.batch.memory ? a.batch.memory > b.batch.memory : a.pod < b.pod;
  });
  co_return Result<void>();
}

// All nodes and all NodeManagers' pods: two nodes may claim the same one.
net::Task<Result<void>> read_map(kube::Client& client, const ExplainYarnOptions& options, kube::Interner& interner,
                                 yarn_operator::MapInput& input) {
  static const kube::NodeFields fields = yarn_operator::node_fields();
  const auto take_node = [&](std::string_view item) -> Result<void> {
    TM_TRY(const auto node, kube::decode_node(item, fields, interner));
    input.nodes.push_back(yarn_operator::place_of(node));
    return {};
  };
  TM_CO_TRY_VOID(co_await each_of(client, kube::kNodes, {}, options.limit, [&] { input.nodes.clear(); }, take_node));
  kube::ListOptions list;
  list.label_selector = yarn_operator::nm_pod_selector();
  list.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  const auto take_pod = [&](std::string_view item) -> Result<void> {
    TM_TRY(const auto pod, yarn_operator::decode_nm_pod_row(item, interner));
    input.pods.push_back(yarn_operator::nm_pod_of(pod));
    return {};
  };
  TM_CO_TRY_VOID(
      co_await each_of(client, kube::kPods, std::move(list), options.limit, [&] { input.pods.clear(); }, take_pod));
  std::ranges::sort(input.pods, {}, &yarn_operator::NmPod::name);
  co_return Result<void>();
}

net::Task<void> ask_clusters(net::EventLoop& loop, base::Random random, const ExplainYarnOptions& options,
                             yarn_operator::MapInput& input, Found& found) {
  std::map<NmName, hadoop::NodeReport> reports;
  for (const auto& cluster : options.clusters) {
    hadoop::ResourceManager manager(loop, options.workers, cluster.managers, random.fork());
    auto answer = co_await manager.nodes({}, options.limit);
    Asked& asked = found.asked.emplace_back();
    asked.cluster = cluster.id;
    auto& known = input.known[cluster.id];
    if (!answer) {
      asked.error = answer.error().message;
      continue;
    }
    for (auto& report : answer->nodes) {
      if (hadoop::is_active(report.state)) known.push_back(report.id);
      reports.insert_or_assign({cluster.id, report.id}, std::move(report));
    }
  }
  const yarn_operator::NodeMap map = yarn_operator::map_nodes(input);
  if (const auto at = map.nm_of.find(options.node); at != map.nm_of.end()) found.nm = at->second;
  if (const auto at = map.wrong.find(options.node); at != map.wrong.end()) found.mismatch = at->second;
  for (Asked& asked : found.asked) {
    if (found.nm && found.nm->cluster == asked.cluster) {
      if (const auto at = reports.find(*found.nm); at != reports.end()) asked.report = at->second;
    }
  }
}

net::Task<Result<void>> read_pool(kube::Client& client, const ExplainYarnOptions& options, const kube::Node& node,
                                  kube::Interner& interner, Found& found) {
  TM_CO_TRY(const auto map,
            co_await operate::config_map(client, options.config_namespace, std::string(model::kTidemarkConfigName),
                                         options.limit, interner));
  policy::settings::TidemarkSource source;
  std::string text;
  source.found = map.has_value();
  if (map) {
    if (const kube::Text* value = map->data.find(model::kTidemarkConfigKey)) {
      text = value->view();
      source.text = text;
    }
  }
  const auto step = policy::settings::next_tidemark_config(
      {}, source, source.text ? options.zones(text) : policy::waterline::Zones());
  if (!step.state.config) {
    found.mode = model::Mode::kObserve;
    found.notes.push_back(base::cat(model::kTidemarkConfigName, " cannot be read: ", step.problem,
                                    "; an operator that read it while it was good goes by that"));
    co_return Result<void>();
  }
  const model::Pool& pool = yarn_operator::pool_of_node(*step.state.config, node);
  found.pool = pool.name;
  found.mode = pool.modes.yarn;
  co_return Result<void>();
}

void read_book(const kube::Node& node, Found& found) {
  const auto* text = node.meta.annotations.find(model::kYarnBookAnnotation);
  if (text == nullptr) return;
  if (auto book = model::parse_yarn_book(text->view()); book) {
    found.book = std::move(*book);
  } else {
    found.notes.push_back(base::cat(model::kYarnBookAnnotation, ": ", book.error().message));
  }
}

// The class of its cluster's work; "" also without configured clusters.
std::string_view class_on(const Found& found, const ExplainYarnOptions& options) {
  if (!found.nm) return {};
  const auto at = std::ranges::find(options.clusters, found.nm->cluster, &yarn_operator::YarnCluster::id);
  return at == options.clusters.end() ? std::string_view() : std::string_view(at->work_class);
}

// As the node says it: what the operator answered in the last moment may be on its way.
void read_held_back(const kube::Node& node, base::WallTime now, Found& found) {
  const auto* text = node.meta.annotations.find(model::kYarnReclaimAnswerAnnotation);
  if (text == nullptr) return;
  const auto answer = model::parse_reclaim_answer(text->view());
  if (!answer) {
    found.notes.push_back(base::cat(model::kYarnReclaimAnswerAnnotation, ": ", answer.error().message));
    return;
  }
  found.held_back = yarn_operator::held_back(*answer, now);
  if (found.held_back) found.share.keep_mib = found.held_back->keep_mib;
}

std::string difference(const policy::sell::YarnTotal& wanted, const hadoop::Resource& is,
                       const policy::sell::YarnTotalConfig& config) {
  const std::int64_t memory = is.memory_mib - wanted.memory_mib;
  const std::int64_t vcores = is.vcores - wanted.vcores;
  if (memory == 0 && vcores == 0) return "as it is to be";
  const auto part = [](std::int64_t by, std::string_view unit) {
    if (by == 0) return std::string();
    return base::cat(by > 0 ? by : -by, " ", unit, by > 0 ? " too many" : " too few");
  };
  const std::string of_memory = part(memory, "MiB"),
                    of_cpu = part(vcores, vcores == 1 || vcores == -1 ? "vcore" : "vcores");
  const bool waits = policy::sell::yarn_growth_waits({is.memory_mib, is.vcores}, wanted, config);
  return base::cat(of_memory, of_memory.empty() || of_cpu.empty() ? "" : ", ", of_cpu,
                   waits ? ": so little growth waits until it is more" : "");
}

std::string sold_text(const model::YarnBook& book) {
  if (!book.sold) return "held amount is unknown";
  Resources sum;
  std::string_view work_class;
  for (const auto& each : *book.sold) {
    sum += each.amount;
    work_class = each.work_class;  // a book of ours has one
  }
  return base::cat("held ", amount_text(sum), work_class.empty() ? "" : ", of class ", work_class);
}

std::string as_text(const Found& found, const ExplainYarnOptions& options) {
  std::string out =
      base::cat("node ", options.node, ": YARN is to have ", total_text(found.total.memory_mib, found.total.vcores),
                "\n  ", policy::explain::why(found.total.reason), "\n");
  const auto row = [&](std::string_view name, const std::string& value) {
    out += base::cat("  ", name, std::string(name.size() < 22 ? 22 - name.size() : 1, ' '), value, "\n");
  };
  row("the node may sell", found.share.origin ? amount_text(*found.share.origin) : "unknown");
  row("pods hold", amount_text(found.share.pods));
  for (std::size_t i = 0; i < found.pods.size() && i < options.pods_shown; ++i) {
    row(base::cat("  ", found.pods[i].pod), amount_text(found.pods[i].batch));
  }
  if (found.pods.size() > options.pods_shown) {
    out += base::cat("    … and ", found.pods.size() - options.pods_shown, " pods more\n");
  }
  if (found.share.others != Resources()) row("others than YARN hold", amount_text(found.share.others));
  if (found.offer) {
    row("the manager's offer", base::cat(amount_text(found.offer->offer), " (number ", found.offer->generation, ")"));
  } else {
    row("the manager's offer", "none: it does not speak to YARN here");
  }
  if (found.drains) row("beyond it YARN's work", base::cat("ends at ", base::format_rfc3339(*found.drains)));
  for (const model::Reclaim& each : found.reclaim) {
    row("must return", base::cat(each.work_class.empty() ? "work of no class" : each.work_class, ", down to ",
                                 amount_text(each.keep), " [", each.reason, "]"));
  }
  if (found.hour) row("its hour", yarn_hour_text(*found.hour));
  if (found.held_back) {
    row("held back", base::cat("no more than ", found.held_back->keep_mib, " MiB until ",
                               base::format_rfc3339(found.held_back->until), ": containers were reclaimed"));
  }
  if (found.book) {
    row("in force, by the book", base::cat(amount_text(found.book->confirmed), " (number ", found.book->generation,
                                           "); ", sold_text(*found.book), found.book->waiting ? "; work waits" : ""));
  }
  row("the node", base::cat(found.share.ready ? "ready" : "not ready", found.share.cordoned ? ", cordoned" : "", ", ",
                            to_string(found.share.state), " for YARN"));
  if (!found.agent.empty()) row("its agent", found.agent);
  if (!found.pool.empty()) row("its pool", base::cat(found.pool, ", ", to_string(found.mode), " for YARN"));
  if (found.nm) {
    row("its NodeManager", found.nm->text());
  } else {
    row("its NodeManager", found.mismatch.empty() ? "none is known" : base::cat("not for certain: ", found.mismatch));
  }
  if (found.asked.empty()) {
    out += "note: no ResourceManager was asked; --hadoop-conf-dir or $HADOOP_CONF_DIR says where they are\n";
  }
  for (const Asked& each : found.asked) {
    if (!each.error.empty()) out += base::cat("note: cluster ", each.cluster, " does not answer: ", each.error, "\n");
  }
  if (const Asked* asked = found.of_its_cluster(); asked != nullptr && asked->error.empty()) {
    if (!asked->report) {
      row("its ResourceManager", "does not know it");
    } else {
      const hadoop::NodeReport& report = *asked->report;
      const bool told = found.total.send && report.state != hadoop::NodeState::kDecommissioning;
      row("its ResourceManager",
          base::cat(hadoop::to_string(report.state), ", total ",
                    total_text(report.capability.memory_mib, report.capability.vcores), ": ",
                    told ? difference(found.total, report.capability, options.totals) : "left as it is"));
      row("its containers",
          base::cat(report.containers, " hold ", total_text(report.used.memory_mib, report.used.vcores)));
    }
  }
  for (const std::string& note : found.notes) out += base::cat("note: ", note, "\n");
  return out;
}

std::string as_json(const Found& found, const ExplainYarnOptions& options) {
  Json out = Json::object({{"schema", 1}, {"node", Json(options.node)}});
  out["total"] = total_json(found.total.memory_mib, found.total.vcores);
  out["told"] = Json(found.total.send);
  out["why"] = policy::explain::why_json(found.total.reason);
  if (found.share.origin) out["origin"] = amount_json(*found.share.origin);
  out["podsHold"] = amount_json(found.share.pods);
  out["othersHold"] = amount_json(found.share.others);
  out["pods"] = Json::array();
  for (const Holder& each : found.pods) {
    Json pod = amount_json(each.batch);
    pod["pod"] = Json(each.pod);
    out["pods"].as_array().push_back(std::move(pod));
  }
  if (found.offer) {
    out["offer"] = amount_json(found.offer->offer);
    out["offer"]["generation"] = Json(found.offer->generation);
  }
  if (found.drains) out["drains"] = Json(base::format_rfc3339(*found.drains));
  if (!found.reclaim.empty()) out["reclaim"] = Json::array();
  for (const model::Reclaim& each : found.reclaim) {
    out["reclaim"].as_array().push_back(Json::object({{"class", Json(each.work_class)},
                                                      {"amount", amount_json(each.amount)},
                                                      {"keep", amount_json(each.keep)},
                                                      {"reason", Json(each.reason)}}));
  }
  if (found.hour) out["reclaimHour"] = yarn_hour_json(*found.hour);
  if (found.held_back) {
    out["heldBack"] = Json::object(
        {{"keepMiB", Json(found.held_back->keep_mib)}, {"until", Json(base::format_rfc3339(found.held_back->until))}});
  }
  if (found.book) out["book"] = Json::parse(model::format_yarn_book(*found.book)).value_or(Json());
  out["ready"] = Json(found.share.ready);
  out["cordoned"] = Json(found.share.cordoned);
  out["state"] = Json(to_string(found.share.state));
  if (!found.agent.empty()) out["agent"] = Json(found.agent);
  if (!found.pool.empty()) out["pool"] = Json(found.pool);
  out["mode"] = Json(to_string(found.mode));
  if (found.nm)
    out["nodeManager"] = Json::object({{"cluster", Json(found.nm->cluster)}, {"id", Json(found.nm->id.text())}});
  if (!found.mismatch.empty()) out["mismatch"] = Json(found.mismatch);
  out["resourceManagers"] = Json::array();
  for (const Asked& each : found.asked) {
    Json asked = Json::object({{"cluster", Json(each.cluster)}});
    if (!each.error.empty()) asked["error"] = Json(each.error);
    if (each.report) {
      asked["state"] = Json(hadoop::to_string(each.report->state));
      asked["total"] = total_json(each.report->capability.memory_mib, each.report->capability.vcores);
      asked["used"] = total_json(each.report->used.memory_mib, each.report->used.vcores);
      asked["containers"] = Json(std::int64_t{each.report->containers});
    }
    out["resourceManagers"].as_array().push_back(std::move(asked));
  }
  out["notes"] = Json::array();
  for (const std::string& note : found.notes) out["notes"].as_array().push_back(Json(note));
  return out.dump_pretty() + "\n";
}

}  // namespace

net::Task<Result<std::string>> explain_yarn(net::EventLoop& loop, kube::Client& client, base::Random random,
                                            ExplainYarnOptions options) {
  kube::Interner interner;
  TM_CO_TRY(const auto bytes, co_await operate::get_if_there(client, kube::kNodes, "", options.node, options.limit));
  if (!bytes) co_return fail(ErrorKind::kNotFound, "no such node: ", base::in_quotes(options.node));
  kube::NodeFields fields = yarn_operator::node_fields();
  fields.condition_messages = {model::kIsolationCondition};
  TM_CO_TRY(const kube::Node node, kube::decode_node(*bytes, fields, interner));
  Found found;
  if (const auto* says = node.condition(model::kIsolationCondition)) {
    found.agent = base::cat(says->reason.view(), ": ", says->message.view());
  }
  TM_CO_TRY_VOID(co_await read_pods(client, options, interner, found));
  TM_CO_TRY_VOID(co_await read_pool(client, options, node, interner, found));
  const base::WallTime now = loop.clock().wall();
  TM_CO_TRY(found.share, yarn_operator::share_of(node, found.share.pods, found.mode, {}, now));
  if (const auto* text = node.meta.annotations.find(model::kYarnOfferAnnotation)) {
    TM_CO_TRY(found.offer, model::parse_yarn_offer(text->view()));
  }
  read_book(node, found);
  if (found.offer) {
    found.drains = policy::evict::drain_in_force(found.offer->drain_by, now);
    found.reclaim = found.offer->reclaim;
  }
  if (!found.reclaim.empty() || node.meta.annotations.has(model::kYarnPreemptedAnnotation)) {
    TM_CO_TRY(found.hour,
              co_await read_yarn_hour(client, options.config_namespace, node, found.pool, now, options.limit));
  }
  read_held_back(node, now, found);
  yarn_operator::MapInput input;
  // Claims of clusters that are not configured are used unchecked.
  TM_CO_TRY_VOID(co_await read_map(client, options, interner, input));
  if (options.clusters.empty()) {
    for (const auto& place : input.nodes) {
      input.known.try_emplace(place.claim.cluster_id.empty() ? std::string(yarn_operator::kDefaultCluster)
                                                             : place.claim.cluster_id);
      if (place.last) input.known.try_emplace(place.last->cluster);
    }
  }
  co_await ask_clusters(loop, random, options, input, found);
  found.share.state = yarn_operator::yarn_state_of(node, found.mode, class_on(found, options), now);
  found.total = policy::sell::yarn_total(found.share, options.totals);
  co_return options.json ? as_json(found, options) : as_text(found, options);
}

}  // namespace tidemark::cli
