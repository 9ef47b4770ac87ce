// The containers that a copilot tells of: offline work of another scheduler, on batch resources.
//
// A copilot that is away keeps its last list for `hold_max`; then it is missing and its tasks are dropped, because
// nobody can say any more which of them still run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/tasks/provider.h"
#include "base/log.h"
#include "base/result.h"
#include "copilot/client.h"
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
};

class CopilotProvider final : public TaskProvider {
 public:
  // `transport` leads to the copilot and outlives the provider.
  CopilotProvider(net::EventLoop& loop, net::HttpTransport& transport, base::Log log, CopilotConfig config);

  net::Task<void> run();
  // At once, if nobody waits for an answer already: something was made or ended.
  void prompt() { prompted_.set(); }

  std::string_view name() const override { return name_; }
  const ProvidedTasks& provided() const override { return provided_; }
  copilot::Client& client() { return client_; }

 private:
  net::Task<Result<void>> look();
  void take(const std::vector<copilot::Container>& containers);
  void miss();
  Result<model::Task> task_of(const copilot::Container& container) const;
  void stand(Standing standing);

  net::EventLoop& loop_;
  base::Log log_;
  CopilotConfig config_;
  std::string name_;
  copilot::Client client_;
  net::Event prompted_;
  std::optional<copilot::Information> information_;  // nullopt: not since it was away
  ProvidedTasks provided_;
};

}  // namespace tidemark::agent
