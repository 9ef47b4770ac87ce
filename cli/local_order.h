// `tidemark off --local` and `tidemark on --local`: the switch on the machine itself. It needs neither API server nor
// manager, and no agent: where one runs it obeys, where none does this command puts back what an agent left.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/enforcer/without_agent.h"
#include "agent/machine_places.h"
#include "agent/protect/status.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "net/loop.h"

namespace tidemark::cli {

struct LocalOrder {
  bool off = true;
  std::string by, why;
  bool dry_run = false;
  base::Duration wait = std::chrono::seconds(10);  // for an agent that runs to obey
  agent::MachinePlaces places;
};

struct LocalReport {
  bool changed = false;                         // the switch was not so before
  bool agent_runs = false;                      //
  bool obeyed = false;                          // by the agent, as it says itself
  std::optional<agent::AgentStatus> status;     // of an agent that runs
  std::optional<agent::WithoutAgent> put_back;  // where none runs, and something was to be done
  std::vector<agent::LeftBehind> left;          // files that say something of ours still
  std::vector<Error> troubles;                  // what could not be done or looked at; the rest was
  bool failed() const;                          // something of what was wanted did not come about
};

net::Task<LocalReport> give_local_order(net::EventLoop& loop, const LocalOrder& order);
// Nothing is done; what would be.
LocalReport local_dry_run(const LocalOrder& order);

std::string render_text(const LocalReport& report, const LocalOrder& order);
Json render_json(const LocalReport& report, const LocalOrder& order);

}  // namespace tidemark::cli
