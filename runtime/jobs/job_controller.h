// Carries out policy/single_node for the Jobs of this server: makes their pods, counts how they end, tells how the Job
// stands, and removes what is over. One job at a time, and each write only for the version of the job that was read: a
// view that is behind is refused by the server, and looked at again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/client.h"
#include "kube/informer.h"
#include "net/loop.h"
#include "runtime/jobs/job_object.h"

namespace tidemark::runtime {

// Of Jobs that have ended and go by themselves (ttlSecondsAfterFinished): beyond so many the oldest goes before its
// time. A day of short ones would fill whatever lists them and their pods.
inline constexpr std::size_t kEndedJobsMax = 500;
inline constexpr std::size_t kJobsBytesMax = std::size_t{64} << 20;  // what is kept of Jobs, and of their pods

class JobController {
 public:
  // All that is given outlives it. `gone` is called on the loop after a Job is no more.
  JobController(
      net::EventLoop& loop, kube::Client& client, base::Log log, base::Registry& metrics, base::Random random,
      std::function<void()> gone = [] {}, std::size_t bytes_max = kJobsBytesMax);
  ~JobController();
  JobController(const JobController&) = delete;
  JobController& operator=(const JobController&) = delete;

  net::Task<void> run();

  bool all_known() const;  // false: knows() may not know of one that is there
  bool knows(const std::string& uid) const { return known_.contains(uid); }

 private:
  struct Meta {
    std::string ns, name, resource_version;
  };
  struct KeptJob {
    Meta meta;
    std::shared_ptr<const JobObject> job;
    std::size_t bytes() const { return sizeof(KeptJob) + job->bytes(); }
  };
  struct KeptPod {
    Meta meta;
    std::shared_ptr<const JobPodObject> pod;
    std::size_t bytes() const { return sizeof(KeptPod) + pod->bytes(); }
  };
  // A time stamp of an object, and the same time on the monotonic clock, fixed when the stamp was first seen.
  struct Moment {
    std::optional<base::WallTime> stamp;
    base::MonotonicTime at;
  };
  struct FollowedPod {
    std::shared_ptr<const JobPodObject> object;
    Moment ended;
  };
  // The pods of one job, or one pod that no job owns any more.
  struct Followed {
    Moment started, ended;                    // of the job
    std::map<std::string, FollowedPod> pods;  // by name
    std::set<std::string> making;             // names of pods that were asked for
    net::Timer again;
    int failures = 0;
  };

  void job_changed(const KeptJob* before, const KeptJob* after);
  void pod_changed(const KeptPod* before, const KeptPod* after);
  void see(Moment& moment, std::optional<base::WallTime> stamp) const;
  base::Duration since(const Moment& moment) const;  // 0: it has not come
  void mark(const std::string& uid);
  void mark_later(const std::string& uid, base::Duration after);
  net::Task<Result<void>> sync(std::string uid);
  net::Task<Result<void>> write(std::shared_ptr<const JobObject> job, std::string body);
  net::Task<Result<void>> note(std::shared_ptr<const JobObject> job, std::vector<std::string> pods);
  net::Task<Result<void>> make_pod(std::shared_ptr<const JobObject> job, std::optional<std::int64_t> index);
  net::Task<Result<void>> remove_pod(std::shared_ptr<const JobPodObject> pod);
  // kSeen: only the version of the pod that was read.
  enum class Which { kAny, kSeen };
  net::Task<Result<void>> release(std::shared_ptr<const JobPodObject> pod, Which which = Which::kAny);
  net::Task<Result<void>> remove_job(std::shared_ptr<const JobObject> job);
  net::Task<void> keep_last_ended();

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  base::Random random_;
  std::function<void()> gone_;
  kube::Informer<KeptJob> jobs_;
  kube::Informer<KeptPod> pods_;
  std::map<std::string, std::shared_ptr<const JobObject>> known_;  // by uid
  // By the job's uid, whether it is known or not; a pod that was let go of by its job, finalizer and all, by its own.
  std::map<std::string, Followed> followed_;
  std::set<std::pair<base::WallTime, std::string>> ended_;  // Jobs that go by themselves: when they ended, their uids
  std::set<std::string> dirty_;
  net::Event changed_;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::runtime
