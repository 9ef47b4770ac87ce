#include "runtime/pods/pod_groups.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "base/hash.h"
#include "base/text.h"
#include "linux/cgroup/limit.h"
#include "linux/cgroup/make.h"
#include "policy/protect/limits/conversions.h"

namespace tidemark::runtime {
namespace {

constexpr std::string_view kShims = "shims";
constexpr std::size_t kEndsMax = 10'000;  // groups that wait for their end
constexpr std::string_view kHexDigits = "0123456789abcdef";

linux::KubeQos groups_of(model::KubeQos qos) {
  switch (qos) {
    case model::KubeQos::kGuaranteed:
      return linux::KubeQos::kGuaranteed;
    case model::KubeQos::kBurstable:
      return linux::KubeQos::kBurstable;
    case model::KubeQos::kBestEffort:
      break;
  }
  return linux::KubeQos::kBestEffort;
}

std::optional<model::CpuMilli> said(model::CpuMilli amount) {
  return amount.value > 0 ? std::optional(amount) : std::nullopt;
}
std::optional<model::MemoryBytes> said(model::MemoryBytes amount) {
  return amount.value > 0 ? std::optional(amount) : std::nullopt;
}

GroupLimits limits_of(std::optional<model::CpuMilli> request, std::optional<model::CpuMilli> cpu,
                      std::optional<model::MemoryBytes> memory) {
  return {policy::protect::shares_of(request), policy::protect::quota_of(cpu),
          policy::protect::memory_limit_of(memory)};
}

linux::Controllers all_but_cpu() {
  linux::Controllers out;
  return out.set().reset(static_cast<std::size_t>(linux::Controller::kCpu));
}

}  // namespace

std::string container_id(std::string_view uid, std::string_view name, std::int32_t attempt) {
  base::TextHash head, middle, tail, end;
  head.add(uid);
  middle.add(uid).add("/").add(name);
  tail.add(name).add("/").add(uid);
  end.add(uid).add("/").add(name).add("/").add(base::cat(attempt));
  return base::cat(head.hex(), middle.hex(), tail.hex(), end.hex());
}

GroupLimits container_limits(const RunContainer& container) {
  return limits_of(said(container.resources.requests.cpu), said(container.resources.limits.cpu),
                   said(container.resources.limits.memory));
}

// A pod is held as a whole where each of its containers is held; what only starts it up may need more than what runs.
GroupLimits pod_limits(const RunPod& pod) {
  model::Resources running, most;
  bool all_cpu = !pod.containers.empty(), all_memory = all_cpu;
  for (const RunContainer& container : pod.containers) {
    const model::Resources& limits = container.resources.limits;
    all_cpu = all_cpu && limits.cpu.value > 0;
    all_memory = all_memory && limits.memory.value > 0;
    if (container.role == policy::single_node::LifeRole::kInit) {
      most.cpu = std::max(most.cpu, limits.cpu);
      most.memory = std::max(most.memory, limits.memory);
    } else {
      running += limits;
    }
  }
  const auto& level = pod.resources.pod_level;
  const auto cpu = level && level->cpu_limit ? level->cpu_limit
                   : all_cpu                 ? said(std::max(running.cpu, most.cpu))
                                             : std::nullopt;
  const auto memory = level && level->memory_limit ? level->memory_limit
                      : all_memory                 ? said(std::max(running.memory, most.memory))
                                                   : std::nullopt;
  return limits_of(said(model::effective_request(pod.resources).cpu), cpu, memory);
}

PodGroups::PodGroups(net::EventLoop& loop, const linux::Hierarchies& hierarchies, linux::KillRim& rim,
                     std::string_view root)
    : loop_(loop),
      hierarchies_(hierarchies),
      rim_(rim),
      killer_(hierarchies, rim),
      layout_(linux::CgroupDriver::kCgroupfs, root),
      root_(root.substr(std::min(root.find_first_not_of('/'), root.size()))),
      shims_(base::cat(root_, "/", kShims)),
      offline_shims_(base::cat(layout_.qos_path(linux::KubeQos::kBestEffort), "/", kShims)),
      worker_(1, kEndsMax) {}

// As an agent that died has left it, and the next one will find it. The kernel refuses the weight of such a group.
bool PodGroups::runs_idle(const linux::Group& group) {
  const auto idle = linux::read_value(group, linux::File::kCpuIdle, buffer_);
  return idle && *idle && **idle == 1;
}

Result<void> PodGroups::write(const std::string& path, std::span<const std::pair<linux::File, std::int64_t>> values) {
  TM_TRY(const auto group, linux::Group::open(hierarchies_, path));
  if (!group) return fail(ErrorKind::kIo, path, ": the group is gone");
  for (const auto& [file, value] : values) {
    if (file == linux::File::kCpuShares && runs_idle(*group)) continue;
    const auto version = group->version(file);
    if (!version || !group->has(file)) continue;  // the agent says which of these the machine lacks
    TM_TRY(std::string text, linux::value_text(file, *version, value));
    const auto report =
        linux::compare_and_write({&*group, file, std::move(text), std::nullopt}, rim_.writer(), buffer_);
    if (report.outcome == linux::WriteOutcome::kRefused && report.error) return std::unexpected(*report.error);
  }
  return {};
}

Result<void> PodGroups::limit(const std::string& path, const GroupLimits& limits) {
  return write(path, std::array{std::pair(linux::File::kCpuShares, limits.shares),
                                std::pair(linux::File::kCpuQuota, limits.quota_us),
                                std::pair(linux::File::kMemoryLimit, limits.memory)});
}

Result<void> PodGroups::make(model::Resources allocatable) {
  for (const linux::KubeQos qos : linux::kKubeQosLevels) {
    TM_TRY_VOID(linux::make_group(hierarchies_, layout_.qos_path(qos)));
  }
  TM_TRY_VOID(linux::make_group(hierarchies_, shims_));
  // Not where cpuset is by itself: there a group that the agent does not know keeps those above it from getting
  // smaller.
  TM_TRY_VOID(linux::make_group(hierarchies_, offline_shims_, all_but_cpu()));
  const GroupLimits all = limits_of(allocatable.cpu, {}, {});
  // It is what stands beside the rest of the machine, as a kubelet's kubepods does. Limits of it are its owner's.
  TM_TRY_VOID(write(root_, std::array{std::pair(linux::File::kCpuShares, all.shares)}));
  TM_TRY_VOID(limit(layout_.qos_path(linux::KubeQos::kGuaranteed), all));
  return limit(layout_.qos_path(linux::KubeQos::kBestEffort), limits_of({}, {}, {}));
}

std::vector<std::string> PodGroups::shim_processes(bool offline) const {
  std::vector<std::string> files = linux::process_files(hierarchies_, shims_);
  if (const auto cpu = hierarchies_.of(linux::Controller::kCpu); offline && cpu) {
    files[*cpu] = linux::process_files(hierarchies_, offline_shims_)[*cpu];
  }
  return files;
}

std::string PodGroups::container_path(const RunPod& pod, const std::string& id) const {
  return base::cat(layout_.pod_path(groups_of(pod.qos), pod.uid).value_or(""), "/", id);
}

Result<std::vector<std::string>> PodGroups::make_container(const RunPod& pod, const RunContainer& container,
                                                           const std::string& id, bool first) {
  const auto pod_path = layout_.pod_path(groups_of(pod.qos), pod.uid);
  if (!pod_path || !std::ranges::all_of(id, [](char c) { return kHexDigits.contains(c); })) {
    return fail(ErrorKind::kInvalid, base::in_quotes(pod.uid), " is no part of a group's path");
  }
  const std::string path = base::cat(*pod_path, "/", id);
  TM_TRY(const auto before, linux::Group::open(hierarchies_, *pod_path));
  TM_TRY_VOID(linux::make_group(hierarchies_, path));
  if (first || !before) TM_TRY_VOID(limit(*pod_path, pod_limits(pod)));
  TM_TRY_VOID(limit(path, container_limits(container)));
  return linux::process_files(hierarchies_, path);
}

Result<void> PodGroups::ask(const RunPod& pod, const std::string& id) {
  TM_TRY([[maybe_unused]] const auto asked, killer_.ask(container_path(pod, id)));
  return {};
}

net::Task<Result<void>> PodGroups::end(std::string path) {
  const std::function<Result<void>()> kill_and_remove = [this, path]() -> Result<void> {
    TM_TRY(const auto killed, killer_.kill(path));
    if (killed.left > 0) return fail(ErrorKind::kUnavailable, path, ": ", killed.left, " processes are there still");
    return linux::remove_group(hierarchies_, path);
  };
  auto done = co_await worker_.run(loop_, kill_and_remove);
  co_return done ? *std::move(done) : Result<void>(std::unexpected(std::move(done).error()));
}

net::Task<Result<void>> PodGroups::remove_container(const RunPod& pod, const std::string& id) {
  return end(container_path(pod, id));
}

net::Task<Result<void>> PodGroups::remove_pod(const RunPod& pod) {
  const auto path = layout_.pod_path(groups_of(pod.qos), pod.uid);
  if (path) return end(*path);
  return []() -> net::Task<Result<void>> { co_return Result<void>(); }();  // a name that nothing was made for
}

// In any hierarchy.
Result<std::map<std::string, std::string>> PodGroups::uids_by_path() const {
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < hierarchies_.all().size(); ++i) {
    TM_TRY(const auto pods,
           linux::walk_pods(hierarchies_.directory(i), layout_, {hierarchies_.all()[i].path, root_, {}}));
    for (const linux::LivePod& pod : pods) out.emplace(pod.path, pod.uid);
  }
  return out;
}

net::Task<Result<std::size_t>> PodGroups::remove_others(IsKnown is_known) {
  TM_CO_TRY(const auto found, uids_by_path());
  std::size_t removed = 0;
  std::optional<Error> trouble;  // the first: one that does not end holds up no other
  for (const auto& [path, uid] : found) {
    if (is_known(uid)) continue;
    const auto ended = co_await end(path);
    if (ended) ++removed;
    if (!ended && !trouble) trouble = ended.error();
  }
  if (trouble) co_return base::fail(*std::move(trouble));
  co_return removed;
}

Result<void> PodGroups::remove_all() {
  return linux::remove_group(hierarchies_, root_);
}

}  // namespace tidemark::runtime
