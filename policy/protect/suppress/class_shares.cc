#include "policy/protect/suppress/class_shares.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "policy/protect/limits/conversions.h"
#include "policy/protect/limits/task_groups.h"
#include "policy/protect/suppress/room.h"
#include "policy/sell/ledger/books.h"

namespace tidemark::policy::protect {
namespace {

using model::CpuMilli;

constexpr std::int64_t kAtLimit_percent = 95;
constexpr std::int64_t kPermille = 1000;
// More than any machine has; so that no product overflows.
constexpr CpuMilli kUsedMax{1'000'000'000'000};

CpuMilli bounded(CpuMilli amount) {
  return std::clamp(amount, CpuMilli{0}, kUsedMax);
}

using Sharer = ShareMemory::Sharer;

std::int64_t own_limit_us(const model::Task& task, std::int64_t ratio_percent) {
  return quota_of(task.limits.batch.cpu, ratio_percent);
}

// Offline tasks with a cgroup of their own.
class Cuttable {
 public:
  Cuttable(const SuppressObservation& seen, std::vector<std::string_view>& paths)
      : besteffort_(seen.groups.besteffort), paths_(paths) {
    paths.clear();
    for (const ObservedTask& each : seen.tasks) {
      if (each.task != nullptr) paths.push_back(each.task->path);
    }
    std::ranges::sort(paths);
  }

  bool operator()(const ObservedTask& each) const {
    return each.task != nullptr && !each.refused && may_be_written(*each.task) &&
           !counts_as_online(each.task, besteffort_) && !holds_others(each.task->path);
  }

 private:
  // Other work is in its cgroup: a quota there would limit that as well.
  bool holds_others(std::string_view path) const {
    // The first that is not before `path` with a slash behind it.
    const auto is_before = [path](std::string_view other) {
      const int compared = other.substr(0, path.size()).compare(path);
      return compared != 0 ? compared < 0 : other.size() == path.size() || other[path.size()] < '/';
    };
    const auto next = std::ranges::partition_point(paths_, is_before);
    return next != paths_.end() && lies_below(*next, path);
  }

