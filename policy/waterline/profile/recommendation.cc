#include "policy/waterline/profile/recommendation.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace tidemark::policy::waterline {
namespace {

using Wide = __int128;

std::int64_t held(Wide value) {
  return static_cast<std::int64_t>(
      std::clamp<Wide>(value, 0, static_cast<Wide>(std::numeric_limits<std::int64_t>::max())));
}

// amount × part / whole, rounded up.
std::int64_t share_of(std::int64_t amount, std::int64_t part, Wide whole) {
  return held((static_cast<Wide>(amount) * part + whole - 1) / whole);
}

template <class Amount>
void share_out(Amount model::Resources::* of, Amount pod, std::span<const ContainerRequest> from,
               std::vector<ContainerRequest>& to) {
  Wide whole = 0;
  for (const auto& each : from) whole += std::max<std::int64_t>((each.request.*of).value, 0);
  std::int64_t left = pod.value;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t request = std::max<std::int64_t>((from[i].request.*of).value, 0);
    std::int64_t part =
        whole > 0 ? share_of(pod.value, request, whole) : share_of(pod.value, 1, static_cast<Wide>(from.size()));
    part = i + 1 == from.size() ? left : std::min(part, left);
    (to[i].request.*of).value = part;
    left -= part;
  }
}

template <class Amount>
Amount with_margin(Amount amount, std::int64_t percent) {
  return {held((static_cast<Wide>(amount.value) * (100 + std::max<std::int64_t>(percent, 0)) + 99) / 100)};
}

bool far_apart(std::int64_t told, std::int64_t wanted, std::int64_t percent) {
  const Wide apart = told > wanted ? static_cast<Wide>(told) - wanted : static_cast<Wide>(wanted) - told;
  return apart * 100 > static_cast<Wide>(std::max<std::int64_t>(told, 0)) * percent;
}

}  // namespace

std::string containers_text(std::span<const ContainerRequest> containers) {
  std::string text;
  for (const auto& each : containers.first(std::min(containers.size(), kContainersMax))) {
    text += base::cat(text.empty() ? "" : ",", each.name, "=", each.request.cpu.value, "/", each.request.memory.value);
  }
  return text;
}

std::vector<ContainerRequest> parse_containers(std::string_view text) {
  std::vector<ContainerRequest> containers;
  for (const auto each : base::split(text, ',')) {
    const auto equals = each.rfind('=');
    if (equals == std::string_view::npos || equals == 0) return {};
    const auto amounts = base::split(each.substr(equals + 1), '/');
    if (amounts.size() != 2) return {};
    const auto cpu = base::parse_int(amounts[0]);
    const auto memory = base::parse_int(amounts[1]);
    if (!cpu || !memory || containers.size() >= kContainersMax) return {};
    containers.push_back({std::string(each.substr(0, equals)), {{*cpu}, {*memory}}});
  }
  return containers;
}

std::optional<Recommendation> recommend(const UsageProfile& profile, std::span<const ContainerRequest> containers,
                                        const RecommendationSettings& settings, base::WallTime now) {
  if (containers.empty()) return std::nullopt;
  const auto usage = usage_of_all_hours(profile, now);
  if (!usage || hours_seen(profile, now) < settings.known_hours) return std::nullopt;
  Recommendation wanted;
  wanted.containers.assign(containers.begin(), containers.end());
  share_out(&model::Resources::cpu, with_margin(usage->p95.cpu, settings.margin_percent), containers,
            wanted.containers);
  share_out(&model::Resources::memory, with_margin(usage->max.memory, settings.margin_percent), containers,
            wanted.containers);
  return wanted;
}

bool differs(const Recommendation& told, const Recommendation& wanted, std::int64_t change_percent) {
  if (told.containers.size() != wanted.containers.size()) return true;
  for (std::size_t i = 0; i < told.containers.size(); ++i) {
    const auto& a = told.containers[i];
    const auto& b = wanted.containers[i];
    if (a.name != b.name || far_apart(a.request.cpu.value, b.request.cpu.value, change_percent) ||
        far_apart(a.request.memory.value, b.request.memory.value, change_percent)) {
      return true;
    }
  }
  return false;
}

}  // namespace tidemark::policy::waterline
