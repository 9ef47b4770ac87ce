// Keeps YARN's containers from filling the disks of their NodeManager's local folders: what is in them is looked at
// from time to time, and while it is more than the limit one container after the other is asked to end, and killed
// (local_victim).
//
// A container that does it by itself is at fault, so its end is told as what it is: its exit code, and no pre-emption.
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

// A look takes no more than a fiftieth of the time: of large folders it is taken less often.
inline constexpr int kLookShare = 50;
inline constexpr base::Duration kLookAgainMax = std::chrono::minutes(5);

struct LocalLimitConfig {
  std::vector<std::string> folders;
  std::int64_t limit_bytes = 0;  // 0: they are looked at, and nobody ends for it
  base::Duration grace = std::chrono::seconds(10);
  base::Duration interval = std::chrono::seconds(10);
  LocalLook look{};
};

class LocalLimit {
 public:
  // All outlive it.
  LocalLimit(net::EventLoop& loop, Containers& containers, Ends& ends, base::Log log, base::Registry& metrics,
             LocalLimitConfig config);

  net::Task<void> run();
  // One look, and who ends for it.
  net::Task<void> pass();
  // Of its own, at the last look. nullopt: nobody looks, nobody did yet, or it was not seen by one that saw not all.
  std::optional<std::int64_t> bytes_of(std::string_view container) const;
  // The same by filesystem, at least; empty where nothing is known.
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
  bool told_nobody_ = false, told_cut_ = false;
  std::set<std::string> told_absent_;
  net::WorkerPool worker_;  // of its own: a disk may hang
};

}  // namespace tidemark::yarn_copilot
