#include "manager/evictions/eviction_limits.h"

#include <algorithm>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::manager {
namespace {

constexpr int kTooMany = 429;  // as the API server answers for a disruption budget

std::string uid_of(std::string_view pod) {
  const auto object = Json::parse(pod);
  return object ? std::string(object->text_at("metadata", "uid")) : "";
}

std::string evictions_text(std::int64_t evictions) {
  return base::cat(evictions, evictions == 1 ? " eviction" : " evictions",
                   " within the hour, those on their way counted");
}

// Of a pod's key; its uid comes after it.
std::string named(const PodEnd& end) {
  return base::cat(end.meta.ns, "/", end.meta.name, "/");
}

}  // namespace

std::optional<policy::admission::EvictionRefusal> EvictionLimits::take(std::string_view pod) {
  const auto end = decode_pod_end(pod, context_.interner);
  if (!end) return std::nullopt;  // permission to evict is checked elsewhere
  const auto pool = context_.pool_of(end->node, end->work_class);
  if (!pool) return std::nullopt;

  forget_old();
  const policy::evict::PoolAnd job{pool->name, end->job_name()};
  const std::string key = named(*end) + uid_of(pod);
  const base::MonotonicTime now = context_.clock.monotonic();
  const auto of_job = let_.find(job);
  const Let* before = nullptr;  // it was let through, and has not gone
  if (of_job != let_.end()) {
    if (const auto at = of_job->second.find(key); at != of_job->second.end()) before = &at->second;
  }
  if (before != nullptr && now < before->until) return std::nullopt;
  if (auto refusal = refuse(*pool)) return refusal;
  if (auto refusal = refuse(*pool, job)) return refusal;
  let_[job].insert_or_assign(key, Let{now + (before != nullptr ? kSecondTry : kEvictionCounted)});
  return std::nullopt;
}

void EvictionLimits::seen(const PodEnd& end) {
  const auto pool = context_.pool_of(end.node, end.work_class);
  if (!pool) return;
  const auto let = let_.find(policy::evict::PoolAnd{pool->name, end.job_name()});
  if (let == let_.end()) return;
  const std::string name = named(end);
  for (auto at = let->second.lower_bound(name); at != let->second.end() && at->first.starts_with(name); ++at) {
    at->second.seen = true;
  }
}

void EvictionLimits::forget_old() {
  const base::MonotonicTime now = context_.clock.monotonic();
  for (auto& [job, pods] : let_) {
    std::erase_if(pods, [&](const auto& each) {
      const Let& let = each.second;
      return now >= let.until + (let.seen ? base::Duration(0) : kStayedRemembered);
    });
  }
  std::erase_if(let_, [](const auto& each) { return each.second.empty(); });
}

std::int64_t EvictionLimits::on_their_way(const Pods& pods) const {
  const base::MonotonicTime now = context_.clock.monotonic();
  return std::ranges::count_if(pods, [&](const auto& each) { return !each.second.seen && now < each.second.until; });
}

std::int64_t EvictionLimits::on_their_way(const policy::evict::PoolAnd& job) const {
  const auto let = let_.find(job);
  return let == let_.end() ? 0 : on_their_way(let->second);
}

std::int64_t EvictionLimits::on_their_way(std::string_view pool) const {
  std::int64_t pods = 0;
  for (auto let = let_.lower_bound(policy::evict::PoolAnd{pool, ""}); let != let_.end() && let->first.first == pool;
       ++let) {
    pods += on_their_way(let->second);
  }
  return pods;
}

std::optional<policy::admission::EvictionRefusal> EvictionLimits::refuse(const policy::evict::BudgetPool& pool) const {
  if (const auto limit = pool.settings.pool_per_hour) {
    const std::int64_t used =
        policy::evict::used_of_hour(context_.book(), pool.name, context_.clock.wall()) + on_their_way(pool.name);
    if (used >= *limit) {
      return policy::admission::EvictionRefusal{policy::admission::EvictionDenial::kPoolBudget, kTooMany,
                                                base::cat(pool.name, " has ", evictions_text(used)), base::cat(*limit)};
    }
  }
  // A replica that began later may have seen less than the leader stored.
  const auto* stored = context_.state().pool(pool.name);
  if (stored == nullptr || !stored->exhausted) return std::nullopt;
  return policy::admission::EvictionRefusal{policy::admission::EvictionDenial::kPoolBudget, kTooMany, pool.name, ""};
}

std::optional<policy::admission::EvictionRefusal> EvictionLimits::refuse(const policy::evict::BudgetPool& pool,
                                                                         const policy::evict::PoolAnd& job) const {
  policy::evict::JobEvictions evictions;
  const auto& jobs = context_.book().jobs;
  if (const auto at = jobs.find(job); at != jobs.end())
    evictions = policy::evict::of_job(at->second, context_.clock.wall());
  const std::int64_t more = on_their_way(job);
  evictions.hour += more;
  evictions.day += more;
  const auto allowance = policy::evict::allowance(evictions, pool.settings.job_per_hour);
  if (allowance.left > 0) return std::nullopt;
  return policy::admission::EvictionRefusal{policy::admission::EvictionDenial::kJobBudget, kTooMany,
                                            base::cat(job.second, " has ", evictions_text(evictions.hour)),
                                            base::cat(allowance.allowed)};
}

}  // namespace tidemark::manager
