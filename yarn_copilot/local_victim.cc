#include "yarn_copilot/local_victim.h"

#include <string_view>
#include <tuple>

namespace tidemark::yarn_copilot {
namespace {

std::int64_t of(const std::map<std::string, std::int64_t, std::less<>>& all, std::string_view name) {
  const auto found = all.find(name);
  return found == all.end() ? 0 : found->second;
}

}  // namespace

std::optional<std::size_t> choose_local_victim(const std::vector<LocalHolder>& holders, const LocalUse& use) {
  std::int64_t most = 0;
  std::string_view application;
  for (const LocalHolder& each : holders) {
    const std::int64_t bytes = of(use.applications, each.application);
    if (bytes > most) std::tie(most, application) = std::tuple(bytes, std::string_view(each.application));
  }
  if (most == 0) return std::nullopt;

  std::optional<std::size_t> chosen;
  const auto own = [&](const LocalHolder& each) {
    const std::int64_t bytes = of(use.containers, each.id);
    return bytes / kOwnPart_percent >= most / 100 ? bytes : 0;
  };
  const auto later = [](const LocalHolder& a, const LocalHolder& b) {
    if (!a.began || !b.began) return !a.began && b.began.has_value();
    return std::tuple(*a.began, std::string_view(a.id)) > std::tuple(*b.began, std::string_view(b.id));
  };
  for (std::size_t at = 0; at < holders.size(); ++at) {
    const LocalHolder& each = holders[at];
    if (each.application != application) continue;
    if (!chosen) {
      chosen = at;
      continue;
    }
    const LocalHolder& best = holders[*chosen];
    const auto rank = [&](const LocalHolder& one) { return std::tuple(one.master, -own(one)); };
    if (rank(each) < rank(best) || (rank(each) == rank(best) && later(each, best))) chosen = at;
  }
  return chosen;
}

}  // namespace tidemark::yarn_copilot
