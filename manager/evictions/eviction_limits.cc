#include "manager/evictions/eviction_limits.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "base/json.h"
#include "base/text.h"

namespace tidemark::manager {
namespace {

constexpr int kTooMany = 429;  // as the API server answers for a disruption budget

std::string uid_of(std::string_view pod) {
  const auto object = Json::parse(pod);
  return object ? std::string(object->text_at("metadata", "uid")) : "";
}

std::int64_t not_counted(std::int64_t times, std::int64_t counted_since) {
  return std::max<std::int64_t>(times - std::max<std::int64_t>(counted_since, 0), 0);
}

}  // namespace

std::optional<policy::EvictionRefusal> EvictionLimits::take(std::string_view pod) {
  const auto end = decode_pod_end(pod, context_.interner);
  if (!end) return std::nullopt;  // whether it may be evicted at all is somebody else's question
  const auto pool = context_.pool_of(end->node, end->work_class);
  if (!pool) return std::nullopt;
  if (const auto* budget = context_.state().pool(pool->name); budget != nullptr && budget->exhausted) {
    return policy::EvictionRefusal{policy::EvictionDenial::kPoolBudget, kTooMany, pool->name, ""};
  }

  const base::MonotonicTime now = context_.clock.monotonic();
  std::erase_if(let_, [&](const auto& each) { return now - each.second.last >= kEvictionCounted; });
  const policy::PoolAnd key{pool->name, end->job_name()};
  policy::JobEvictions job;
  const auto& jobs = context_.book().jobs;
  if (const auto at = jobs.find(key); at != jobs.end()) job = policy::of_job(at->second, context_.clock.wall());
  const std::int64_t counted = job.hour;
  const auto let = let_.find(key);
  const std::string name = base::cat(end->meta.ns, "/", end->meta.name, "/", uid_of(pod));
  if (let != let_.end() && let->second.pods.contains(name)) return std::nullopt;
  const std::int64_t more =
      let == let_.end() ? 0 : not_counted(std::ssize(let->second.pods), counted - let->second.counted);
  job.hour += more;
  job.day += more;
  const auto allowance = policy::allowance(job, pool->settings.job_per_hour);
  if (allowance.left == 0) {
    return policy::EvictionRefusal{policy::EvictionDenial::kJobBudget, kTooMany,
                                   base::cat(key.second, " was evicted ", job.hour, " times within the hour"),
                                   base::cat(allowance.allowed)};
  }
  if (let == let_.end()) {
    let_.emplace(key, Let{now, counted, {name}});
  } else {
    let->second.last = now;
    let->second.pods.insert(name);
  }
  return std::nullopt;
}

}  // namespace tidemark::manager
