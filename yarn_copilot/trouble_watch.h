// Checks for container troubles periodically, and counts them by class.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "net/loop.h"
#include "yarn_copilot/containers.h"
#include "yarn_copilot/troubles.h"
#include "yarn_copilot/work_labels.h"

namespace tidemark::yarn_copilot {

inline constexpr base::Duration kStuckInterval = std::chrono::seconds(10);
// How long to wait for the class of an ended container: the ResourceManager is asked at a low rate.
inline constexpr base::Duration kClassPatience = std::chrono::seconds(10);
// A tag can be any text: further classes are reported as `other`.
inline constexpr std::size_t kClassesMax = 16;

class TroubleWatch {
 public:
  struct Config {
    std::vector<QueueClass> queues;
    base::Duration ends_interval;
  };
  // `containers` must outlive it.
  TroubleWatch(net::EventLoop& loop, Containers& containers, Config config, base::Log log, base::Registry& metrics);

  net::Task<void> watch_ends();
  net::Task<void> watch_stuck();

 private:
  struct Untold {  // its class is not known yet
    FoundTrouble found;
    std::string said;  // reason from its NodeManager
    base::MonotonicTime by;
  };
  net::Task<void> look_at_ends();
  net::Task<void> look_at_stuck();
  void tell_known();
  void tell(const Untold& each, const std::string& work_class);
  std::string class_of(const hadoop::ApplicationReport& report) const;
  std::vector<Sighting> sightings_of(const std::vector<SeenContainer>& containers) const;
  std::string class_label(const std::string& work_class);

  net::EventLoop& loop_;
  Containers& containers_;
  const Config config_;
  base::Log log_;
  base::Registry& metrics_;
  EndState ends_;
  StuckState stuck_;
  std::vector<Untold> untold_;
  std::set<std::string> classes_;
};

}  // namespace tidemark::yarn_copilot
