// `tidemark preview pool NAME`: where the water line of a pool will be, every five minutes, and why; by the settings as
// they are, or as a file would make them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"
#include "operate/pool_line.h"
#include "policy/waterline/calendar/preview.h"

namespace tidemark::operate {

inline constexpr base::Duration kPreviewForMax = std::chrono::hours(24 * 31);

struct PreviewOptions {
  std::string pool;
  std::optional<base::WallTime> from;  // nullopt: now; the five minutes that it lies in
  base::Duration length = policy::waterline::kPreviewLength;
  PoolQuestion settings;
  std::string file;  // text of manifests that stand for the settings; empty: those of the cluster
};

struct PoolPreview {
  PoolLine pool;
  policy::waterline::LineOverrides overrides;  // in force now
  std::vector<policy::waterline::PreviewPoint> points;
  std::optional<base::WallTime> holidays_end;  // the end of the calendar's list of holidays, if it is near
};

// Errors name what could not be read.
net::Task<Result<PoolPreview>> preview_pool(net::EventLoop& loop, kube::Client& client, PreviewOptions options);

}  // namespace tidemark::operate
