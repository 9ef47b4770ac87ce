// `tidemark preview pool NAME`: where the water line of a pool will be, every five minutes, and why; by the settings as
// they are, or as a file would make them.
#pragma once

#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "cli/pool_line.h"
#include "kube/client.h"
#include "net/loop.h"
#include "policy/calendar/preview.h"

namespace tidemark::cli {

inline constexpr base::Duration kPreviewForMax = std::chrono::hours(24 * 31);

struct PreviewOptions {
  std::string pool;
  std::optional<base::WallTime> from;  // nullopt: now; the five minutes that it lies in
  base::Duration length = policy::kPreviewLength;
  PoolQuestion settings;
  std::string file;  // text of manifests that stand for the settings; empty: those of the cluster
  bool json = false;
};

// The whole output. Errors name what could not be read.
net::Task<Result<std::string>> preview_pool(net::EventLoop& loop, kube::Client& client, PreviewOptions options);

}  // namespace tidemark::cli
