#include "cli/yarn/doctor_yarn.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "hadoop/resource_manager.h"
#include "policy/sell/yarn_calculator.h"
#include "yarn_operator/cluster_link.h"

namespace tidemark::cli {
namespace {

using base::cat;
using policy::explain::FormedFinding;
using policy::explain::Severity;
using policy::sell::CalculatorState;
using policy::sell::CpuCounting;

constexpr base::Duration kReadAgain = std::chrono::milliseconds(300);

FormedFinding manager_finding(const std::string& cluster, const Result<hadoop::NodeReports>& nodes) {
  FormedFinding finding{nodes ? Severity::kOk : Severity::kBad, "ResourceManager", "resourceManager", {}, {}, {}};
  if (!nodes) {
    finding.found.push_back(cat("cluster ", cluster, " does not answer: ", nodes.error().message));
    return finding;
  }
  const auto active =
      std::ranges::count_if(nodes->nodes, [](const hadoop::NodeReport& each) { return hadoop::is_active(each.state); });
  finding.found.push_back(cat("cluster ", cluster, ": ", active, " NodeManagers are active"));
  return finding;
}

FormedFinding vcores_finding(const std::string& cluster, CpuCounting counting) {
  FormedFinding finding{Severity::kOk, "vcores", "vcores", {}, {}, {}};
  switch (counting) {
    case CpuCounting::kCounted:
      finding.found.push_back(cat("the scheduler of cluster ", cluster, " counts them"));
      break;
    case CpuCounting::kUnknown:
      finding.found.push_back(cat("not known whether the scheduler of cluster ", cluster,
                                  " counts them: it shows while more vcores than memory are in use"));
      break;
    case CpuCounting::kIgnored:
      finding.severity = Severity::kBad;
      finding.found.push_back(
          cat("the scheduler of cluster ", cluster, " ignores them: it allocates more than nodes have"));
      finding.fix =
          "set yarn.scheduler.capacity.resource-calculator to "
          "org.apache.hadoop.yarn.util.resource.DominantResourceCalculator and restart the ResourceManager; until "
          "then, --memory-per-vcore of the operator limits its memory";
      break;
  }
  return finding;
}

// As the operator, from several readings (policy/sell/yarn_calculator.h). A FairScheduler checks vcores in any case.
net::Task<CpuCounting> counting_of(net::EventLoop& loop, hadoop::ResourceManager& manager, base::Duration limit) {
  CalculatorState state;
  for (int i = 0; i < policy::sell::kSeenInARow; ++i) {
    if (i > 0) co_await loop.sleep(kReadAgain);
    const auto root = co_await manager.root_queue(limit);
    if (root && !root->used_share_permille) co_return CpuCounting::kCounted;
    const auto nodes = co_await manager.nodes({}, limit);
    if (!root || !nodes) co_return CpuCounting::kUnknown;
    policy::sell::CalculatorReading reading{*root->used_share_permille, {}, {}};
    for (const hadoop::NodeReport& each : nodes->nodes) yarn_operator::add_to(reading, each);
    state = policy::sell::next_calculator(state, reading);
  }
  co_return state.verdict;
}

}  // namespace

Severity YarnDoctorReport::worst() const {
  Severity severity = Severity::kOk;
  for (const FormedFinding& each : findings) severity = std::max(severity, each.severity);
  return severity;
}

net::Task<YarnDoctorReport> examine_yarn(net::EventLoop& loop, base::Random random, YarnDoctorOptions options) {
  YarnDoctorReport report;
  for (const Error& each : options.invalid) {
    report.findings.push_back({Severity::kBad, "files", "files", {each.message}, "correct the file", {}});
  }
  for (const yarn_operator::YarnCluster& each : options.clusters) {
    hadoop::ResourceManager manager(loop, options.workers, each.managers, random.fork());
    const auto nodes = co_await manager.nodes({}, options.limit);
    report.findings.push_back(manager_finding(each.id, nodes));
    if (!nodes) continue;
    report.findings.push_back(vcores_finding(each.id, co_await counting_of(loop, manager, options.limit)));
  }
  co_return report;
}

Json render_json(const YarnDoctorReport& report) {
  Json list = Json::array();
  for (const FormedFinding& each : report.findings) list.as_array().push_back(policy::explain::render_json(each));
  return Json::object({{"severity", Json(to_string(report.worst()))}, {"findings", std::move(list)}});
}

}  // namespace tidemark::cli
