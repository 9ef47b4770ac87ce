// Reports to the manager how tasks of copilots (YARN's containers) ended, on the agent's own Node
// (model/ended_tasks.h): evicted or finished. For pods, the API server has this.
//
//   evicted    counted when its owner agreed to end it, or its group was killed; written within seconds, because
//              the node must not sell to new work now
//   finished   it left the list, and was not asked to end; written with the next eviction, each kEndsPause at most
//
// Tasks that end while their copilot is away, or while no agent runs, are not counted: their end is unknown.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "agent/tasks/task_list.h"
#include "base/clock.h"
#include "base/log.h"
#include "kube/client.h"
#include "kube/objects.h"
#include "model/ended_tasks.h"
#include "net/loop.h"

namespace tidemark::agent {

inline constexpr base::Duration kEndsPause = std::chrono::minutes(5);   // between two writes for finished tasks alone
inline constexpr base::Duration kEndsGather = std::chrono::seconds(2);  // between any two
inline constexpr base::Duration kEndsRetry = std::chrono::seconds(30);  // after a failed write
inline constexpr std::size_t kEndsTogetherMax = 32;  // entries of a write; beyond that, jobs are not named

class TaskEnds {
 public:
  TaskEnds(net::EventLoop& loop, kube::Writer& writer, base::Log log, std::string node_name);

  void use_node(const kube::Node& node);  // the current one from the API server

  // A task that this or an earlier agent asked to end: its end does not count as finished.
  void asked(const model::Task& task, bool counted = false);
  void evicted(const model::Task& task);   // each is counted once
  void stays(const model::Task& task);     // the request did not reach it: it ends by itself again
  void replaced(const model::Task& task);  // another task was evicted instead, of the same job as far as known

  // Call after each pass of the sampler. `heard`: a manager reads these counts; without one nothing is written.
  void observe(const std::shared_ptr<const TaskSnapshot>& tasks, bool heard);
  // Writes what is pending, because the next agent does not know it.
  net::Task<void> drain(base::Duration limit);

 private:
  struct Known {
    std::string work_class;
    bool here = false;  // in the last list
  };
  struct Asked {
    bool counted = false;
    bool stays = false;
    base::MonotonicTime since;
  };
  using ClassAndJob = std::pair<std::string, std::string>;

  void look(const TaskSnapshot& tasks);
  bool is_going(const std::string& key) const;
  void count_evicted(const model::Task& task);
  std::vector<model::EndedTasks> with_pending();
  net::Task<void> write(std::vector<model::EndedTasks> ends, base::Duration limit);

  net::EventLoop& loop_;
  kube::Writer& writer_;
  base::Log log_;
  std::string node_name_;
  std::optional<std::uint64_t> looked_;  // change number of the last list
  std::map<std::string, Known> known_;   // tasks of copilots, by policy::evict_key
  std::map<std::string, Asked> asked_;   // by the same key
  std::int64_t not_finished_ = 0;        // tasks that will leave the list but were already counted as evicted
  std::map<ClassAndJob, std::int64_t> evicted_;
  std::map<std::string, std::int64_t> finished_;  // by class
  std::vector<model::EndedTasks> told_;           // as the node carries it
  std::optional<base::MonotonicTime> not_before_, finished_not_before_;
  bool unsent_ = false;  // the last write failed, or its result is unknown
  bool writing_ = false;
  bool failing_ = false;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
