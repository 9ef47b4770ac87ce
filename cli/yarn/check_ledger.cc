#include "cli/yarn/check_ledger.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "operate/get.h"

namespace tidemark::cli {
namespace {

constexpr base::Duration kTick = std::chrono::seconds(1);  // for what time alone changes

std::string decimals(double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

struct Sum {
  std::size_t nodes = 0;
  std::int64_t times = 0;
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
    sum.times += each.times;
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
                              {"changes", auditor.changes()},
                              {"failures", failed.count},
                              {"blindSeconds", static_cast<double>(failed.blind.count()) / 1e9},
                              {"causes", Json::array()},
                              {"findings", Json::array()}});
    if (failed.count > 0) json["lastFailure"] = Json(failed.last);
    for (const auto& [reason, sum] : sums) {
      json["causes"].as_array().push_back(Json::object({{"id", Json(model::reason_id(reason))},
                                                        {"sentence", Json(model::reason_sentence(reason))},
                                                        {"mistake", is_mistake(reason)},
                                                        {"nodes", static_cast<std::int64_t>(sum.nodes)},
                                                        {"times", sum.times},
                                                        {"cpuCoreSeconds", sum.cpu_core_s},
                                                        {"memoryGiBSeconds", sum.memory_gib_s}}));
    }
    for (std::size_t i = 0; i < shown; ++i) {
      const AuditFinding& each = findings[i];
      json["findings"].as_array().push_back(Json::object({{"id", Json(model::reason_id(each.reason))},
                                                          {"node", Json(each.node)},
                                                          {"times", each.times},
                                                          {"worstCpuMilli", each.worst.cpu},
                                                          {"worstMemoryBytes", each.worst.memory},
                                                          {"example", Json(each.example)}}));
    }
    out.text = json.dump_pretty() + "\n";
    return out;
  }
  out.text = base::cat(out.clean ? "clean: " : "NOT CLEAN: ", auditor.nodes(), " nodes, ", auditor.changes(),
                       " changes seen\n");
  if (failed.count > 0) {
    out.text += base::cat("and ", failed.count, failed.count == 1 ? " list or watch" : " lists or watches",
                          " failed; for ", decimals(static_cast<double>(failed.blind.count()) / 1e9),
                          " s not everything was seen; the last one: ", failed.last, "\n");
  }
  for (const auto& [reason, sum] : sums) {
    out.text += base::cat(is_mistake(reason) ? "mistake " : "known   ", model::reason_id(reason), "  ",
                          model::reason_sentence(reason), ": ", sum.nodes, " nodes, ", sum.times, " times, ",
                          decimals(sum.cpu_core_s), " core-seconds, ", decimals(sum.memory_gib_s), " GiB-seconds\n");
  }
  for (std::size_t i = 0; i < shown; ++i) {
    out.text +=
        base::cat("  ", findings[i].node, " ", model::reason_id(findings[i].reason), ": ", findings[i].example, "\n");
  }
  if (findings.size() > shown) out.text += base::cat("  … and ", findings.size() - shown, " more\n");
  return out;
}

net::Task<Result<CheckReport>> check_ledger(net::EventLoop& loop, kube::Client& client, CheckOptions options,
                                            const net::Event& over) {
  Auditor auditor(options.audit);
  LedgerWatch watch(loop, client, auditor, options.watch);
  auto end = loop.clock().monotonic() + options.length;
  const auto left_of = [&] { return over.is_set() ? base::Duration(0) : end - loop.clock().monotonic(); };
  // One question first: its answer tells best why there is none.
  while (true) {
    const auto reached = co_await operate::get_if_there(client, kube::kConfigMaps, options.watch.config_namespace,
                                                        options.watch.config_name, options.watch.limit);
    if (reached) break;
    if (left_of() <= base::Duration(0) || !may_pass(reached.error())) co_return std::unexpected(reached.error());
    co_await loop.sleep(kTick);
  }
  watch.start();
  bool began = false;
  while (true) {
    // A server that answers late takes nothing from the time that was asked for.
    if (watch.saw_all() && !std::exchange(began, true)) end = loop.clock().monotonic() + options.length;
    const base::Duration left = left_of();
    if (watch.saw_all() && left <= base::Duration(0)) break;
    if (!watch.saw_all() && watch.hopeless()) co_return std::unexpected(*watch.hopeless());
    if (!watch.saw_all() && left <= base::Duration(0) && watch.failed().count > 0) {
      co_return fail(ErrorKind::kUnavailable, watch.failed().last);
    }
    co_await watch.news().wait_for(left > base::Duration(0) ? std::min<base::Duration>(left, kTick) : kTick);
    watch.news().clear();
    watch.tick();
  }
  co_return report(auditor, watch.failed(), options);
}

}  // namespace tidemark::cli
