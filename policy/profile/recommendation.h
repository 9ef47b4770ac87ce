// What each container of a workload should request, from what its pods used in the last seven days.
//
//   pod        = cpu: p95 of the busiest hour of the day;  memory: the most that was seen       × (100 + margin) %
//   container  = pod × its share of the requests, each resource by itself; the last one gets the rest
//
// A NodeMetric tells what a pod uses, not what each of its containers does: so they share as they request. Where none
// requests anything they share alike. With init containers and what requests of a pod's own level there is nothing to
// do: a recommendation is of the containers that run.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "model/reason.h"
#include "model/resources.h"
#include "policy/profile/settings.h"
#include "policy/profile/usage_profile.h"

namespace tidemark::policy {

struct ContainerRequest {
  std::string name;
  model::Resources request;
  bool operator==(const ContainerRequest&) const = default;
};
inline constexpr std::size_t kContainersMax = 100;

// "main=500/1073741824,sidecar=0/0": one text for all pods that are alike, so that it is held once.
std::string containers_text(std::span<const ContainerRequest> containers);
std::vector<ContainerRequest> parse_containers(std::string_view text);  // empty where it is not of that form

struct Recommendation {
  std::vector<ContainerRequest> containers;  // in the order of the pod
  bool operator==(const Recommendation&) const = default;
};

// nullopt: fewer hours than `known_hours` were seen, or there is no container.
std::optional<Recommendation> recommend(const UsageProfile& profile, std::span<const ContainerRequest> containers,
                                        const RecommendationSettings& settings, base::WallTime now);

// Whether another set of containers, or an amount by more than `change_percent` of what is told now.
bool differs(const Recommendation& told, const Recommendation& wanted, std::int64_t change_percent);

}  // namespace tidemark::policy
