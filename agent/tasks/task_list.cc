#include "agent/tasks/task_list.h"

#include <algorithm>
#include <functional>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "policy/protect/limits/task_groups.h"

namespace tidemark::agent {
namespace {

using model::TaskKind;

// Orders groups before what is nested in them, and keeps nested groups together: "a/b" before "a-b", although '-' is
// the lower letter.
bool path_before(std::string_view a, std::string_view b) {
  return std::ranges::lexicographical_compare(
      a, b, {}, [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); },
      [](char c) { return c == '/' ? 0 : 1 + static_cast<unsigned char>(c); });
}

struct Claim {
  TaskPointer task;
  std::size_t provider = 0;
  bool unconfirmed = false;
};

bool claim_before(const Claim& a, const Claim& b) {
  if (a.task->path != b.task->path) return path_before(a.task->path, b.task->path);
  return std::tie(a.task->kind, a.unconfirmed, a.provider, a.task->identity.source, a.task->identity.task) <
         std::tie(b.task->kind, b.unconfirmed, b.provider, b.task->identity.source, b.task->identity.task);
}

std::string key_of(const model::Task& task) {
  using std::string_view_literals::operator""sv;
  return base::cat(static_cast<int>(task.kind), "\0"sv, task.identity.source, "\0"sv, task.identity.cluster, "\0"sv,
                   task.identity.task, "\0"sv, task.path);
}

// The first pod in the group of claims[at]; nested groups follow it.
TaskPointer pod_in(const std::vector<Claim>& claims, std::size_t at) {
  const std::string& group = claims[at].task->path;
  for (std::size_t i = at + 1; i < claims.size() && in_group(claims[i].task->path, group); ++i) {
    if (claims[i].task->kind == TaskKind::kPod) return claims[i].task;
  }
  return nullptr;
}

bool directly_in(std::string_view path, std::string_view group) {
  return path.find('/', group.size() + 1) == std::string_view::npos;
}

}  // namespace

std::string_view to_string(ProviderState state) {
  switch (state) {
    case ProviderState::kWaiting:
      return "waiting";
    case ProviderState::kCurrent:
      return "current";
    case ProviderState::kHeld:
      return "held";
    case ProviderState::kMissing:
      return "missing";
  }
  return "";
}

std::string_view to_string(Refusal refusal) {
  switch (refusal) {
    case Refusal::kSameGroup:
      return "the group is another task's";
    case Refusal::kInsideTask:
      return "the group lies in a task's, which is limited and evicted as a whole";
    case Refusal::kPodsContainer:
      return "the group is a pod's container";
    case Refusal::kHoldsPod:
      return "the group has a pod in it";
  }
  return "";
}

bool in_group(std::string_view path, std::string_view group) {
  if (group.empty()) return true;
  return path.starts_with(group) && (path.size() == group.size() || path[group.size()] == '/');
}

const ListedTask* TaskSnapshot::find(TaskHandle handle) const {
  const auto found = std::ranges::find(tasks, handle, &ListedTask::handle);
  return found == tasks.end() ? nullptr : &*found;
}

TaskList::TaskList(std::vector<const TaskProvider*> providers)
    : providers_(std::move(providers)), seen_(providers_.size()) {}

const std::shared_ptr<const TaskSnapshot>& TaskList::snapshot() {
  bool same = snapshot_ != nullptr;
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    const std::uint64_t change = providers_[i]->provided().change;
    same = same && seen_[i] == change;
    seen_[i] = change;
  }
  if (!same) make();
  return snapshot_;
}

void TaskList::make() {
  auto made = std::make_shared<TaskSnapshot>();
  made->change = snapshot_ == nullptr ? 1 : snapshot_->change + 1;

  std::vector<Claim> claims;
  for (std::size_t i = 0; i < providers_.size(); ++i) {
    const ProvidedTasks& provided = providers_[i]->provided();
    made->sources.push_back(
        {std::string(providers_[i]->name()), provided.state, provided.confirmed, provided.tasks.size()});
    const std::size_t confirmed = provided.tasks.size() - provided.unconfirmed;
    for (std::size_t at = 0; at < provided.tasks.size(); ++at) {
      claims.push_back({provided.tasks[at], i, at >= confirmed});
    }
  }
  std::ranges::sort(claims, claim_before);

  std::vector<std::size_t> owners;  // of the groups above, the nearest last
  for (std::size_t at = 0; at < claims.size(); ++at) {
    const TaskPointer& task = claims[at].task;
    const auto refuse = [&](Refusal why, TaskPointer owner) { made->refused.push_back({task, why, std::move(owner)}); };
    std::optional<std::size_t> above;
    if (!task->path.empty()) {
      while (!owners.empty() && !in_group(task->path, made->tasks[owners.back()].task->path)) owners.pop_back();
      if (!owners.empty()) {
        above = owners.back();
        const TaskPointer& owner = made->tasks[*above].task;
        if (owner->path == task->path) {
          refuse(Refusal::kSameGroup, owner);
          continue;
        }
        if (task->kind == TaskKind::kHostApplication && owner->kind != TaskKind::kHostApplication) {
          refuse(Refusal::kInsideTask, owner);
          continue;
        }
        if (task->kind == TaskKind::kCopilotTask && owner->kind == TaskKind::kPod &&
            directly_in(task->path, owner->path)) {
          refuse(Refusal::kPodsContainer, owner);
          continue;
        }
      }
      if (task->kind != TaskKind::kPod) {
        if (TaskPointer pod = pod_in(claims, at)) {
          refuse(Refusal::kHoldsPod, std::move(pod));
          continue;
        }
      }
    }
    Held& held = held_.try_emplace(key_of(*task)).first->second;
    if (held.listed == made->change) continue;  // listed twice, and without a group
    if (held.listed == 0) held.handle = new_handle();
    held.listed = made->change;
    if (!task->path.empty()) owners.push_back(made->tasks.size());
    made->tasks.push_back({held.handle, task, above, claims[at].unconfirmed});
  }

  // Slots become free with the next snapshot, so that no slot changes its owner within one.
  std::erase_if(held_, [&](const auto& each) {
    if (each.second.listed == made->change) return false;
    free_slots_.push_back(each.second.handle.slot);
    return true;
  });
  std::ranges::sort(free_slots_, std::greater<>());
  snapshot_ = std::move(made);
}

bool lies_in_offline(const TaskSnapshot& tasks, const ListedTask& listed) {
  for (auto at = listed.above; at; at = tasks.tasks[*at].above) {
    if (policy::protect::is_offline(*tasks.tasks[*at].task)) return true;
  }
  return false;
}

TaskHandle TaskList::new_handle() {
  if (free_slots_.empty()) {
    turns_.push_back(1);
    return {static_cast<std::uint32_t>(turns_.size() - 1), 1};
  }
  const std::uint32_t slot = free_slots_.back();
  free_slots_.pop_back();
  return {slot, ++turns_[slot]};
}

}  // namespace tidemark::agent
