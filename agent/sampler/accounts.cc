#include "agent/sampler/accounts.h"

namespace tidemark::agent {
namespace {

// Offline work, by its class or its group, waits for CPUs by design.
bool is_online(const model::Task& task) {
  return task.kind != model::TaskKind::kCopilotTask && task.qos != model::Qos::kBe && !task.below_besteffort;
}

}  // namespace

std::vector<AccountSpec> accounts_of(const TaskSnapshot& tasks) {
  std::vector<AccountSpec> out;
  out.reserve(tasks.tasks.size());
  for (const ListedTask& one : tasks.tasks) {
    const model::Task& task = *one.task;
    if (task.path.empty()) continue;
    AccountSpec& spec = out.emplace_back();
    spec.handle = one.handle;
    spec.path = task.path;
    for (const model::TaskContainer& container : task.containers) {
      if (!container.path.empty()) spec.containers.push_back({container.id, container.path});
    }
    spec.counts = !one.above;
    spec.online = is_online(task);
  }
  return out;
}

const ListedTask* owner_of(const TaskSnapshot& tasks, std::string_view group) {
  const ListedTask* found = nullptr;
  for (const ListedTask& one : tasks.tasks) {  // nested groups follow their parent
    if (!one.task->path.empty() && in_group(group, one.task->path)) found = &one;
  }
  return found;
}

}  // namespace tidemark::agent
