// Keeps YARN's containers from filling the disks of the NodeManager's local directories: measures them from time to
// time, and while they exceed the limit, stops one container after another (local_victim).
//
// Such a container caused the problem itself, so its end is reported with its exit code and not as a preemption.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "copilot/container.h"
#include "net/loop.h"
#include "net/worker.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/ends.h"
#include "yarn_copilot/local_dirs.h"
#include "yarn_copilot/local_victim.h"

namespace tidemark::yarn_copilot {

// Passes take at most a fiftieth of the time, so large directories are measured less often.
inline constexpr int kLookShare = 50;
inline constexpr base::Duration kLookAgainMax = std::chrono::minutes(5);

struct LocalLimitConfig {
  std::vector<std::string> folders;
  std::int64_t limit_bytes = 0;  // 0: only measure, stop nothing
  base::Duration grace = std::chrono::seconds(10);
  base::Duration interval = std::chrono::seconds(10);
  LocalLook look{};
};

class LocalLimit {
 public:
  // All must outlive it.
  LocalLimit(net::EventLoop& loop, Containers& containers, Ends& ends, base::Log log, base::Registry& metrics,
             LocalLimitConfig config);

  net::Task<void> run();
  // One pass, and the stops that follow from it.
  net::Task<void> pass();
  // Bytes of its own at the last pass. nullopt: not measured, not yet, or missed by a pass that did not see all.
  std::optional<std::int64_t> bytes_of(std::string_view container) const;
  // The same by filesystem, as a lower bound; empty if unknown.
  std::vector<copilot::HeldOnDisk> held_by(std::string_view container) const;

 private:
  net::Task<void> enforce(const std::vector<SeenContainer>& running);
  net::Task<void> end(LocalHolder victim);
  std::vector<LocalHolder> holders_of(const std::vector<SeenContainer>& running) const;
  void tell_absent();
  void tell_cut();

  net::EventLoop& loop_;
  Containers& containers_;
  Ends& ends_;
  base::Log log_;
  const LocalLimitConfig config_;
  base::Gauge& bytes_;
  base::Gauge& whole_;
  base::Counter& stopped_;
  std::optional<LocalUse> last_;
  LocalMemory memory_;
  base::Duration took_{0};
  LocalEnds ends_so_far_;
  bool told_no_victim_ = false, told_cut_ = false;
  std::set<std::string> told_absent_;
  net::WorkerPool worker_;  // its own, because a disk may hang
};

}  // namespace tidemark::yarn_copilot
