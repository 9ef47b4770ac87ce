#include "policy/waterline/profile/workload.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"

namespace tidemark::policy::waterline {
namespace {

// Minutes since 1970 have had eight digits since 1989.
constexpr std::size_t kCronDigitsMin = 8;

std::string_view without_suffix(std::string_view name, std::string_view suffix) {
  if (suffix.empty() || name.size() < suffix.size() + 2 || !name.ends_with(suffix)) return "";
  name.remove_suffix(suffix.size());
  if (!name.ends_with('-')) return "";
  name.remove_suffix(1);
  return name;
}

std::string_view cron_job_of(std::string_view job) {
  const auto dash = job.rfind('-');
  if (dash == std::string_view::npos) return "";
  const std::string_view digits = job.substr(dash + 1);
  if (digits.size() < kCronDigitsMin) return "";
  if (!std::ranges::all_of(digits, [](char c) { return c >= '0' && c <= '9'; })) return "";
  return job.substr(0, dash);
}

}  // namespace

Workload workload_of(std::string_view ns, const PodOwner& owner) {
  if (owner.kind.empty() || owner.name.empty() || owner.kind == "Node" || owner.kind == "Pod") return {};
  std::string_view kind = owner.kind;
  std::string_view name = owner.name;
  if (kind == "ReplicaSet") {
    if (const auto deployment = without_suffix(name, owner.template_hash); !deployment.empty()) {
      kind = "Deployment";
      name = deployment;
    }
  } else if (kind == "Job") {
    if (const auto cron = cron_job_of(name); !cron.empty()) {
      kind = "CronJob";
      name = cron;
    }
  }
  return {std::string(ns), std::string(kind), std::string(name)};
}

std::string workload_text(const Workload& workload) {
  return workload.none() ? std::string() : base::cat(workload.ns, "/", workload.kind, "/", workload.name);
}

Workload parse_workload(std::string_view text) {
  const auto parts = base::split(text, '/');
  if (parts.size() != 3 || std::ranges::any_of(parts, [](std::string_view part) { return part.empty(); })) return {};
  return {std::string(parts[0]), std::string(parts[1]), std::string(parts[2])};
}

std::string_view workload_api_version(std::string_view kind) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kKinds{{{"Deployment", "apps/v1"},
                                                                                 {"StatefulSet", "apps/v1"},
                                                                                 {"DaemonSet", "apps/v1"},
                                                                                 {"ReplicaSet", "apps/v1"},
                                                                                 {"Job", "batch/v1"},
                                                                                 {"CronJob", "batch/v1"}}};
  const auto at = std::ranges::find(kKinds, kind, [](const auto& each) { return each.first; });
  return at == kKinds.end() ? std::string_view() : at->second;
}

}  // namespace tidemark::policy::waterline
