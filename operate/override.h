// `tidemark override pool NAME|cluster --cpu N [--memory N] --for 2h --reason …`, and its end: `--clear`. The order is
// stored in the ConfigMap `tidemark-state`; whichever manager leads obeys it. It may be given while no manager runs: it
// holds as soon as one does, until its end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "operate/pool_line.h"
#include "policy/state/overrides.h"

namespace tidemark::operate {

struct OverrideOptions {
  std::string pool;  // empty: the whole cluster
  policy::state::OverrideCommand command;
  bool dry_run = false;
  PoolQuestion settings;
};

struct OverrideReport {
  std::string pool;
  bool dry_run = false;
  policy::state::OverrideEffect effect = policy::state::OverrideEffect::kSet;
  std::optional<policy::waterline::LineOverride> before;  // what it replaces
  std::optional<policy::waterline::LineOverride> after;   // nullopt: none, the calendar holds
  std::optional<std::size_t> nodes;                       // of the pool
  struct Line {
    model::LinePlan before;
    model::LinePlan after;
  };
  std::optional<Line> line;        // of the pool, now
  std::vector<std::string> notes;  // what a careful operator would ask about it
};

// An error where nothing was stored: no such pool, a percentage out of range, no end, the API server away.
net::Task<Result<OverrideReport>> give_override(net::EventLoop& loop, kube::Client& client, OverrideOptions options);

}  // namespace tidemark::operate
