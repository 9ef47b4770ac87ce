#include "runtime/jobs/job_controller.h"

#include <algorithm>
#include <utility>

#include "base/text.h"

namespace tidemark::runtime {
namespace {

constexpr base::Duration kCallLimit = std::chrono::seconds(10);
constexpr base::Duration kRetry = std::chrono::seconds(1);
constexpr base::Duration kRetryMax = std::chrono::minutes(1);
constexpr int kSuffixLetters = 5;
constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";  // no word comes of these
constexpr std::size_t kNameMax = 63;

// What is gone, or another one under its name, needs nothing more.
template <class T>
Result<void> unless_gone(const Result<T>& done) {
  if (done || done.error().kind == ErrorKind::kNotFound || done.error().kind == ErrorKind::kConflict) return {};
  return std::unexpected(done.error());
}

kube::InformerConfig jobs_config(std::size_t bytes_max) {
  kube::InformerConfig config;
  config.resource = kube::kJobs;
  config.name = "runtime_jobs";
  config.bytes_max = bytes_max;
  return config;
}
kube::InformerConfig pods_config(std::size_t bytes_max) {
  kube::InformerConfig config;
  config.resource = kube::kPods;
  config.name = "runtime_job_pods";
  config.label_selector = std::string(kJobNameLabel);
  config.bytes_max = bytes_max;
  return config;
}

// Pods that are let go of now and count as nothing, for they were disrupted: another one is made for each. Their uids,
// sorted.
std::vector<std::string> queued_again(const policy::single_node::JobStep& step,
                                      const std::vector<std::shared_ptr<const JobPodObject>>& pods) {
  std::vector<std::string> out;
  if (step.state.decided != policy::single_node::JobEnd::kNone) return out;
  const auto has = [](const std::vector<std::string>& list, std::string_view one) {
    return std::ranges::find(list, one) != list.end();
  };
  for (const std::size_t i : step.release) {
    const policy::single_node::JobPod& pod = pods[i]->pod;
    const bool counts = pod.phase == model::PodPhase::kSucceeded || has(step.state.uncounted_failed, pod.uid);
    if (!counts && has(pod.conditions, "DisruptionTarget")) out.push_back(pod.uid);
  }
  std::ranges::sort(out);
  return out;
}

// "": nothing here is ours to do.
std::string followed_by(const JobPodObject& pod) {
  if (!pod.job_uid.empty()) return pod.job_uid;
  return pod.pod.kept ? pod.pod.uid : std::string();
}

bool goes_by_itself(const JobObject& job) {
  return job.ours && job.state.over && job.state.ended && job.spec.ttl && !job.spec.deleted;
}

}  // namespace

JobController::JobController(net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics,
                             base::Random random, std::function<void()> gone, std::size_t bytes_max)
    : loop_(loop),
      client_(client),
      log_(std::move(log)),
      random_(random),
      gone_(std::move(gone)),
      jobs_({loop, client, client, log_, metrics, random_.fork()}, jobs_config(bytes_max),
            [](std::string_view bytes) -> Result<KeptJob> {
              TM_TRY(JobObject job, read_job(bytes));
              return KeptJob{{job.ns, job.name, job.resource_version},
                             std::make_shared<const JobObject>(std::move(job))};
            }),
      pods_({loop, client, client, log_, metrics, random_.fork()}, pods_config(bytes_max),
            [](std::string_view bytes) -> Result<KeptPod> {
              TM_TRY(JobPodObject pod, read_job_pod(bytes));
              return KeptPod{{pod.ns, pod.pod.name, pod.resource_version},
                             std::make_shared<const JobPodObject>(std::move(pod))};
            }),
      changed_(loop),
      scope_(loop) {
  jobs_.subscribe(
      [this](const kube::ObjectKey&, const KeptJob* before, const KeptJob* after) { job_changed(before, after); });
  pods_.subscribe(
      [this](const kube::ObjectKey&, const KeptPod* before, const KeptPod* after) { pod_changed(before, after); });
}

JobController::~JobController() = default;

bool JobController::all_known() const {
  return jobs_.core().synced() && !jobs_.core().over_budget();
}

void JobController::job_changed(const KeptJob* before, const KeptJob* after) {
  if (before != nullptr && goes_by_itself(*before->job)) ended_.erase({*before->job->state.ended, before->job->uid});
  if (before != nullptr && (after == nullptr || after->job->uid != before->job->uid)) {
    known_.erase(before->job->uid);
    mark(before->job->uid);
    gone_();
  }
  if (after == nullptr) return;
  known_[after->job->uid] = after->job;
  Followed& followed = followed_[after->job->uid];
  see(followed.started, after->job->state.started);
  see(followed.ended, after->job->state.ended);
  if (goes_by_itself(*after->job)) ended_.emplace(*after->job->state.ended, after->job->uid);
  mark(after->job->uid);
}

void JobController::pod_changed(const KeptPod* before, const KeptPod* after) {
  const std::string was = before == nullptr ? "" : followed_by(*before->pod);
  const std::string is = after == nullptr ? "" : followed_by(*after->pod);
  const bool stays = was == is && after != nullptr && before != nullptr && after->pod->pod.uid == before->pod->pod.uid;
  if (!was.empty() && !stays) {
    followed_[was].pods.erase(before->pod->pod.name);
    mark(was);
  }
  if (is.empty()) return;
  Followed& followed = followed_[is];
  FollowedPod& pod = followed.pods[after->pod->pod.name];
  pod.object = after->pod;
  see(pod.ended, after->pod->ended);
  followed.making.erase(after->pod->pod.name);
  mark(is);
}

// Keeps a new time stamp, with its time on the monotonic clock. Its age when first seen comes from the wall clock.
void JobController::see(Moment& moment, std::optional<base::WallTime> stamp) const {
  if (moment.stamp == stamp) return;
  moment.stamp = stamp;
  if (!stamp) return;
  const base::Clock& clock = loop_.clock();
  moment.at = clock.monotonic() + -std::max<base::Duration>(clock.wall() - *stamp, base::Duration(0));
}

base::Duration JobController::since(const Moment& moment) const {
  return moment.stamp ? loop_.clock().monotonic() - moment.at : base::Duration(0);
}

void JobController::mark(const std::string& uid) {
  dirty_.insert(uid);
  changed_.set();
}

void JobController::mark_later(const std::string& uid, base::Duration after) {
  followed_[uid].again = loop_.after(after, [this, uid] { mark(uid); });
}

net::Task<void> JobController::run() {
  scope_.spawn(jobs_.run());
  scope_.spawn(pods_.run());
  while (!co_await jobs_.wait_synced(std::chrono::minutes(1)) || !co_await pods_.wait_synced(std::chrono::minutes(1))) {
  }
  while (true) {
    co_await changed_.wait();
    changed_.clear();
    std::string last;
    while (!dirty_.empty()) {
      // In turn: one that changes all the time does not keep the others waiting.
      auto next = dirty_.upper_bound(last);
      if (next == dirty_.end()) next = dirty_.begin();
      const std::string uid = last = *next;
      dirty_.erase(next);
      const auto done = co_await sync(uid);
      Followed& followed = followed_[uid];
      if (done) {
        followed.failures = 0;
        if (!known_.contains(uid) && followed.pods.empty()) followed_.erase(uid);
        continue;
      }
      // A view that is behind comes by itself; all else is tried again, less and less often.
      const bool behind = done.error().kind == ErrorKind::kConflict;
      const base::Duration pause =
          behind ? kRetry : std::min<base::Duration>(kRetry * (1 << std::min(followed.failures++, 6)), kRetryMax);
      if (!behind) log_.warn("a job is not done yet", {{"job", uid}, {"error", done.error().message}});
      mark_later(uid, pause);
    }
    co_await keep_last_ended();
  }
}

net::Task<Result<void>> JobController::sync(std::string uid) {
  std::vector<std::shared_ptr<const JobPodObject>> pods;
  std::vector<policy::single_node::JobPod> seen;
  const Followed& followed = followed_[uid];
  for (const auto& [name, each] : followed.pods) {
    pods.push_back(each.object);
    seen.push_back(each.object->pod);
    if (each.ended.stamp) seen.back().ended_ago = since(each.ended);
  }
  const auto making = static_cast<std::int64_t>(followed.making.size());
  const policy::single_node::JobTimes times{loop_.clock().wall(), since(followed.started), since(followed.ended)};
  const auto found = known_.find(uid);
  // An incomplete list cannot be counted: deleted pods and pods above the limit look alike. A Job whose pods are all
  // counted continues, because its end frees memory.
  const bool all_counted = found != known_.end() && found->second->state.over;
  if (!all_counted && (jobs_.core().over_budget() || (found != known_.end() && pods_.core().over_budget()))) {
    co_return fail(ErrorKind::kExhausted, "there are more Jobs, or pods of Jobs, than can be followed: delete some");
  }
  if (found == known_.end()) {
    // Their job is gone: nothing counts them, and nothing holds them back.
    for (const auto& pod : pods) {
      if (pod->pod.kept) TM_CO_TRY_VOID(co_await release(pod));
    }
    co_return Result<void>();
  }
  const std::shared_ptr<const JobObject> job = found->second;
  if (!job->ours) co_return Result<void>();
  if (!job->refused.empty() && !job->state.over) co_return co_await write(job, refused_status(*job, times.now));
  const policy::single_node::JobStep step = policy::single_node::job_life(job->spec, job->state, seen, making, times);
  // The note first, and then all of it anew: it makes another version of the job.
  std::vector<std::string> again = queued_again(step, pods);
  if (!again.empty() && again != job->queued_again_pods) co_return co_await note(job, std::move(again));
  // What is counted is written down before its finalizer goes; what goes is counted nowhere else.
  if (step.state != job->state) TM_CO_TRY_VOID(co_await write(job, job_status(*job, step.state, times.now)));
  for (const std::size_t i : step.release) TM_CO_TRY_VOID(co_await release(pods[i]));
  for (const std::size_t i : step.let_go) {
    // One that ended meanwhile counts: it is not let go of, but looked at again.
    TM_CO_TRY_VOID(co_await release(pods[i], Which::kSeen));
    TM_CO_TRY_VOID(co_await remove_pod(pods[i]));
  }
  for (const std::size_t i : step.remove) TM_CO_TRY_VOID(co_await remove_pod(pods[i]));
  for (const auto& index : step.create) TM_CO_TRY_VOID(co_await make_pod(job, index));
  if (step.remove_job) TM_CO_TRY_VOID(co_await remove_job(job));
  if (step.again_after) mark_later(uid, *step.again_after);
  co_return Result<void>();
}

net::Task<Result<void>> JobController::write(std::shared_ptr<const JobObject> job, std::string body) {
  kube::WriteOptions options;
  options.ns = job->ns;
  options.subresource = "status";
  const auto done = co_await client_.patch(kube::kJobs, job->name, kube::PatchType::kStrategicMerge, std::move(body),
                                           std::move(options), kCallLimit);
  if (!done && done.error().kind != ErrorKind::kNotFound) co_return std::unexpected(done.error());
  co_return Result<void>();
}

net::Task<Result<void>> JobController::note(std::shared_ptr<const JobObject> job, std::vector<std::string> pods) {
  kube::WriteOptions options;
  options.ns = job->ns;
  const auto done = co_await client_.patch(kube::kJobs, job->name, kube::PatchType::kMerge,
                                           queued_again_note(*job, pods), std::move(options), kCallLimit);
  if (!done && done.error().kind != ErrorKind::kNotFound) co_return std::unexpected(done.error());
  co_return Result<void>();
}

net::Task<Result<void>> JobController::make_pod(std::shared_ptr<const JobObject> job,
                                                std::optional<std::int64_t> index) {
  std::string suffix = index ? base::cat("-", *index, "-") : "-";
  for (int i = 0; i < kSuffixLetters; ++i) suffix += kLetters[random_.below(kLetters.size())];
  const std::string name = job->name.substr(0, kNameMax - std::min(kNameMax, suffix.size())) + suffix;
  kube::WriteOptions options;
  options.ns = job->ns;
  // Told of before it is asked for: the watch may be faster than the answer.
  followed_[job->uid].making.insert(name);
  const auto made =
      co_await client_.create(kube::kPods, pod_of_job(*job, name, index), std::move(options), "", kCallLimit);
  if (made) {
    co_return Result<void>();
  }
  // Without an answer it is unknown whether the pod was created: wait for it, and forget it after a while.
  const bool unknown = made.error().kind == ErrorKind::kDeadline || made.error().kind == ErrorKind::kUnavailable;
  if (!unknown) followed_[job->uid].making.erase(name);
  if (unknown) {
    scope_.spawn([](JobController* self, std::string uid, std::string lost) -> net::Task<void> {
      co_await self->loop_.sleep(kRetryMax);
      const auto found = self->followed_.find(uid);
      if (found != self->followed_.end() && found->second.making.erase(lost) > 0) self->mark(uid);
    }(this, job->uid, name));
  }
  co_return std::unexpected(made.error());
}

net::Task<Result<void>> JobController::remove_pod(std::shared_ptr<const JobPodObject> pod) {
  kube::WriteOptions options;
  options.ns = pod->ns;
  const auto done = co_await client_.remove(kube::kPods, pod->pod.name, pod->pod.uid, std::move(options), kCallLimit);
  co_return unless_gone(done);
}

net::Task<Result<void>> JobController::release(std::shared_ptr<const JobPodObject> pod, Which which) {
  Json meta = Json::object(
      {{"uid", pod->pod.uid}, {"$deleteFromPrimitiveList/finalizers", Json::array({Json(kJobFinalizer)})}});
  if (which == Which::kSeen) meta["resourceVersion"] = pod->resource_version;
  const Json body = Json::object({{"metadata", std::move(meta)}});
  kube::WriteOptions options;
  options.ns = pod->ns;
  const auto done = co_await client_.patch(kube::kPods, pod->pod.name, kube::PatchType::kStrategicMerge, body.dump(),
                                           std::move(options), kCallLimit);
  // The pod has changed: the caller decides again.
  if (which == Which::kSeen && !done && done.error().kind == ErrorKind::kConflict)
    co_return std::unexpected(done.error());
  co_return unless_gone(done);
}

net::Task<Result<void>> JobController::remove_job(std::shared_ptr<const JobObject> job) {
  kube::WriteOptions options;
  options.ns = job->ns;
  options.propagation = "Background";
  const auto done = co_await client_.remove(kube::kJobs, job->name, job->uid, std::move(options), kCallLimit);
  co_return unless_gone(done);
}

net::Task<void> JobController::keep_last_ended() {
  while (ended_.size() > kEndedJobsMax) {
    const auto oldest = *ended_.begin();
    ended_.erase(ended_.begin());
    const auto found = known_.find(oldest.second);
    if (found == known_.end()) continue;
    const std::shared_ptr<const JobObject> job = found->second;
    if (const auto done = co_await remove_job(job); !done) {
      log_.warn("an ended job that is one too many is there still",
                {{"job", base::cat(job->ns, "/", job->name)}, {"error", done.error().message}});
      ended_.insert(oldest);
      mark_later(job->uid, kRetry);
      co_return;
    }
  }
}

}  // namespace tidemark::runtime
