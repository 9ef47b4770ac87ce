#include "cli/check_ledger.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/get.h"
#include "cli/list_pages.h"

namespace tidemark::cli {
namespace {

// So many at once: a pod is small once it is read.
constexpr int kPodsPage = 2000;

using Data = std::map<std::string, std::string, std::less<>>;

net::Task<Result<Data>> data_of(kube::Client& client, std::string ns, std::string name, base::Duration limit) {
  TM_CO_TRY(const auto bytes, co_await get_if_there(client, kube::kConfigMaps, std::move(ns), std::move(name), limit));
  Data data;
  if (!bytes) co_return data;
  TM_CO_TRY(const Json map, Json::parse(*bytes));
  const Json* members = map.member("data");
  if (members == nullptr || !members->is_object()) co_return data;
  for (const auto& [key, text] : members->as_object()) {
    if (text.is_string()) data.emplace(key, text.as_string());
  }
  co_return data;
}

std::optional<std::string> text_in(const Data& data, std::string_view key) {
  const auto at = data.find(key);
  return at == data.end() ? std::nullopt : std::optional(at->second);
}

net::Task<Result<std::vector<AuditSight>>> look(net::EventLoop& loop, kube::Client& client,
                                                const CheckOptions& options) {
  // What a manager had in force first: settings that it takes between two answers are in the later ones.
  TM_CO_TRY(const auto stored,
            co_await data_of(client, options.config_namespace, "tidemark-config-revisions", options.limit));
  TM_CO_TRY(const auto slo, co_await data_of(client, options.config_namespace, options.config_name, options.limit));
  TM_CO_TRY(const auto ours, co_await data_of(client, options.config_namespace, "tidemark-config", options.limit));
  TM_CO_TRY(const auto orders, co_await data_of(client, options.config_namespace, "tidemark-state", options.limit));
  TM_CO_TRY(auto settings,
            AuditSettings::read({text_in(slo, "colocation-config"), text_in(ours, "config.yaml")}, stored));
  settings.take_overrides(text_in(orders, "overrides.json"), loop.clock().wall());
  // What is offered first: what it rests on is then as new or newer, and a cut that comes between is no excess.
  std::map<std::string, AuditSight, std::less<>> sights;
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kNodes, {}, options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const Json node, Json::parse(item));
        auto sight = sight_of(node, settings);
        std::string name = sight.node;
        sights.insert_or_assign(std::move(name), std::move(sight));
        return {};
      },
      [&] { sights.clear(); }));
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kNodeMetrics, {}, options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const Json metric, Json::parse(item));
        const auto at = sights.find(metric.text_at("metadata", "name"));
        if (at != sights.end()) take_metric(at->second, metric);
        return {};
      },
      [&] {
        for (auto& [name, sight] : sights) drop_metric(sight);
      }));
  kube::ListOptions pods;
  pods.field_selector = "status.phase!=Succeeded,status.phase!=Failed,spec.nodeName!=";
  pods.page_size = kPodsPage;
  TM_CO_TRY_VOID(co_await list_pages(
      loop, client, kube::kPods, std::move(pods), options.limit,
      [&](std::string_view item) -> Result<void> {
        TM_TRY(const AuditPod pod, read_pod(item));
        if (const auto at = sights.find(pod.node); at != sights.end()) take_pod(at->second, pod);
        return {};
      },
      [&] {
        for (auto& [name, sight] : sights) sight.sold = {};
      }));
  std::vector<AuditSight> seen;
  seen.reserve(sights.size());
  for (auto& [name, sight] : sights) seen.push_back(std::move(sight));
  co_return seen;
}

std::string decimals(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

// Looking again may help.
bool passes(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kInvalid:
    case ErrorKind::kDenied:
    case ErrorKind::kUnsupported:
      return false;
    default:
      return true;
  }
}

struct Sum {
  std::size_t nodes = 0;
  std::int64_t looks = 0;
  double cpu_core_s = 0;
  double memory_gib_s = 0;
};

}  // namespace

