#include "agent/latch/latch_watch.h"

#include <unistd.h>

#include <utility>

namespace tidemark::agent {

LatchWatch::LatchWatch(const MachinePlaces& places, base::Log log)
    : log_(std::move(log)), run_path_(run_latch(places.run_dir)), kept_path_(places.latch_file) {
  if (const auto kept = read(kept_path_); kept && !read(run_path_)) {
    if (const auto set = set_latch(run_path_, *kept); !set) {
      log_.warn("cannot copy the latch of this machine", {{"error", set.error().message}});
      not_copied_ = true;
      latch_ = kept;
    }
  }
}

// If the user may not search the directory, there is no latch: without root the agent writes nothing and could not
// remove one.
std::optional<Latch> LatchWatch::read(const std::string& path) {
  auto seen = see_latch(path, ::geteuid() == 0);
  if (seen) {
    unreadable_.erase(path);
    return std::move(*seen);
  }
  if (unreadable_.insert(path).second) {
    log_.warn("cannot read whether this machine is switched off; it counts as on", {{"error", seen.error().message}});
  }
  return std::nullopt;
}

void LatchWatch::look() {
  auto now = read(run_path_);
  if (!now && not_copied_) now = read(kept_path_);
  if (now == latch_) return;
  if (now) {
    log_.warn("switched off on this machine", {{"by", now->by}, {"why", now->why}, {"trouble", now->trouble}});
  } else {
    log_.info("no longer switched off on this machine");
  }
  latch_ = std::move(now);
}

}  // namespace tidemark::agent
