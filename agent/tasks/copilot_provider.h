// The containers that a copilot lists: offline work of another scheduler, on batch resources.
//
// Asked every `interval`, and soon after a group is created or removed below its parents.
//
// A task that the list lacks is unconfirmed while its group exists (kUnconfirmedFor), as are all tasks of a copilot
// that is away for `hold_max`; those stay while processes run in their groups: their end is not confirmed, and the
// agent would remove their limits. The copilot is missing once no task is left.
//
// An entry that cannot be read or lies outside the parents is refused alone; the log says so once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/group_watch.h"
#include "agent/tasks/provider.h"
#include "agent/tasks/told_once.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/result.h"
#include "copilot/client.h"
#include "linux/cgroup/hierarchies.h"
#include "linux/kernel_files.h"
#include "net/http_client.h"
#include "net/loop.h"

namespace tidemark::agent {

struct CopilotConfig {
  std::string socket;  // its name in logs and metrics as well
  // The groups that may contain its tasks, as group_path() returns them. Others are refused.
  std::vector<std::string> parents;
  std::string cluster;  // of the other scheduler, if there are several
  base::Duration interval = std::chrono::seconds(10);
  base::Duration limit = std::chrono::seconds(3);
  base::Duration hold_max = std::chrono::seconds(60);
  // For questions after kernel events: a copilot forwards each question to its scheduler's daemon.
  double looks_per_second = 1;
  std::int64_t looks_burst = 3;
};

// The disk use of a task, from its copilot.
struct TaskOnDisks {
  std::string task;  // model::TaskIdentity::task
  std::vector<copilot::HeldOnDisk> held;
};

class CopilotProvider final : public TaskProvider {
 public:
  // `transport` leads to the copilot. All arguments outlive the provider.
  CopilotProvider(net::EventLoop& loop, net::HttpTransport& transport, const linux::Hierarchies& hierarchies,
                  base::Log log, CopilotConfig config);

  net::Task<void> run();

  std::string_view name() const override { return name_; }
  const ProvidedTasks& provided() const override { return provided_; }
  copilot::Client& client() { return client_; }

  // Adds the last values of the tasks that use disks.
  void add_held_on_disks(std::vector<TaskOnDisks>& to) const;

  // The permit for the copilot's own limits: sent with each look, and soon after a change.
  void set_limit_permit(copilot::LimitPermit permit);
  // The copilot's status of its limits; "" if it sets none, or does not know the question.
  const std::string& limits_say() const { return limits_say_; }

 private:
  struct Held {
    TaskPointer task;
    std::optional<base::MonotonicTime> unconfirmed;  // since when
    std::vector<copilot::HeldOnDisk> on_disks;
  };

  net::Task<Result<void>> look();
  net::Task<void> send_limit_permit();
  void take(const copilot::ContainerList& list);
  // A restarted copilot learns the job and class of a task only later. Neither changes while the task runs: without a
  // class it would be evicted first.
  void keep_last_labels(const copilot::Container& said, model::TaskIdentity& identity) const;
  void miss();
  Result<model::Task> task_of(const copilot::Container& container) const;
  void tell_refused(std::vector<std::string> refused);
  void give_up(bool away);
  bool runs(const Held& held);
  void stand(ProviderState state);

  net::EventLoop& loop_;
  const linux::Hierarchies& hierarchies_;
  base::Log log_;
  CopilotConfig config_;
  std::string name_;
  copilot::Client client_;
  net::Event prompted_;
  GroupWatch watch_;
  base::TokenBucket looks_;
  std::optional<copilot::Information> information_;  // nullopt: not since it was away
  std::vector<Held> held_;                           // by id
  std::optional<copilot::LimitPermit> limit_permit_;
  std::string limits_say_;
  linux::Buffer buffer_;
  ToldOnce refused_;
  ProvidedTasks provided_;
};

}  // namespace tidemark::agent
