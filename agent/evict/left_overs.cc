#include "agent/evict/left_overs.h"

#include <utility>
#include <vector>

#include "model/reason.h"

namespace tidemark::agent {

LeftOvers::LeftOvers(net::EventLoop& loop, EvictionHands& hands, base::Log log)
    : loop_(loop), hands_(hands), log_(std::move(log)), scope_(loop) {}

void LeftOvers::observe(const std::optional<policy::evict::EvictionOrder>& order, const TaskSnapshot& tasks) {
  if (!order && !state_.order) return;
  std::vector<const model::Task*> all;
  all.reserve(tasks.tasks.size());
  for (const ListedTask& each : tasks.tasks) all.push_back(each.task.get());
  auto step = policy::evict::left_over(std::move(state_), order, all, loop_.clock().monotonic());
  state_ = std::move(step.state);
  for (const std::size_t index : step.to_end) scope_.spawn(end(tasks.tasks[index].task));
}

net::Task<void> LeftOvers::end(TaskPointer task) {
  using policy::evict::EvictOutcome;
  constexpr auto kWhy = model::Reason::kEvictOrdered;
  const EvictOutcome outcome = co_await hands_.ask(*task, kWhy, policy::evict::kLeftOverGrace, true);
  if (outcome == EvictOutcome::kGone) co_return;
  const std::initializer_list<base::LogField> told = {{"namespace", task->ns},
                                                      {"name", task->name},
                                                      {"means", model::reason_sentence(kWhy)},
                                                      {"reason", model::reason_id(kWhy)}};
  if (outcome == EvictOutcome::kAccepted) {
    log_.info("evicted", told);
  } else {
    log_.warn("cannot evict; retrying", told);
  }
}

}  // namespace tidemark::agent
