// Shows the water line of each pool with a calendar, and the end of its list of holidays, as metrics. Leader only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/metrics.h"
#include "kube/informer.h"
#include "kube/objects.h"
#include "manager/settings/settings.h"
#include "net/loop.h"
#include "policy/state/overrides.h"

namespace tidemark::manager {

inline constexpr base::Duration kPoolLinesEvery = std::chrono::minutes(1);

struct PoolLinesContext {
  net::EventLoop& loop;
  const kube::Informer<kube::Node>& nodes;
  const Settings& settings;
  base::Registry& metrics;
  std::function<bool()> leading;
  std::function<const policy::state::Overrides*()> overrides;
};

class PoolLines {
 public:
  explicit PoolLines(PoolLinesContext context);

  void start();  // until destroyed; once the caches are filled

 private:
  net::Task<void> run();
  void look();
  void show_line(std::string_view pool, std::int64_t cpu, std::int64_t memory);
  void show_holidays_end(std::string_view pool, std::optional<base::WallTime> end);

  PoolLinesContext context_;
  std::set<std::string, std::less<>> shown_;
  net::Scope scope_;  // last: its task uses everything above
};

// Whether any of the settings in force limits the motion of the offers of a pool.
bool has_motion(const Settings& settings);

}  // namespace tidemark::manager
