#include "agent/evict/task_ends.h"

#include <algorithm>

#include "base/text.h"
#include "kube/annotation_patch.h"
#include "model/reason.h"
#include "policy/evict/evict.h"

namespace tidemark::agent {
namespace {

constexpr base::Duration kWriteLimit = std::chrono::seconds(10);
constexpr base::Duration kStep = std::chrono::microseconds(1);     // the resolution of a written time
constexpr base::Duration kAheadMax = std::chrono::minutes(1);      // tolerance for a clock that was set back since
constexpr base::Duration kAskedKept = 2 * policy::evict::kGiveUp;  // for a task that left the list
constexpr std::size_t kAskedMax = 2 * policy::evict::kLeavingMax;

bool is_copilots(const model::Task& task) {
  return task.kind == model::TaskKind::kCopilotTask;
}

std::string job_of(const model::Task& task) {
  return task.identity.job.empty() ? "" : base::cat(task.identity.source, "/", task.identity.job);
}

}  // namespace

TaskEnds::TaskEnds(net::EventLoop& loop, kube::Writer& writer, base::Log log, std::string node_name)
    : loop_(loop), writer_(writer), log_(std::move(log)), node_name_(std::move(node_name)), scope_(loop) {}

void TaskEnds::use_node(const kube::Node& node) {
  const kube::Text* text = node.meta.annotations.find(model::kEndedTasksAnnotation);
  if (text == nullptr) return;
  auto told = model::parse_ended_tasks(text->view());
  if (!told || told->empty()) return;  // it is written again
  // A watch may be older than our last write.
  if (told_.empty() || told_.back().at < told->back().at) told_ = *std::move(told);
}

void TaskEnds::asked(const model::Task& task, bool counted) {
  if (!is_copilots(task) || asked_.size() >= kAskedMax) return;
  Asked& mine = asked_[policy::evict::evict_key(task)];
  mine.counted |= counted;
  mine.stays = false;
  mine.since = loop_.clock().monotonic();
}

void TaskEnds::evicted(const model::Task& task) {
  if (!is_copilots(task)) return;
  const auto mine = asked_.find(policy::evict::evict_key(task));
  if (mine != asked_.end()) {
    mine->second.stays = false;
    if (std::exchange(mine->second.counted, true)) return;
  }
  count_evicted(task);
}

void TaskEnds::stays(const model::Task& task) {
  const auto mine = asked_.find(policy::evict::evict_key(task));
  if (mine != asked_.end()) mine->second.stays = !mine->second.counted;
}

bool TaskEnds::is_going(const std::string& key) const {
  const auto mine = asked_.find(key);
  return mine != asked_.end() && !mine->second.stays;
}

void TaskEnds::replaced(const model::Task& task) {
  if (!is_copilots(task)) return;
  asked_.erase(policy::evict::evict_key(task));
  ++not_finished_;
  count_evicted(task);
}

void TaskEnds::count_evicted(const model::Task& task) {
  ++evicted_[{task.identity.work_class, job_of(task)}];
}

void TaskEnds::look(const TaskSnapshot& tasks) {
  for (auto& [key, known] : known_) known.here = false;
  for (const ListedTask& each : tasks.tasks) {
    if (is_copilots(*each.task)) known_[policy::evict::evict_key(*each.task)] = {each.task->identity.work_class, true};
  }
  const base::MonotonicTime now = loop_.clock().monotonic();
  const bool told_of_all = std::ranges::all_of(
      tasks.sources, [](const TaskSnapshot::Source& each) { return each.state == ProviderState::kCurrent; });
  for (const auto& [key, known] : known_) {
    if (known.here || !told_of_all || is_going(key)) continue;
    if (not_finished_ > 0) {
      --not_finished_;
    } else {
      ++finished_[known.work_class];
    }
  }
  std::erase_if(known_, [](const auto& each) { return !each.second.here; });
  std::erase_if(
      asked_, [&](const auto& each) { return !known_.contains(each.first) && now - each.second.since >= kAskedKept; });
}

void TaskEnds::observe(const std::shared_ptr<const TaskSnapshot>& tasks, bool heard) {
  if (looked_ != tasks->change) {
    looked_ = tasks->change;
    look(*tasks);
  }
  if (!heard) {
    evicted_.clear();
    finished_.clear();
    unsent_ = false;
  }
  const base::MonotonicTime now = loop_.clock().monotonic();
  const bool urgent = unsent_ || !evicted_.empty();
  if (writing_ || (!urgent && finished_.empty()) || (not_before_ && now < *not_before_)) return;
  if (!urgent && finished_not_before_ && now < *finished_not_before_) return;
  writing_ = true;
  scope_.spawn(write(with_pending(), kWriteLimit));
}

net::Task<void> TaskEnds::drain(base::Duration limit) {
  if (writing_ || (!unsent_ && evicted_.empty() && finished_.empty())) co_return;
  writing_ = true;
  co_await write(with_pending(), limit);
}

// The new content of the node: includes everything pending, under one time.
std::vector<model::EndedTasks> TaskEnds::with_pending() {
  const base::WallTime now = loop_.clock().wall();
  std::vector<model::EndedTasks> ends = told_;
  std::erase_if(ends, [&](const model::EndedTasks& each) {
    return now - each.at >= model::kEndedTasksKept || each.at - now > kAheadMax;
  });
  const base::WallTime at = ends.empty() ? now : std::max(now, ends.back().at + kStep);
  std::map<std::string, std::int64_t> by_class;
  const bool names_jobs = evicted_.size() + finished_.size() <= kEndsTogetherMax;
  for (const auto& [whose, count] : std::exchange(evicted_, {})) {
    if (names_jobs) {
      ends.push_back({at, whose.first, whose.second, count, 0});
    } else {
      by_class[whose.first] += count;
    }
  }
  for (const auto& [work_class, count] : by_class) ends.push_back({at, work_class, "", count, 0});
  for (const auto& [work_class, count] : std::exchange(finished_, {})) ends.push_back({at, work_class, "", 0, count});
  return ends;
}

net::Task<void> TaskEnds::write(std::vector<model::EndedTasks> ends, base::Duration limit) {
  kube::WriteOptions options;
  options.subresource = "status";  // the agent may write only the status of its Node
  options.note.reason = model::reason_id(model::Reason::kEvictGone);
  const auto written = co_await writer_.patch(
      kube::kNodes, node_name_, kube::PatchType::kMerge,
      kube::annotation_patch(model::kEndedTasksAnnotation, model::format_ended_tasks(ends)), std::move(options), limit);
  writing_ = false;
  const base::MonotonicTime now = loop_.clock().monotonic();
  // Also if it is unknown whether the write arrived: a repeated write has the same time.
  told_ = std::move(ends);
  finished_not_before_ = now + kEndsPause;
  unsent_ = !written;
  not_before_ = now + (written ? kEndsGather : kEndsRetry);
  if (written) {
    if (std::exchange(failing_, false)) log_.info("task ends are written again");
    co_return;
  }
  if (!std::exchange(failing_, true)) {
    log_.warn("cannot write how tasks ended", {{"error", written.error().message}});
  }
}

}  // namespace tidemark::agent
