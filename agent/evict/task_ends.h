// Tells whoever sells the node how the tasks of copilots (YARN's containers) ended, on the agent's own Node
// (model/ended_tasks.h): evicted by it, or by themselves. Of pods the API server has it.
//
//   evicted    counted when somebody said that it goes, or its group was killed; told within seconds, since its node is
//              to sell nothing new now
//   finished   it is listed no more, and nobody asked it to go; told with the next eviction, each kEndsPause at most
//
// What ends while its copilot is away, or no agent runs, is in neither: nobody knows of it.
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

inline constexpr base::Duration kEndsPause = std::chrono::minutes(5);   // between two writes for what finished alone
inline constexpr base::Duration kEndsGather = std::chrono::seconds(2);  // between any two
inline constexpr base::Duration kEndsRetry = std::chrono::seconds(30);  // after a write that failed
inline constexpr std::size_t kEndsTogetherMax = 32;  // entries of a write; beyond, jobs are not named

class TaskEnds {
 public:
  TaskEnds(net::EventLoop& loop, kube::Writer& writer, base::Log log, std::string node_name);

  void use_node(const kube::Node& node);  // as the API server has it now

  // Of a task that was asked to go, by this agent or by the one before: its end is no matter of its own any more.
  void asked(const model::Task& task, bool counted = false);
  void evicted(const model::Task& task);   // each is counted once
  void stays(const model::Task& task);     // nobody could tell it to: it ends by itself again
  void replaced(const model::Task& task);  // another one was evicted in its place, of the same job as far as is known

  // After each pass of the sampler. `heard`: a manager is there that counts; without one nothing is told.
  void observe(const std::shared_ptr<const TaskSnapshot>& tasks, bool heard);
  // Tells what is pending: the next agent knows nothing of it.
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
  std::optional<std::uint64_t> looked_;  // the change of the list
  std::map<std::string, Known> known_;   // tasks of copilots, by policy::evict_key
  std::map<std::string, Asked> asked_;   // the same
  std::int64_t not_finished_ = 0;        // that are to be missing from the list: they were counted as evicted
  std::map<ClassAndJob, std::int64_t> evicted_;
  std::map<std::string, std::int64_t> finished_;  // by class
  std::vector<model::EndedTasks> told_;           // as the node carries it
  std::optional<base::MonotonicTime> not_before_, finished_not_before_;
  bool unsent_ = false;  // the last write failed, or nobody knows
  bool writing_ = false;
  bool failing_ = false;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
