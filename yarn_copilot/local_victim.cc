#include "yarn_copilot/local_victim.h"

#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <tuple>

namespace tidemark::yarn_copilot {
namespace {

template <class Key>
std::int64_t of(const std::map<Key, std::int64_t>& all, const Key& name) {
  const auto found = all.find(name);
  return found == all.end() ? 0 : found->second;
}

std::int64_t own_of(const LocalUse& use, std::string_view container) {
  const auto found = use.containers.find(container);
  return found == use.containers.end() ? 0 : found->second;
}

}  // namespace

std::optional<std::size_t> choose_local_victim(const std::vector<LocalHolder>& holders, const LocalUse& use,
                                               std::int64_t too_much) {
  std::set<LocalApplication> running;
  std::int64_t most = 0, together = 0;
  LocalApplication application;
  for (const LocalHolder& each : holders) {
    if (!running.insert(each.application).second) continue;
    const std::int64_t bytes = of(use.applications, each.application);
    if (__builtin_add_overflow(together, bytes, &together)) together = std::numeric_limits<std::int64_t>::max();
    if (bytes > most) std::tie(most, application) = std::tuple(bytes, each.application);
  }
  if (most == 0 || together < too_much) return std::nullopt;

  std::optional<std::size_t> chosen;
  const auto own = [&](const LocalHolder& each) {
    const std::int64_t bytes = own_of(use, each.id);
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
