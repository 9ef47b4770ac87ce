// Keeps the node's condition TidemarkIsolation: shows in the cluster what the agent does on the node.
#pragma once

#include <optional>
#include <string>

#include "agent/protect/status.h"
#include "base/log.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::agent {

inline constexpr base::Duration kConditionPause = std::chrono::seconds(10);      // between two writes
inline constexpr base::Duration kConditionRetry = std::chrono::seconds(30);      // after a failed one
inline constexpr base::Duration kConditionWordsPause = std::chrono::minutes(1);  // if only the message changed
inline constexpr base::Duration kConditionRefresh = std::chrono::minutes(10);    // if only counts changed

class ConditionController {
 public:
  ConditionController(net::EventLoop& loop, kube::Writer& client, const base::Log& log, std::string node_name);

  // The current status; written if it changed.
  void tell(const AgentStatus& status);

 private:
  struct Said {
    bool enforces = false;
    std::string reason, message;
    std::string without_counts;  // the message with each count reduced to 0 or 1
    bool operator==(const Said&) const = default;
  };
  void put_in_words(const AgentStatus& status);
  base::Duration pause_after(const Said& written) const;
  net::Task<void> write(Said said);

  net::EventLoop& loop_;
  kube::Writer& client_;
  base::Log log_;
  std::string node_name_;
  std::optional<AgentStatus> told_;  // the status behind `said_`
  Said said_;
  std::optional<Said> written_;
  base::WallTime turned_;  // when `enforces` got its value
  std::optional<base::MonotonicTime> not_before_;
  std::optional<base::MonotonicTime> written_at_;
  bool writing_ = false;
  bool failing_ = false;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