CheckReport report(const Auditor& auditor, const FailedLooks& failed, const CheckOptions& options) {
  const auto findings = auditor.findings();
  std::vector<std::pair<model::Reason, Sum>> sums;  // in the order of the findings
  for (const AuditFinding& each : findings) {
    if (sums.empty() || sums.back().first != each.reason) sums.emplace_back(each.reason, Sum{});
    Sum& sum = sums.back().second;
    ++sum.nodes;
    sum.looks += each.looks;
    sum.cpu_core_s += each.cpu_core_s;
    sum.memory_gib_s += each.memory_gib_s;
  }
  CheckReport out;
  out.clean = std::none_of(findings.begin(), findings.end(), [](const auto& each) { return is_mistake(each.reason); });
  const std::size_t shown = std::min(options.shown_max, findings.size());
  if (options.json) {
    Json json = Json::object({{"schema", 1},
                              {"clean", out.clean},
                              {"nodes", static_cast<std::int64_t>(auditor.nodes())},
                              {"looks", auditor.looks()},
                              {"looksFailed", failed.count},
                              {"causes", Json::array()},
                              {"findings", Json::array()}});
    if (failed.count > 0) json["lastFailure"] = Json(failed.last);
    for (const auto& [reason, sum] : sums) {
      json["causes"].as_array().push_back(Json::object({{"id", Json(model::reason_id(reason))},
                                                        {"sentence", Json(model::reason_sentence(reason))},
                                                        {"mistake", is_mistake(reason)},
                                                        {"nodes", static_cast<std::int64_t>(sum.nodes)},
                                                        {"looks", sum.looks},
                                                        {"cpuCoreSeconds", sum.cpu_core_s},
                                                        {"memoryGiBSeconds", sum.memory_gib_s}}));
    }
    for (std::size_t i = 0; i < shown; ++i) {
      const AuditFinding& each = findings[i];
      json["findings"].as_array().push_back(Json::object({{"id", Json(model::reason_id(each.reason))},
                                                          {"node", Json(each.node)},
                                                          {"looks", each.looks},
                                                          {"worstCpuMilli", each.worst.cpu},
                                                          {"worstMemoryBytes", each.worst.memory},
                                                          {"example", Json(each.example)}}));
    }
    out.text = json.dump_pretty() + "\n";
    return out;
  }
  out.text = base::cat(out.clean ? "clean: " : "NOT CLEAN: ", auditor.nodes(), " nodes, ", auditor.looks(), " looks\n");
  if (failed.count > 0) {
    out.text += base::cat("and ", failed.count, failed.count == 1 ? " look" : " looks",
                          " failed, at which nothing was seen; the last one: ", failed.last, "\n");
  }
  for (const auto& [reason, sum] : sums) {
    out.text += base::cat(is_mistake(reason) ? "mistake " : "known   ", model::reason_id(reason), "  ",
                          model::reason_sentence(reason), ": ", sum.nodes, " nodes, ", sum.looks, " times, ",
                          decimals(sum.cpu_core_s), " core-seconds, ", decimals(sum.memory_gib_s), " GiB-seconds\n");
  }
  for (std::size_t i = 0; i < shown; ++i) {
    out.text +=
        base::cat("  ", findings[i].node, " ", model::reason_id(findings[i].reason), ": ", findings[i].example, "\n");
  }
  if (findings.size() > shown) out.text += base::cat("  … and ", findings.size() - shown, " more\n");
  return out;
}

net::Task<Result<CheckReport>> check_ledger(net::EventLoop& loop, kube::Client& client, CheckOptions options) {
  Auditor auditor(options.audit);
  FailedLooks failed;
  const auto end = loop.clock().monotonic() + options.length;
  while (true) {
    auto sights = co_await look(loop, client, options);
    const auto left = end - loop.clock().monotonic();
    if (sights) {
      auditor.look(*sights, loop.clock().monotonic(), loop.clock().wall());
    } else {
      ++failed.count;
      failed.last = sights.error().message;
      if (auditor.looks() == 0 && (left <= base::Duration(0) || !passes(sights.error()))) {
        co_return std::unexpected(std::move(sights).error());
      }
    }
    if (left <= base::Duration(0)) break;
    co_await loop.sleep(std::min<base::Duration>(options.every, left));
  }
  co_return report(auditor, failed, options);
}

}  // namespace tidemark::cli
