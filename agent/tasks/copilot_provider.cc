#include "agent/tasks/copilot_provider.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "agent/tasks/group_path.h"
#include "base/text.h"
#include "copilot/yarn_id.h"
#include "linux/cgroup/group.h"
#include "model/names.h"

namespace tidemark::agent {
namespace {

std::string_view name_of(const copilot::Container& container) {
  const std::string& id = container.uid.empty() ? container.name : container.uid;
  return std::string_view(id).substr(0, model::kTaskNameBytesMax);
}

constexpr auto id_of = [](const auto& held) -> std::string_view { return held.task->identity.task; };

}  // namespace

CopilotProvider::CopilotProvider(net::EventLoop& loop, net::HttpTransport& transport,
                                 const linux::Hierarchies& hierarchies, base::Log log, CopilotConfig config)
    : loop_(loop),
      hierarchies_(hierarchies),
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
      log_.warn("a copilot does not answer; retrying", {{"socket", config_.socket}, {"error", looked.error()}});
      miss();
    } else if (limit_permit_) {
      co_await send_limit_permit();
    }
    if (!co_await prompted_.wait_for(config_.interval)) continue;
    const auto wait = looks_.reserve(loop_.clock().monotonic(), config_.interval);
    co_await loop_.sleep(wait.value_or(config_.interval));
  }
}

net::Task<Result<void>> CopilotProvider::look() {
  if (!information_) {
    TM_CO_TRY(auto information, co_await client_.information(config_.limit));
    if (information.name.size() > model::kTaskNameBytesMax) {
      co_return fail(ErrorKind::kInvalid, "a copilot's name of ", information.name.size(), " bytes: at most ",
                     model::kTaskNameBytesMax);
    }
    information_ = std::move(information);
  }
  TM_CO_TRY(const copilot::ContainerList list, co_await client_.containers(config_.limit));
  take(list);
  co_return Result<void>();
}

void CopilotProvider::add_held_on_disks(std::vector<TaskOnDisks>& to) const {
  for (const Held& each : held_) {
    if (!each.on_disks.empty()) to.push_back({each.task->identity.task, each.on_disks});
  }
}

void CopilotProvider::set_limit_permit(copilot::LimitPermit permit) {
  if (limit_permit_ == permit) return;
  limit_permit_ = permit;
  prompted_.set();
}

// Koordinator's copilot, and an older one of ours, has no such route: it sets no limits itself.
net::Task<void> CopilotProvider::send_limit_permit() {
  auto said = co_await client_.send_limit_permit(*limit_permit_, config_.limit);
  if (said) {
    limits_say_ = *std::move(said);
  } else if (said.error().kind == ErrorKind::kUnsupported) {
    limits_say_.clear();
  } else {
    limits_say_ = base::cat("limits of the copilot at ", config_.socket, ": ", said.error().message);
  }
}

void CopilotProvider::take(const copilot::ContainerList& list) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::vector<std::string> refused;
  for (const Error& each : list.refused) refused.push_back(each.message);
  std::vector<Held> listed;
  listed.reserve(list.containers.size());
  for (const copilot::Container& each : list.containers) {
    if (auto task = task_of(each)) {
      keep_last_labels(each, task->identity);
      listed.push_back({std::make_shared<const model::Task>(*std::move(task)), std::nullopt, each.held});
    } else {
      refused.push_back(
          base::cat("a copilot's container ", base::in_quotes(name_of(each)), ": ", task.error().message));
    }
  }
  std::ranges::sort(listed, {}, id_of);
  const auto twice = std::ranges::unique(listed, {}, id_of);
  listed.erase(twice.begin(), twice.end());

  std::vector<Held> missing;
  for (Held& before : held_) {
    const auto same = std::ranges::lower_bound(listed, id_of(before), {}, id_of);
    if (same == listed.end() || id_of(*same) != id_of(before)) {
      if (!before.unconfirmed) before.unconfirmed = now;
      missing.push_back(std::move(before));
    } else if (*same->task == *before.task) {
      same->task = std::move(before.task);
    }
  }
  held_ = std::move(listed);
  std::ranges::move(missing, std::back_inserter(held_));
  std::ranges::sort(held_, {}, id_of);
  give_up(false);
  tell_refused(std::move(refused));
  provided_.confirmed = now;
  stand(ProviderState::kCurrent);
}

