// The settings of one pool, as `tidemark-config` holds them.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "model/selector.h"
#include "model/settings/arbitrate_settings.h"
#include "model/settings/budget_settings.h"
#include "model/settings/evict_settings.h"
#include "model/settings/ledger_config.h"
#include "model/settings/modes.h"
#include "model/settings/motion_config.h"
#include "model/settings/profile.h"
#include "model/settings/slo_layer.h"

namespace tidemark::model {

// How long a pod that started counts with more than it uses.
inline constexpr base::Duration kWarmUp = std::chrono::minutes(10);
inline constexpr std::string_view kDefaultPool = "default";

struct Pool {
  std::string name{kDefaultPool};
  LabelSelector selector = LabelSelector::everything();
  bool takes_all = true;  // the selector asks for nothing
  std::string business;   // the owner of these nodes; empty: unset
  PoolModes modes;
  Profile profile = Profile::kKoordinator;
  bool canary = false;                  // gets new settings first
  std::optional<std::size_t> calendar;  // of the water line, an index in TidemarkConfig::calendars
  LedgerConfig ledger;
  MotionConfig motion;               // with profile tidemark only
  base::Duration warm_up = kWarmUp;  // the same: for how long a pod that started counts with more than it uses
  BudgetSettings budget;
  ArbitrateSettings arbitrate;  // the reaction if two schedulers sold too much of a node
  bool ends_yarn_work = false;  // preempt YARN's containers beyond its offer when a drain is over
  EvictSettings evict;          // how the agents of its nodes go about evictions
  SloLayer nodeslo;             // above slo-controller-config for its nodes
};

// For how long a node of it sells nothing new after an eviction.
base::Duration back_off_of(const Pool& pool);

}  // namespace tidemark::model
