#include "cli/local/logs.h"

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "cli/local/log_files.h"
#include "cli/local/objects.h"

namespace tidemark::cli {
namespace {

using base::cat;

// What the server says of the task.
struct Known {
  bool asked = false;             // and answered
  std::optional<LocalTask> task;  // nullopt: there is none
  bool pods_left = false;         // of it, which are not over

  bool finished() const { return asked && (task ? task->ended() : !pods_left); }
  // Its command ran: without a line of it in a log, it has not written one.
  bool begun() const {
    if (!task) return false;
    switch (task->state) {
      case TaskState::kWaiting:
      case TaskState::kRequeued:
      case TaskState::kStarting:
      case TaskState::kSuspended:
        return false;
      case TaskState::kFailed:
        return task->exit_code.has_value();
      case TaskState::kRunning:
      case TaskState::kLimited:
      case TaskState::kRestarting:
      case TaskState::kEvicted:
      case TaskState::kStopping:
      case TaskState::kSucceeded:
        return true;
    }
    return false;
  }
};

class Logs {
 public:
  Logs(net::EventLoop& loop, kube::Client* client, LogsOptions options, LogText::Put put)
      : loop_(loop), client_(client), options_(std::move(options)), text_(text_options(), std::move(put)) {
    subject_.root = cat(options_.server.data_dir, "/logs");
    subject_.ns = options_.server.ns;
    subject_.name = options_.name;
    subject_.container = options_.container;
  }

  net::Task<Result<std::optional<LocalTask>>> run() {
    TM_CO_TRY_VOID(co_await ask());
    // Without an answer of the server the present log files decide whether it is a Job.
    if (!known_.task && !subject_.job) {
      TM_CO_TRY(const auto of_pod, find_attempts(subject_));
      subject_.job = of_pod.empty();
    }
    TM_CO_TRY(auto attempts, find_attempts(subject_));
    if (attempts.empty() && known_.finished() && !known_.task) co_return std::unexpected(no_task());
    if (options_.previous) {
      if (attempts.size() < 2)
        co_return fail(ErrorKind::kNotFound, options_.name, " has no attempt before its last one");
      attempts = {attempts[attempts.size() - 2]};
    }
    if (attempts.empty() && !options_.follow && !known_.begun()) co_return std::unexpected(nothing_written());
    look(attempts);
    text_.flush();
    if (!options_.follow) {
      text_.break_off();
      co_return known_.task;
    }
    co_return co_await follow();
  }

 private:
  LogText::Options text_options() const {
    LogText::Options out;
    out.timestamps = options_.timestamps;
    out.tail = options_.tail;
    if (options_.since) out.since = loop_.clock().wall() + -*options_.since;
    return out;
  }

  // Its error is one that will stay. A server that is away may come back, and the files are there meanwhile.
  net::Task<Result<void>> ask() {
    asked_at_ = loop_.clock().monotonic();
    if (client_ == nullptr) co_return Result<void>();
    auto objects = co_await read_local_objects(loop_, *client_, options_.server.limit);
    if (!objects) {
      const auto kind = objects.error().kind;
      if (kind == ErrorKind::kUnavailable || kind == ErrorKind::kDeadline || kind == ErrorKind::kInternal) {
        known_.asked = false;
        co_return Result<void>();
      }
      co_return std::unexpected(std::move(objects).error());
    }
    known_ = {true, std::nullopt, false};
    for (LocalTask& task : local_tasks(*objects, subject_.ns, {})) {
      if (task.name == subject_.name) known_.task = std::move(task);
    }
    take_subject(*objects);
    if (known_.task && options_.follow && options_.on_look) options_.on_look(*known_.task);
    co_return Result<void>();
  }

  void take_subject(const LocalObjects& objects) {
    std::vector<std::string> mine, others;
    for (const PodSeen& pod : objects.pods) {
      const bool of_job = pod.ns == subject_.ns && pod.job == subject_.name;
      const bool itself = pod.ns == subject_.ns && pod.name == subject_.name && !of_job;
      // A job that is stopped is gone before its pods are.
      if (of_job) subject_.job = true;
      known_.pods_left = known_.pods_left || ((of_job || itself) && !pod.over());
      (of_job || itself ? mine : others).push_back(pod.uid);
    }
    subject_.others = std::move(others);
    if (known_.task) {
      subject_.job = known_.task->job;
      subject_.since_created = known_.task->created.value_or(base::WallTime());
    }
    if (known_.task || !mine.empty()) subject_.pods = std::move(mine);
  }

  void look(const std::vector<LogAttempt>& attempts) {
    files_.look(attempts, [this](std::string_view line, bool first) {
      if (first) text_.break_off();
      text_.take(line);
    });
  }

  net::Task<Result<std::optional<LocalTask>>> follow() {
    while (true) {
      const bool finished = known_.finished();  // before the last look: all that it wrote is there by then
      TM_CO_TRY(const auto attempts, find_attempts(subject_));
      look(attempts);
      if (finished) {
        text_.break_off();
        co_return known_.task;
      }
      co_await loop_.sleep(kLogLookEvery);
      if (loop_.clock().monotonic() - asked_at_ >= kTaskLookEvery) TM_CO_TRY_VOID(co_await ask());
    }
  }

  Error no_task() const {
    return {ErrorKind::kNotFound,
            cat("there is no task ", base::in_quotes(options_.name), " in namespace ", subject_.ns,
                "; `tidemark local ps -a` shows all"),
            0, 0};
  }
  Error nothing_written() const {
    const std::string where = cat("nothing in ", subject_.root, " is of ", options_.name);
    if (!known_.task) return {ErrorKind::kNotFound, where, 0, 0};
    const std::string why = known_.task->why.empty() ? "" : cat(": ", known_.task->why);
    return {ErrorKind::kNotFound, cat(where, ", which is ", state_text(*known_.task), why), 0, 0};
  }

  net::EventLoop& loop_;
  kube::Client* client_;
  LogsOptions options_;
  LogText text_;
  LogSubject subject_;
  LogFiles files_;
  Known known_;
  base::MonotonicTime asked_at_;
};

net::Task<Result<std::optional<LocalTask>>> run_logs(std::unique_ptr<Logs> logs) {
  co_return co_await logs->run();
}

}  // namespace

net::Task<Result<std::optional<LocalTask>>> local_logs(net::EventLoop& loop, kube::Client* client, LogsOptions options,
                                                       LogText::Put put) {
  return run_logs(std::make_unique<Logs>(loop, client, std::move(options), std::move(put)));
}

}  // namespace tidemark::cli