  std::string_view besteffort_;
  const std::vector<std::string_view>& paths_;
};

CpuMilli wants_of(const ObservedTask& each, const SuppressObservation& seen, CpuMilli used, CpuMilli held) {
  CpuMilli wants = each.throttled ? std::max(held, used) : CpuMilli{(used.value * kHeadroom_percent + 99) / 100};
  const std::int64_t limit_us = own_limit_us(*each.task, seen.ratio_percent);
  if (limit_us != kNoLimit) wants = std::min(wants, CpuMilli{limit_us / kQuotaPerMilli_us});
  return std::max(wants, kTaskShareMin);
}

// The most timely first. `others` gets the use of offline work that cannot be cut.
void find_sharers(const SuppressObservation& seen, std::span<const model::WorkClass> classes, CpuMilli held,
                  ShareMemory& memory, CpuMilli& others) {
  const Cuttable may_be_cut(seen, memory.paths);
  std::vector<Sharer>& sharers = memory.sharers;
  sharers.clear();
  for (std::size_t at = 0; at < seen.tasks.size(); ++at) {
    const ObservedTask& each = seen.tasks[at];
    const CpuMilli used = bounded(each.used.value_or(CpuMilli{0}));
    if (may_be_cut(each)) {
      sharers.push_back({each.task, used, wants_of(each, seen, used, held), each.throttled,
                         sell::class_order(classes, each.task->identity.work_class), at});
    } else if (!counts_as_online(each.task, seen.groups.besteffort)) {
      others += used;
    }
  }
  std::ranges::sort(
      sharers, [](const Sharer& a, const Sharer& b) { return a.order != b.order ? a.order > b.order : a.at < b.at; });
}

// Those of the class that begins there.
std::span<const Sharer> class_at(std::span<const Sharer> sharers, std::size_t begin) {
  std::size_t end = begin;
  while (end < sharers.size() && sharers[end].order == sharers[begin].order) ++end;
  return sharers.subspan(begin, end - begin);
}

// The base of a class's quotas, if the present one is nearly the same.
CpuMilli settled(const CutClass* was, CpuMilli left, CpuMilli capacity) {
  if (was == nullptr) return left;
  const CpuMilli moved = std::max(was->left, left) - std::min(was->left, left);
  return moved < CpuMilli{capacity.value * kLeftBand_percent / 100} ? was->left : left;
}

// What the task had, where the new quota is nearly the same.
std::int64_t settled(const ShareState& before, const std::string& group, std::int64_t quota_us) {
  const TaskQuota* had = before.quota_of_group(group);
  if (had == nullptr) return quota_us;
  const std::int64_t moved = std::max(quota_us, had->quota_us) - std::min(quota_us, had->quota_us);
  return moved <= had->quota_us / 100 * kQuotaBand_percent ? had->quota_us : quota_us;
}

void tell(std::span<const Sharer> its, std::span<const model::WorkClass> classes, const ClassPart& part,
          ClassShare& out) {
  const auto named = std::ranges::find(classes, its.front().order, &model::WorkClass::order);
  out.name = named != classes.end() ? std::string_view(named->name) : std::string_view();
  out.order = its.front().order;
  out.tasks = std::ssize(its);
  out.used = out.wants = {};
  ClassUse use;
  for (const Sharer& each : its) {
    out.used += each.used;
    out.wants += each.wants;
    use.asked += bounded(each.task->requests.batch.cpu.value_or(CpuMilli{0}));
    use.throttled |= each.throttled;
  }
  out.share = part.share;
  use.used = out.used;
  if (out.wants > part.left) use.limit = part.share;
  out.satisfaction_permille = satisfaction_permille(use);
}

void split(std::span<const CpuMilli> wants, CpuMilli share, std::vector<CpuMilli>& sorted, std::vector<CpuMilli>& out) {
  sorted.clear();
  for (const CpuMilli each : wants) sorted.push_back(bounded(each));
  std::ranges::sort(sorted);
  // The level for all tasks that want more: the rest of those that want less, divided.
  CpuMilli left = bounded(share);
  CpuMilli level = kUsedMax;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto sharers = static_cast<std::int64_t>(sorted.size() - i);
    const CpuMilli even{(left.value + sharers - 1) / sharers};
    if (sorted[i] >= even) {
      level = even;
      break;
    }
    left -= sorted[i];
  }
  out.clear();
  for (const CpuMilli each : wants) out.push_back(std::min(bounded(each), level));
}

// As split_share(), into memory.split.
void split_into(std::span<const Sharer> its, CpuMilli share, ShareMemory& memory) {
  memory.wants.clear();
  for (const Sharer& each : its) memory.wants.push_back(each.wants);
  split(memory.wants, share, memory.sorted, memory.split);
}

// Over what stands there.
void put_quota(std::vector<TaskQuota>& quotas, std::size_t at, const std::string& group, std::int64_t quota_us) {
  if (at == quotas.size()) quotas.emplace_back();
  quotas[at].group = group;
  quotas[at].quota_us = quota_us;
}

// One pass, written over an earlier result.
class Shares {
 public:
  Shares(const ShareState& before, const SuppressObservation& seen, std::span<const model::WorkClass> classes,
         SharesStep spare)
      : before_(before), seen_(seen), classes_(classes), out_(std::move(spare)) {
    out_.state.cut.clear();
  }

  void divide(CpuMilli held) {
    ShareMemory& memory = out_.memory;
    const CpuMilli all = bounded(held);
    CpuMilli others;
    find_sharers(seen_, classes_, all, memory, others);
    const std::span<const Sharer> sharers = memory.sharers;
    memory.demands.clear();
    for (std::size_t at = 0; at < sharers.size();) {
      const auto its = class_at(sharers, at);
      ClassDemand& demand = memory.demands.emplace_back(ClassDemand{std::ssize(its), {}});
      for (const Sharer& each : its) demand.wants += each.wants;
      at += its.size();
    }
    memory.parts = share_room(memory.demands, all - others, std::move(memory.parts));
    for (std::size_t at = 0; at < sharers.size();) {
      const auto its = class_at(sharers, at);
      decide(its);
      at += its.size();
    }
  }

  SharesStep take() {
    out_.classes.resize(told_);
    std::vector<TaskQuota>& quotas = out_.state.quotas;
    quotas.resize(made_);
    std::ranges::sort(quotas, {}, &TaskQuota::group);
    const auto twice = std::ranges::unique(quotas, {}, &TaskQuota::group);
    quotas.erase(twice.begin(), twice.end());
    return std::move(out_);
  }

