#include "yarn_copilot/victims.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tidemark::yarn_copilot {
namespace {

bool is_enough(model::Resources got, model::Resources wanted) {
  return got.cpu >= wanted.cpu && got.memory >= wanted.memory;
}

}  // namespace

std::vector<std::size_t> choose_victims(const std::vector<Candidate>& candidates, model::Resources wanted) {
  std::vector<std::size_t> order(candidates.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t a, std::size_t b) {
    const auto rank = [&](std::size_t at) {
      const Candidate& each = candidates[at];
      return std::tuple(each.master, each.began.has_value(),
                        each.began ? -each.began->since_epoch : base::Duration::zero());
    };
    if (rank(a) != rank(b)) return rank(a) < rank(b);
    return candidates[a].id > candidates[b].id;  // a later number is a later container
  });

  std::vector<std::size_t> chosen;
  model::Resources got;
  for (const std::size_t at : order) {
    if (is_enough(got, wanted)) break;
    const model::Resources& holds = candidates[at].holds;
    const bool helps =
        (got.cpu < wanted.cpu && holds.cpu.value > 0) || (got.memory < wanted.memory && holds.memory.value > 0);
    if (!helps) continue;
    chosen.push_back(at);
    got += holds;
  }
  // Spares containers that a later, larger one made unnecessary; the last in the order is spared first.
  for (std::size_t i = chosen.size(); i-- > 0;) {
    const model::Resources without = got - candidates[chosen[i]].holds;
    if (!is_enough(without, wanted)) continue;
    got = without;
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return chosen;
}

}  // namespace tidemark::yarn_copilot
