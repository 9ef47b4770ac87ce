#include "yarn_copilot/local_victim.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace tidemark::yarn_copilot {
namespace {

using BytesOf = std::map<LocalApplication, std::int64_t>;

void add(std::int64_t& sum, std::int64_t bytes) {
  if (__builtin_add_overflow(sum, bytes, &sum)) sum = std::numeric_limits<std::int64_t>::max();
}

std::int64_t own_of(const LocalUse& use, std::string_view container) {
  const auto found = use.containers.find(container);
  return found == use.containers.end() ? 0 : found->second;
}

// Of the running containers.
BytesOf what_ends_free(const std::vector<LocalHolder>& holders, const LocalUse& use, LocalFree frees) {
  BytesOf out;
  for (const LocalHolder& each : holders) {
    std::int64_t& bytes = out[each.application];
    if (frees == LocalFree::kOwn) {
      add(bytes, own_of(use, each.id));
    } else if (const auto found = use.applications.find(each.application); found != use.applications.end()) {
      bytes = found->second;
    }
  }
  return out;
}

// nullopt: none is worth it, or all together are not enough.
std::optional<LocalApplication> who_holds_most(const BytesOf& bytes_of, std::int64_t too_much) {
  std::int64_t together = 0;
  const BytesOf::value_type* most = nullptr;
  for (const auto& each : bytes_of) {
    add(together, each.second);
    if (each.second > (most == nullptr ? 0 : most->second)) most = &each;
  }
  if (most == nullptr || together < too_much) return std::nullopt;
  return most->first;
}

// The newer one first.
bool later(const LocalHolder& a, const LocalHolder& b) {
  if (!a.began || !b.began) return !a.began && b.began.has_value();
  return std::tuple(*a.began, std::string_view(a.id)) > std::tuple(*b.began, std::string_view(b.id));
}

bool is_cleared(const LocalEnds& ends, const LocalUse& use, base::MonotonicTime now) {
  return own_of(use, ends.victim) == 0 || now - *ends.ended_at >= kClearedWithin;
}

}  // namespace

std::optional<std::size_t> choose_local_victim(const std::vector<LocalHolder>& holders, const LocalUse& use,
                                               std::int64_t too_much, LocalFree frees) {
  const BytesOf bytes_of = what_ends_free(holders, use, frees);
  const auto application = who_holds_most(bytes_of, too_much);
  if (!application) return std::nullopt;
  const std::int64_t most = bytes_of.at(*application);
  const auto worth = [&](const LocalHolder& each) {
    const std::int64_t bytes = own_of(use, each.id);
    return frees == LocalFree::kOwn || bytes / kOwnPart_percent >= most / 100 ? bytes : 0;
  };
  const auto rank = [&](const LocalHolder& each) { return std::tuple(each.master, -worth(each)); };
  std::optional<std::size_t> chosen;
  for (std::size_t at = 0; at < holders.size(); ++at) {
    const LocalHolder& each = holders[at];
    if (each.application != *application) continue;
    if (frees == LocalFree::kOwn && worth(each) == 0) continue;
    const LocalHolder* best = chosen ? &holders[*chosen] : nullptr;
    if (best == nullptr || rank(each) < rank(*best) || (rank(each) == rank(*best) && later(each, *best))) chosen = at;
  }
  return chosen;
}

LocalStep step_local_ends(LocalEnds ends, const std::vector<LocalHolder>& holders, const LocalUse& use,
                          std::int64_t limit_bytes, base::MonotonicTime now) {
  if (use.bytes <= limit_bytes) return {};
  if (!ends.victim.empty()) {
    const auto running = std::ranges::find(holders, ends.victim, &LocalHolder::id);
    if (running != holders.end()) {
      if (running->ending) return {std::move(ends)};
      ends.victim.clear();  // the order was lost or failed: as if there was none
    } else {
      // Its NodeManager gets at least the time of one pass: without other containers of the application here, its part
      // is not measured separately.
      const bool is_new = !ends.ended_at.has_value();
      if (is_new) ends.ended_at = now;
      if (is_new || !is_cleared(ends, use, now)) return {std::move(ends)};
      // Once ends had no effect, that stays so until the directories are below their limit.
      if (ends.in_vain < kEndsInVainMax) ends.in_vain = use.bytes < ends.bytes_before ? 0 : ends.in_vain + 1;
      ends.victim.clear();
    }
    ends.ended_at.reset();
  }
  const LocalFree frees = ends.in_vain < kEndsInVainMax ? LocalFree::kOfApplication : LocalFree::kOwn;
  const auto victim = choose_local_victim(holders, use, use.bytes - limit_bytes, frees);
  if (!victim) return {.ends = std::move(ends), .no_victim_helps = true};
  ends.victim = holders[*victim].id;
  ends.bytes_before = use.bytes;
  return {.ends = std::move(ends), .victim = victim};
}

}  // namespace tidemark::yarn_copilot
