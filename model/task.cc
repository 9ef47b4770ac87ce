#include "model/task.h"

#include <algorithm>
#include <utility>

namespace tidemark::model {
namespace {

std::size_t heap(const std::string& text) {
  constexpr std::size_t kInside = 15;  // shorter texts are stored in the string itself
  return text.capacity() > kInside ? text.capacity() + 1 : 0;
}

template <class T>
std::size_t heap(const std::vector<T>& list) {
  return list.capacity() * sizeof(T);
}

}  // namespace

std::string_view to_string(TaskKind kind) {
  switch (kind) {
    case TaskKind::kPod:
      return "pod";
    case TaskKind::kCopilotTask:
      return "copilot task";
    case TaskKind::kHostApplication:
      return "host application";
  }
  return "";
}

std::string_view to_string(TaskProviderKind kind) {
  switch (kind) {
    case TaskProviderKind::kKubelet:
      return "kubelet";
    case TaskProviderKind::kApiServer:
      return "API server";
    case TaskProviderKind::kCopilot:
      return "copilot";
    case TaskProviderKind::kHostApplications:
      return "host applications";
  }
  return "";
}

const std::string* Task::setting(TaskSetting what) const {
  const auto found = std::ranges::find(settings, what, &Setting::what);
  return found == settings.end() ? nullptr : &found->text;
}

bool Task::may_be_evicted_by(std::string_view feature) const {
  return !eviction_features || std::ranges::find(*eviction_features, feature) != eviction_features->end();
}

std::size_t Task::bytes() const {
  std::size_t sum = sizeof(Task);
  for (const std::string* text :
       {&identity.source, &identity.cluster, &identity.job, &identity.attempt, &identity.task, &identity.user,
        &identity.business, &identity.work_class, &ns, &name, &workload, &path, &cpuset}) {
    sum += heap(*text);
  }
  sum += heap(containers) + heap(numa_nodes) + heap(settings);
  for (const TaskContainer& each : containers) {
    sum += heap(each.name) + heap(each.runtime) + heap(each.id) + heap(each.path);
  }
  for (const Setting& each : settings) sum += heap(each.text);
  if (eviction_features) {
    sum += heap(*eviction_features);
    for (const std::string& each : *eviction_features) sum += heap(each);
  }
  return sum;
}

}  // namespace tidemark::model
