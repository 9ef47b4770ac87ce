// The recommended request of each container of a workload, from the use of its pods in the last seven days.
//
//    pod        = cpu: p95 of the busiest hour of the day;  memory: the largest sample        × (100 + margin) %
//    container  = pod × its share of the requests, each resource separately; the last one gets the rest
//
// A NodeMetric reports the use of a pod, not of its containers: so they share by their requests, or equally without
// requests. Init containers and requests at pod level are ignored: a recommendation covers the running containers.
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
#include "policy/waterline/profile/settings.h"
#include "policy/waterline/profile/usage_profile.h"

namespace tidemark::policy::waterline {

struct ContainerRequest {
  std::string name;
  model::Resources request;
  bool operator==(const ContainerRequest&) const = default;
};
inline constexpr std::size_t kContainersMax = 100;

// "main=500/1073741824,sidecar=0/0": one text for all equal pods, so that it is stored once.
std::string containers_text(std::span<const ContainerRequest> containers);
std::vector<ContainerRequest> parse_containers(std::string_view text);  // empty if it does not have that form

struct Recommendation {
  std::vector<ContainerRequest> containers;  // in the order of the pod
  bool operator==(const Recommendation&) const = default;
};

// nullopt: fewer hours than `known_hours` were seen, or there is no container.
std::optional<Recommendation> recommend(const UsageProfile& profile, std::span<const ContainerRequest> containers,
                                        const RecommendationSettings& settings, base::WallTime now);

// True for another set of containers, or an amount that differs by more than `change_percent` from the published one.
bool differs(const Recommendation& told, const Recommendation& wanted, std::int64_t change_percent);

}  // namespace tidemark::policy::waterline
