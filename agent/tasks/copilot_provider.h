// The containers that a copilot tells of: offline work of another scheduler, on batch resources.
//
// Asked every `interval`, and soon when a group is made or goes below its parents.
//
// A task that its list lacks is unconfirmed while its group is there (kUnconfirmedFor), and so are all tasks of a
// copilot that is away for `hold_max`; those as long as somebody runs in their groups: nobody else says that they
// ended, and an agent would take from them what holds them. It is missing once none is left.
//
// What of a list cannot be read, or lies elsewhere than it may, is refused by itself; the log says so once.
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
  // The groups below which it may have some, as group_path() answers them. What it names elsewhere is refused.
  std::vector<std::string> parents;
  std::string cluster;  // of the other scheduler, where there are several
  base::Duration interval = std::chrono::seconds(10);
  base::Duration limit = std::chrono::seconds(3);
  base::Duration hold_max = std::chrono::seconds(60);
  // Because the kernel told of something: a copilot passes each question on to its scheduler's daemon.
  double looks_per_second = 1;
  std::int64_t looks_burst = 3;
};

// What a copilot says that a task has on disks.
struct TaskOnDisks {
  std::string task;  // model::TaskIdentity::task
  std::vector<copilot::HeldOnDisk> held;
};

class CopilotProvider final : public TaskProvider {
 public:
  // `transport` leads to the copilot. All that is given outlives the provider.
  CopilotProvider(net::EventLoop& loop, net::HttpTransport& transport, const linux::Hierarchies& hierarchies,
                  base::Log log, CopilotConfig config);

  net::Task<void> run();

  std::string_view name() const override { return name_; }
  const ProvidedTasks& provided() const override { return provided_; }
  copilot::Client& client() { return client_; }

  // Of those that have anything there, as it said last.
  void add_held_on_disks(std::vector<TaskOnDisks>& to) const;

  // How the agent stands to limits of the copilot's own: said with each look, and soon where it is another one.
  void stand_to_limits(copilot::LimitStance stance);
  // What the copilot says of them; "" where it has none, or does not know the question.
  const std::string& limits_say() const { return limits_say_; }

 private:
  struct Held {
    TaskPointer task;
    std::optional<base::MonotonicTime> unconfirmed;  // since when
    std::vector<copilot::HeldOnDisk> on_disks;
  };

  net::Task<Result<void>> look();
  net::Task<void> say_stance();
  void take(const copilot::ContainerList& list);
  // A copilot that begins anew learns only by and by of which job and class a task is. Neither changes while it runs:
  // one of no class would be the first to go.
  void keep_last_words(const copilot::Container& said, model::TaskIdentity& identity) const;
  void miss();
  Result<model::Task> task_of(const copilot::Container& container) const;
  void tell_refused(std::vector<std::string> refused);
  void give_up(bool away);
  bool runs(const Held& held);
  void stand(Standing standing);

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
  std::optional<copilot::LimitStance> limit_stance_;
  std::string limits_say_;
  linux::Buffer buffer_;
  ToldOnce refused_;
  ProvidedTasks provided_;
};

}  // namespace tidemark::agent
