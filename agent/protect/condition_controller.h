// Keeps the node's condition TidemarkIsolation: what the agent does on the node, for whoever looks at it from afar.
#pragma once

#include <optional>
#include <string>

#include "agent/protect/status.h"
#include "base/log.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::agent {

inline constexpr base::Duration kConditionPause = std::chrono::seconds(10);      // between two writes
inline constexpr base::Duration kConditionRetry = std::chrono::seconds(30);      // after one that failed
inline constexpr base::Duration kConditionWordsPause = std::chrono::minutes(1);  // of nothing but the message
inline constexpr base::Duration kConditionRefresh = std::chrono::minutes(10);    // where nothing but counts changes

class ConditionController {
 public:
  ConditionController(net::EventLoop& loop, kube::Writer& client, const base::Log& log, std::string node_name);

  // What is in force now; written when it is something else than before.
  void tell(const AgentStatus& status);

 private:
  struct Said {
    bool enforces = false;
    std::string reason, message;
    std::string without_counts;  // the message, as if of nothing there were more than one
    bool operator==(const Said&) const = default;
  };
  void put_in_words(const AgentStatus& status);
  base::Duration pause_after(const Said& written) const;
  net::Task<void> write(Said said);

  net::EventLoop& loop_;
  kube::Writer& client_;
  base::Log log_;
  std::string node_name_;
  std::optional<AgentStatus> told_;  // what `said_` says
  Said said_;
  std::optional<Said> written_;
  base::WallTime turned_;  // when `enforces` became what it is
  std::optional<base::MonotonicTime> not_before_;
  std::optional<base::MonotonicTime> written_at_;
  bool writing_ = false;
  bool failing_ = false;
  net::Scope scope_;  // last: its tasks use everything above
};

}  // namespace tidemark::agent
