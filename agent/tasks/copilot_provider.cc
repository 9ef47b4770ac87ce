#include "agent/tasks/copilot_provider.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "agent/tasks/group_path.h"
#include "base/text.h"
#include "copilot/yarn_id.h"
#include "model/names.h"

namespace tidemark::agent {

CopilotProvider::CopilotProvider(net::EventLoop& loop, net::HttpTransport& transport,
                                 const linux::Hierarchies& hierarchies, base::Log log, CopilotConfig config)
    : loop_(loop),
      log_(std::move(log)),
      config_(std::move(config)),
      name_(base::cat("copilot ", config_.socket)),
      client_(transport),
      prompted_(loop),
      watch_(loop, hierarchies, log_, [this] { prompted_.set(); }),
      looks_(config_.looks_per_second, config_.looks_burst) {
  provided_.change = 1;
}

net::Task<void> CopilotProvider::run() {
  for (;;) {
    prompted_.clear();
    watch_.set(config_.parents);
    if (auto looked = co_await look(); !looked) {
      log_.warn("a copilot does not answer", {{"socket", config_.socket}, {"error", looked.error()}});
      miss();
    }
    if (!co_await prompted_.wait_for(config_.interval)) continue;
    const auto wait = looks_.reserve(loop_.clock().monotonic(), config_.interval);
    co_await loop_.sleep(wait.value_or(config_.interval));
  }
}

net::Task<Result<void>> CopilotProvider::look() {
  if (!information_) {
    TM_CO_TRY(information_, co_await client_.information(config_.limit));
  }
  TM_CO_TRY(const auto containers, co_await client_.containers(config_.limit));
  take(containers);
  provided_.confirmed = loop_.clock().monotonic();
  stand(Standing::kCurrent);
  co_return Result<void>();
}

void CopilotProvider::take(const std::vector<copilot::Container>& containers) {
  std::unordered_map<std::string_view, TaskPointer> before;
  for (const TaskPointer& task : provided_.tasks) before.emplace(task->identity.task, task);

  std::vector<TaskPointer> tasks;
  tasks.reserve(containers.size());
  for (const copilot::Container& each : containers) {
    auto task = task_of(each);
    if (!task) {
      log_.warn("a copilot's container is not accounted",
                {{"socket", config_.socket}, {"container", each.name}, {"error", task.error()}});
      continue;
    }
    const auto same = before.find(task->identity.task);
    if (same != before.end() && *same->second == *task) {
      tasks.push_back(same->second);
    } else {
      tasks.push_back(std::make_shared<const model::Task>(*std::move(task)));
    }
  }
  const auto id = [](const TaskPointer& task) -> std::string_view { return task->identity.task; };
  std::ranges::sort(tasks, {}, id);
  const auto twice = std::ranges::unique(tasks, {}, id);
  tasks.erase(twice.begin(), twice.end());
  if (tasks == provided_.tasks) return;
  provided_.tasks = std::move(tasks);
  ++provided_.change;
}

void CopilotProvider::miss() {
  information_.reset();  // another one may come in its place
  if (!provided_.confirmed) return;
  if (loop_.clock().monotonic() - *provided_.confirmed < config_.hold_max) return stand(Standing::kHeld);
  provided_.tasks.clear();
  stand(Standing::kMissing);
}

Result<model::Task> CopilotProvider::task_of(const copilot::Container& container) const {
  const std::string& id = container.uid.empty() ? container.name : container.uid;
  if (id.empty() || id.size() > model::kTaskNameBytesMax || container.name.size() > model::kTaskNameBytesMax) {
    return fail(ErrorKind::kInvalid, "wanted a name of 1 to ", model::kTaskNameBytesMax, " bytes");
  }
  Result<std::string> path = fail(ErrorKind::kInvalid, "this copilot may name no groups: no parent is configured");
  for (const std::string& parent : config_.parents) {
    path = group_path_below(parent, container.group);
    if (path) break;
  }
  if (!path) return fail(std::move(path).error());

  model::Task task;
  task.kind = model::TaskKind::kCopilotTask;
  task.provider = model::TaskProviderKind::kCopilot;
  task.path = *std::move(path);
  task.ns = container.ns;
  task.name = container.name;
  const auto word = [&](std::string_view label) {
    const std::string_view text = container.label(label);
    return text.size() <= model::kTaskNameBytesMax ? std::string(text) : std::string();
  };
  task.identity = {.source = information_->name,
                   .cluster = config_.cluster,
                   .job = word(model::kJobLabel),
                   .attempt = {},
                   .task = id,
                   .user = word(model::kUserLabel),
                   .business = word(model::kBusinessLabel),
                   .work_class = word(model::kClassLabel)};
  if (const auto yarn = copilot::parse_yarn_container(id)) {
    if (task.identity.job.empty()) task.identity.job = yarn->application;
    task.identity.attempt = yarn->attempt;
  }

  task.qos_raw = task.qos = model::Qos::kBe;
  task.kube_qos = model::KubeQos::kBestEffort;
  task.priority_raw = task.priority = model::PriorityClass::kBatch;
  task.priority_value = model::default_priority(task.priority);
  // The API speaks of native resources, which these containers do not run on.
  task.requests.batch = container.requests.batch.none() ? container.requests.native : container.requests.batch;
  task.limits.batch = container.limits.batch.none() ? container.limits.native : container.limits.batch;
  task.phase = model::PodPhase::kRunning;
  task.created = task.started = container.created;
  task.host_network = container.host_network;
  return task;
}

void CopilotProvider::stand(Standing standing) {
  if (provided_.standing == standing) return;
  provided_.standing = standing;
  ++provided_.change;
}

}  // namespace tidemark::agent