 private:
  void decide(std::span<const Sharer> its) {
    const ClassPart& part = out_.memory.parts[told_];
    const CpuMilli wants = out_.memory.demands[told_].wants;
    if (told_ == out_.classes.size()) out_.classes.emplace_back();
    ClassShare& share = out_.classes[told_++];
    tell(its, classes_, part, share);
    const CpuMilli capacity = bounded(seen_.capacity.value_or(CpuMilli{0}));
    const auto at = std::ranges::find(before_.cut, share.order, &CutClass::order);
    const CutClass* was = at == before_.cut.end() ? nullptr : &*at;
    const CpuMilli band{was == nullptr ? 0 : capacity.value * kCutBand_percent / 100};
    share.cut = part.left < wants + band;
    if (share.cut) cut(its, {share.order, settled(was, part.left, capacity)});
  }

  void cut(std::span<const Sharer> its, const CutClass& by) {
    out_.state.cut.push_back(by);
    split_into(its, by.left, out_.memory);
    for (std::size_t i = 0; i < its.size(); ++i) {
      const std::string& group = its[i].task->path;
      const CpuMilli quota = std::max(out_.memory.split[i], kTaskShareMin);
      put_quota(out_.state.quotas, made_++, group, settled(before_, group, quota.value * kQuotaPerMilli_us));
    }
  }

  const ShareState& before_;
  const SuppressObservation& seen_;
  const std::span<const model::WorkClass> classes_;
  SharesStep out_;
  std::size_t told_ = 0;  // classes
  std::size_t made_ = 0;  // quotas
};

}  // namespace

const TaskQuota* ShareState::quota_of_group(std::string_view group) const {
  const auto at = std::ranges::lower_bound(quotas, group, {}, &TaskQuota::group);
  return at != quotas.end() && at->group == group ? &*at : nullptr;
}

std::vector<ClassPart> share_room(std::span<const ClassDemand> classes, CpuMilli room, std::vector<ClassPart> spare) {
  std::vector<ClassPart> parts = std::move(spare);
  parts.clear();
  CpuMilli left = bounded(room);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const CpuMilli least{std::clamp<std::int64_t>(classes[i].tasks, 0, kPermille * kPermille) * kTaskShareMin.value};
    const bool last = i + 1 == classes.size();
    const CpuMilli share = std::max(last ? left : std::min(bounded(classes[i].wants), left), least);
    parts.push_back({left, share});
    left = std::max(left - share, CpuMilli{0});
  }
  return parts;
}

std::vector<CpuMilli> split_share(std::span<const CpuMilli> wants, CpuMilli share) {
  std::vector<CpuMilli> sorted, out;
  split(wants, share, sorted, out);
  return out;
}

std::optional<std::int64_t> satisfaction_permille(const ClassUse& use) {
  const CpuMilli used = bounded(use.used);
  const CpuMilli asked = bounded(use.asked);
  const bool at_limit = use.limit && used.value * 100 >= bounded(*use.limit).value * kAtLimit_percent;
  if (asked.value == 0 || (!use.throttled && !at_limit)) return std::nullopt;
  return std::min(used.value * kPermille / asked.value, kPermille);
}

SharesStep class_shares(const ShareState& before, const SuppressObservation& seen,
                        std::span<const model::WorkClass> classes, CpuMilli held, SharesStep spare) {
  Shares shares(before, seen, classes, std::move(spare));
  if (!classes.empty()) shares.divide(held);
  return shares.take();
}

void share_intents(const ShareState& state, const SuppressObservation& seen, std::int64_t above_us, IntentsOver& out) {
  const auto want = [&](const std::string& group, std::int64_t quota_us) {
    Intent& intent = out.next(group, Want::kCpuQuota, quota_us);
    intent.strategy = model::Strategy::kCpuSuppress;
    intent.reason = model::Reason::kSuppressLowestFirst;
  };
  for (const ObservedTask& each : seen.tasks) {
    if (each.task == nullptr) continue;
    const TaskQuota* found = state.quota_of_group(each.task->path);
    if (found == nullptr) continue;
    std::int64_t quota_us = found->quota_us;
    const std::int64_t limit_us = own_limit_us(*each.task, seen.ratio_percent);
    if (limit_us != kNoLimit) quota_us = std::min(quota_us, limit_us);
    if (above_us != kNoLimit && seen.nested_quota) quota_us = std::min(quota_us, above_us);
    want(each.task->path, quota_us);
    if (!seen.nested_quota) continue;
    for (const model::TaskContainer& container : each.task->containers) {
      const bool larger = quota_of(container.limits.batch.cpu, seen.ratio_percent) > quota_us;
      if (!container.path.empty() && larger) want(container.path, quota_us);
    }
  }
}

}  // namespace tidemark::policy::protect
