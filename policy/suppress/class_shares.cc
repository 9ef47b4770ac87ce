#include "policy/suppress/class_shares.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

#include "policy/ledger/books.h"
#include "policy/limits/conversions.h"
#include "policy/limits/task_groups.h"
#include "policy/suppress/room.h"

namespace tidemark::policy {
namespace {

using model::CpuMilli;

constexpr std::int64_t kAtLimit_percent = 95;
constexpr std::int64_t kPermille = 1000;
// More than any machine has; so that no product overflows.
constexpr CpuMilli kUsedMax{1'000'000'000'000};

CpuMilli bounded(CpuMilli amount) {
  return std::clamp(amount, CpuMilli{0}, kUsedMax);
}

struct Sharer {
  const model::Task* task = nullptr;
  CpuMilli used;
  CpuMilli wants;
  bool throttled = false;
};

struct ClassTasks {
  std::int64_t order = 0;
  std::vector<Sharer> tasks;
};

std::int64_t own_limit_us(const model::Task& task, std::int64_t ratio_percent) {
  return quota_of(task.limits.batch.cpu, ratio_percent);
}

// Offline tasks that have a group to themselves.
class Cuttable {
 public:
  explicit Cuttable(const SuppressObservation& seen) : besteffort_(seen.groups.besteffort) {
    for (const ObservedTask& each : seen.tasks) {
      if (each.task != nullptr) paths_.push_back(each.task->path);
    }
    std::ranges::sort(paths_);
  }

  bool operator()(const ObservedTask& each) const {
    return each.task != nullptr && !each.refused && may_be_written(*each.task) &&
           !counts_as_online(each.task, besteffort_) && !holds_others(each.task->path);
  }

 private:
  // Other work lies in its group: a quota there would be that one's too.
  bool holds_others(const std::string& path) const {
    const auto next = std::ranges::lower_bound(paths_, path + "/");
    return next != paths_.end() && lies_below(*next, path);
  }

