#include "policy/evict/left_over.h"

#include <algorithm>
#include <utility>

#include "policy/evict/evict.h"

namespace tidemark::policy::evict {

LeftOverStep left_over(LeftOverState state, const std::optional<EvictionOrder>& order,
                       std::span<const model::Task* const> tasks, base::MonotonicTime now) {
  if (state.order != order) state = {order, now, {}};
  LeftOverStep step{std::move(state), {}};
  if (!order || now - step.state.read < order->grace + kLeftOverAfter) return step;
  std::map<std::string, base::MonotonicTime> asked;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const model::Task& task = *tasks[i];
    if (task.kind != model::TaskKind::kCopilotTask || task.terminal()) continue;
    const std::string key = evict_key(task);
    const auto before = step.state.asked.find(key);
    const bool again = before == step.state.asked.end() || now - before->second >= kLeftOverAgain;
    if (again) step.to_end.push_back(i);
    asked.emplace(key, again ? now : before->second);
  }
  step.state.asked = std::move(asked);
  return step;
}

}  // namespace tidemark::policy::evict