void CopilotProvider::keep_last_labels(const copilot::Container& said, model::TaskIdentity& identity) const {
  const auto before = std::ranges::lower_bound(held_, std::string_view(identity.task), {}, id_of);
  if (before == held_.end() || id_of(*before) != identity.task) return;
  const model::TaskIdentity& known = (*before).task->identity;
  if (said.label(model::kClassLabel).empty()) identity.work_class = known.work_class;
  if (said.label(model::kBusinessLabel).empty()) identity.business = known.business;
  if (said.label(model::kJobLabel).empty()) identity.job = known.job;
}

void CopilotProvider::miss() {
  ++provided_.lists_refused;
  information_.reset();  // another one may replace it
  limits_say_.clear();
  if (!provided_.confirmed) {
    // Most nodes may have no such copilot: if no group could be its own, the agent does not wait for it.
    const bool has_some = std::ranges::any_of(
        config_.parents, [this](const std::string& parent) { return holds_groups(hierarchies_, parent); });
    return stand(has_some ? ProviderState::kWaiting : ProviderState::kMissing);
  }
  const base::MonotonicTime until = *provided_.confirmed + config_.hold_max;
  if (loop_.clock().monotonic() < until) return stand(ProviderState::kHeld);
  for (Held& each : held_) each.unconfirmed = each.unconfirmed.value_or(until);
  give_up(true);
  stand(held_.empty() ? ProviderState::kMissing : ProviderState::kHeld);
}

// Its group has processes, or cannot be read.
bool CopilotProvider::runs(const Held& held) {
  const auto group = linux::Group::open(hierarchies_, held.task->path);
  if (!group) return true;
  if (!*group) return false;
  const auto processes = (*group)->read(linux::File::kProcesses, buffer_);
  return !processes || (*processes && !base::trim(**processes).empty());
}

// Drops unconfirmed tasks without a group, too old ones, and those beyond the limit.
void CopilotProvider::give_up(bool away) {
  const base::MonotonicTime now = loop_.clock().monotonic();
  std::size_t unconfirmed = 0;
  std::erase_if(held_, [&](const Held& each) {
    if (!each.unconfirmed) return false;
    const bool lately = now - *each.unconfirmed < kUnconfirmedFor;
    const bool stays =
        unconfirmed < kUnconfirmedMax && (lately ? group_is_there(hierarchies_, each.task->path) : away && runs(each));
    unconfirmed += stays ? 1 : 0;
    return !stays;
  });
}

void CopilotProvider::tell_refused(std::vector<std::string> refused) {
  provided_.refused = refused.size();
  for (const std::string& each : refused_.take(std::move(refused))) {
    log_.warn("ignoring a container of a copilot",
              {{"socket", config_.socket}, {"error", each}, {"refused", provided_.refused}});
  }
}

Result<model::Task> CopilotProvider::task_of(const copilot::Container& container) const {
  const std::string& id = container.uid.empty() ? container.name : container.uid;
  const std::size_t longest = std::max({id.size(), container.name.size(), container.ns.size()});
  if (id.empty() || longest > model::kTaskNameBytesMax) {
    return fail(ErrorKind::kInvalid, "wanted names of 1 to ", model::kTaskNameBytesMax, " bytes");
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

  task.infrastructure = container.label(model::kInfrastructureLabel) == "true";
  task.qos_raw = task.qos = model::Qos::kBe;
  task.kube_qos = model::KubeQos::kBestEffort;
  task.priority_raw = task.priority = model::PriorityClass::kBatch;
  task.priority_value = model::default_priority(task.priority);
  // The API uses native resources, but these containers use batch resources.
  task.requests.batch = container.requests.batch.none() ? container.requests.native : container.requests.batch;
  task.limits.batch = container.limits.batch.none() ? container.limits.native : container.limits.batch;
  task.phase = model::PodPhase::kRunning;
  task.created = task.started = container.created;
  task.host_network = container.host_network;
  return task;
}

void CopilotProvider::stand(ProviderState state) {
  const bool other = state != provided_.state;
  provided_.state = state;
  if (provide(held_, provided_) || other) ++provided_.change;
}

}  // namespace tidemark::agent
