#include "cli/local/stop.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.h"
#include "cli/local/objects.h"
#include "cli/local/tasks.h"

namespace tidemark::cli {
namespace {

using base::cat;

constexpr base::Duration kLookEvery = std::chrono::milliseconds(300);

struct Found {
  std::string name;
  const JobSeen* job = nullptr;
  const PodSeen* pod = nullptr;  // where it is no job
};

Result<Found> find(const LocalObjects& objects, const std::string& ns, const std::string& name) {
  Found found{name};
  for (const JobSeen& job : objects.jobs) {
    if (job.ns == ns && job.name == name) found.job = &job;
  }
  if (found.job != nullptr) return found;
  const std::vector<LocalTask> tasks = local_tasks(objects, ns, {});
  std::vector<std::string_view> names;
  for (const LocalTask& task : tasks) names.emplace_back(task.name);
  for (const PodSeen& pod : objects.pods) {
    if (pod.ns != ns || pod.name != name) continue;
    const bool of_job = !pod.job.empty() && std::ranges::find(names, std::string_view(pod.job)) != names.end();
    if (of_job) {
      return fail(ErrorKind::kInvalid, name, " is a pod of the job ", pod.job, ", which would make another: stop ",
                  pod.job);
    }
    found.pod = &pod;
    return found;
  }
  const auto meant = base::nearest(name, names);
  return fail(ErrorKind::kNotFound, "there is no task ", base::in_quotes(name), " in namespace ", ns,
              meant ? cat("; did you mean ", *meant, "?") : "; `tidemark local ps -a` shows all");
}

// Gone meanwhile is what was wanted.
Result<void> unless_gone(Result<void> removed) {
  if (!removed && removed.error().kind == ErrorKind::kNotFound) return {};
  return removed;
}

net::Task<Result<void>> remove_pod(kube::Client& client, const PodSeen& pod, const StopOptions& options) {
  kube::WriteOptions write;
  write.ns = pod.ns;
  if (options.now) write.grace_period_s = kStopNowGrace_s;
  co_return unless_gone(co_await client.remove(kube::kPods, pod.name, pod.uid, std::move(write), options.limit));
}

net::Task<Result<void>> remove(kube::Client& client, const LocalObjects& objects, const Found& found,
                               const StopOptions& options) {
  if (found.pod != nullptr) co_return co_await remove_pod(client, *found.pod, options);
  const JobSeen& job = *found.job;
  kube::WriteOptions write;
  write.ns = job.ns;
  write.propagation = "Background";
  TM_CO_TRY_VOID(unless_gone(co_await client.remove(kube::kJobs, job.name, job.uid, std::move(write), options.limit)));
  if (!options.now) co_return Result<void>();
  // What is collected behind a job has its own grace.
  for (const PodSeen& pod : objects.pods) {
    if (pod.ns == job.ns && pod.job == job.name) TM_CO_TRY_VOID(co_await remove_pod(client, pod, options));
  }
  co_return Result<void>();
}

// Whether nothing is there any more of what was found: neither it nor a pod of it.
bool gone(const LocalObjects& now, const std::vector<std::string>& uids) {
  const auto meant = [&](const std::string& uid) { return std::ranges::find(uids, uid) != uids.end(); };
  return std::ranges::none_of(now.jobs, meant, &JobSeen::uid) &&
         std::ranges::none_of(now.pods, [&](const PodSeen& pod) { return meant(pod.uid) || meant(pod.job_uid); });
}

}  // namespace

net::Task<Result<std::string>> stop_local(net::EventLoop& loop, kube::Client& client, StopOptions options) {
  TM_CO_TRY(const auto objects, co_await read_local_objects(loop, client, options.limit));
  std::vector<Found> all;
  std::vector<std::string> uids;
  for (const std::string& name : options.names) {
    TM_CO_TRY(auto found, find(objects, options.ns, name));
    all.push_back(std::move(found));
    uids.push_back(all.back().job != nullptr ? all.back().job->uid : all.back().pod->uid);
  }
  std::string out;
  for (const Found& found : all) {
    auto removed = co_await remove(client, objects, found, options);
    if (!removed) co_return std::unexpected(std::move(removed).error().within(cat(out, "stopping ", found.name)));
    out += cat(found.name, options.wait > base::Duration(0) ? " is asked to end\n"
                           : options.now                    ? " is killed\n"
                                                            : " is asked to end, and killed after its grace\n");
  }
  if (options.wait <= base::Duration(0)) co_return out;
  TM_CO_TRY(const bool ended, co_await until_gone(loop, client, std::move(uids), options.wait, options.limit));
  if (ended) co_return cat(out, "all of it has ended\n");
  co_return fail(ErrorKind::kDeadline, "not ended after ", base::format_go_duration(options.wait),
                 "; `tidemark local ps` shows the remaining tasks, --now kills them");
}

net::Task<Result<bool>> until_gone(net::EventLoop& loop, kube::Client& client, std::vector<std::string> uids,
                                   base::Duration at_most, base::Duration limit) {
  const base::MonotonicTime begin = loop.clock().monotonic();
  while (true) {
    TM_CO_TRY(const auto now, co_await read_local_objects(loop, client, limit));
    if (gone(now, uids)) co_return true;
    if (loop.clock().monotonic() - begin >= at_most) co_return false;
    co_await loop.sleep(kLookEvery);
  }
}

}  // namespace tidemark::cli
