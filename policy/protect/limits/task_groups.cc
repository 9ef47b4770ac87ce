#include "policy/protect/limits/task_groups.h"

#include <algorithm>
#include <string_view>
#include <tuple>

namespace tidemark::policy::protect {

bool may_be_written(const model::Task& task) {
  return task.kind != model::TaskKind::kHostApplication && !task.path.empty() && !task.terminal();
}

bool is_offline(const model::Task& task) {
  if (task.qos_raw == model::Qos::kBe) return true;
  return task.qos == model::Qos::kBe && !(task.requests.batch.none() && task.requests.mid.none());
}

bool has_batch(const model::TaskContainer& container) {
  return !container.requests.batch.none() || !container.limits.batch.none();
}

bool has_batch(const model::Task& task) {
  return !task.requests.batch.none() || !task.limits.batch.none() ||
         std::ranges::any_of(task.containers, [](const model::TaskContainer& each) { return has_batch(each); });
}

void sort_by_group(std::vector<Intent>& intents) {
  std::ranges::sort(intents, {}, [](const Intent& intent) {
    return std::tuple(std::string_view(intent.group), intent.want, intent.value, intent.reason);
  });
}

}  // namespace tidemark::policy::protect