  std::string_view besteffort_;
  std::vector<std::string_view> paths_;
};

CpuMilli wants_of(const ObservedTask& each, const SuppressObservation& seen, CpuMilli used, CpuMilli held) {
  CpuMilli wants = each.throttled ? std::max(held, used) : CpuMilli{(used.value * kHeadroom_percent + 99) / 100};
  const std::int64_t limit_us = own_limit_us(*each.task, seen.ratio_percent);
  if (limit_us != kNoLimit) wants = std::min(wants, CpuMilli{limit_us / kQuotaPerMilli_us});
  return std::max(wants, kTaskShareMin);
}

// The most timely class first. `others` gets what offline work uses that cannot be cut.
std::vector<ClassTasks> by_class(const SuppressObservation& seen, std::span<const WorkClass> classes, CpuMilli held,
                                 CpuMilli& others) {
  std::map<std::int64_t, ClassTasks, std::greater<>> found;
  const Cuttable may_be_cut(seen);
  for (const ObservedTask& each : seen.tasks) {
    const CpuMilli used = bounded(each.used.value_or(CpuMilli{0}));
    if (may_be_cut(each)) {
      const std::int64_t order = class_order(classes, each.task->identity.work_class);
      ClassTasks& its = found[order];
      its.order = order;
      its.tasks.push_back({each.task, used, wants_of(each, seen, used, held), each.throttled});
    } else if (!counts_as_online(each.task, seen.groups.besteffort)) {
      others += used;
    }
  }
  std::vector<ClassTasks> out;
  for (auto& [order, its] : found) out.push_back(std::move(its));
  return out;
}

// What the quotas of a class were made of, where what is left now is nearly the same.
CpuMilli settled(const CutClass* was, CpuMilli left, CpuMilli capacity) {
  if (was == nullptr) return left;
  const CpuMilli moved = std::max(was->left, left) - std::min(was->left, left);
  return moved < CpuMilli{capacity.value * kLeftBand_percent / 100} ? was->left : left;
}

// What the task had, where the new quota is nearly the same.
std::int64_t settled(const ShareState& before, const std::string& group, std::int64_t quota_us) {
  const auto had = before.quotas.find(group);
  if (had == before.quotas.end()) return quota_us;
  const std::int64_t moved = std::max(quota_us, had->second) - std::min(quota_us, had->second);
  return moved <= had->second / 100 * kQuotaBand_percent ? had->second : quota_us;
}

ClassShare told(const ClassTasks& its, std::span<const WorkClass> classes, const ClassPart& part) {
  ClassShare out;
  const auto named = std::ranges::find(classes, its.order, &WorkClass::order);
  if (named != classes.end()) out.name = named->name;
  out.order = its.order;
  out.tasks = static_cast<std::int64_t>(its.tasks.size());
  ClassUse use;
  for (const Sharer& each : its.tasks) {
    out.used += each.used;
    out.wants += each.wants;
    use.asked += bounded(each.task->requests.batch.cpu.value_or(CpuMilli{0}));
    use.throttled |= each.throttled;
  }
  out.share = part.share;
  use.used = out.used;
  if (out.wants > part.left) use.limit = part.share;
  out.satisfaction_permille = satisfaction_permille(use);
  return out;
}

}  // namespace

std::vector<ClassPart> share_room(std::span<const ClassDemand> classes, CpuMilli room) {
  std::vector<ClassPart> parts;
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
  std::vector<CpuMilli> sorted;
  for (const CpuMilli each : wants) sorted.push_back(bounded(each));
  std::ranges::sort(sorted);
  // The level at which all that want more are held: what those that want less leave, divided.
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
  std::vector<CpuMilli> out;
  for (const CpuMilli each : wants) out.push_back(std::min(bounded(each), level));
  return out;
}

std::optional<std::int64_t> satisfaction_permille(const ClassUse& use) {
  const CpuMilli used = bounded(use.used);
  const CpuMilli asked = bounded(use.asked);
  const bool at_limit = use.limit && used.value * 100 >= bounded(*use.limit).value * kAtLimit_percent;
  if (asked.value == 0 || (!use.throttled && !at_limit)) return std::nullopt;
  return std::min(used.value * kPermille / asked.value, kPermille);
}

SharesStep class_shares(const ShareState& before, const SuppressObservation& seen, std::span<const WorkClass> classes,
                        CpuMilli held) {
  SharesStep out;
  if (classes.empty()) return out;
  const CpuMilli all = bounded(held);
  CpuMilli others;
  const std::vector<ClassTasks> found = by_class(seen, classes, all, others);
  std::vector<ClassDemand> demands;
  for (const ClassTasks& its : found) {
    ClassDemand demand{static_cast<std::int64_t>(its.tasks.size()), {}};
    for (const Sharer& each : its.tasks) demand.wants += each.wants;
    demands.push_back(demand);
  }
  const std::vector<ClassPart> parts = share_room(demands, all - others);
  const CpuMilli capacity = bounded(seen.capacity.value_or(CpuMilli{0}));
  const CpuMilli band{capacity.value * kCutBand_percent / 100};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const ClassTasks& its = found[i];
    ClassShare share = told(its, classes, parts[i]);
    const auto at = std::ranges::find(before.cut, its.order, &CutClass::order);
    const CutClass* was = at == before.cut.end() ? nullptr : &*at;
    share.cut = parts[i].left < (was == nullptr ? demands[i].wants : demands[i].wants + band);
    if (share.cut) {
      out.state.cut.push_back({its.order, settled(was, parts[i].left, capacity)});
      std::vector<CpuMilli> wants;
      for (const Sharer& each : its.tasks) wants.push_back(each.wants);
      const std::vector<CpuMilli> split = split_share(wants, out.state.cut.back().left);
      for (std::size_t t = 0; t < split.size(); ++t) {
        const std::string& group = its.tasks[t].task->path;
        const CpuMilli quota = std::max(split[t], kTaskShareMin);
        out.state.quotas.insert_or_assign(group, settled(before, group, quota.value * kQuotaPerMilli_us));
      }
    }
    out.classes.push_back(std::move(share));
  }
  return out;
}

std::vector<Intent> share_intents(const ShareState& state, const SuppressObservation& seen, std::int64_t above_us) {
  std::vector<Intent> out;
  const auto want = [&](const std::string& group, std::int64_t quota_us) {
    out.push_back(
        {group, Want::kCpuQuota, quota_us, {}, model::Strategy::kCpuSuppress, model::Reason::kSuppressLowestFirst});
  };
  for (const ObservedTask& each : seen.tasks) {
    if (each.task == nullptr) continue;
    const auto found = state.quotas.find(each.task->path);
    if (found == state.quotas.end()) continue;
    std::int64_t quota_us = found->second;
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
  return out;
}

}  // namespace tidemark::policy
