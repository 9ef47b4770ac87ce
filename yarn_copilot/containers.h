// Combines the NodeManager's data of each container with its state on this machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "copilot/yarn_id.h"
#include "hadoop/node_manager.h"
#include "model/resources.h"
#include "net/loop.h"
#include "yarn_copilot/application_book.h"
#include "yarn_copilot/container_list.h"
#include "yarn_copilot/machine.h"

namespace tidemark::yarn_copilot {

// Koordinator counts a vcore as a whole core, regardless of its real CPU value.
inline constexpr std::int64_t kPeerMillicoresPerVcore = 1000;

struct SeenContainer {
  hadoop::NodeContainer said;
  std::optional<copilot::YarnId> yarn;  // parsed from its name
  std::string group;                    // path of its cgroup, existing or not
  bool has_group = false;
  std::optional<base::WallTime> began;                   // start of its first process; nullopt: none yet
  std::optional<Use> use;                                // if requested
  std::optional<hadoop::ApplicationReport> application;  // from the ResourceManager; nullopt: not known (yet)

  std::int64_t millicores_per_vcore = kPeerMillicoresPerVcore;

  bool master() const { return yarn && yarn->master(); }
  model::Resources holds() const;        // what YARN allocated of this machine
  model::Resources peer_counts() const;  // the same with one core for each vcore
};

enum class Detail : std::uint8_t {
  kPlain,
  kUse,  // with usage
};

class Containers {
 public:
  // All must outlive it. `millicores_per_vcore`: the value that the operator uses.
  Containers(net::EventLoop& loop, ContainerList& list, Machine& machine, ApplicationBook& applications, base::Log log,
             std::int64_t millicores_per_vcore);

  // Containers that have not ended, by id.
  net::Task<Result<std::vector<SeenContainer>>> running(Detail detail);
  // Also ended ones, while the NodeManager lists them.
  net::Task<Result<std::vector<SeenContainer>>> all(Detail detail);
  // From the last list, without a request. nullopt: not in it.
  std::optional<SeenContainer> remembered(std::string_view id);
  // Application of a container that may have ended; null: not known (yet).
  const hadoop::ApplicationReport* application_of(std::string_view id) const;
  bool asks_for_applications() const { return applications_.asks(); }
  // A container in any state. kNotFound: unknown to the NodeManager.
  net::Task<Result<SeenContainer>> one(std::string id, Detail detail);

 private:
  std::vector<SeenContainer> see(std::vector<hadoop::NodeContainer> said, Detail detail);
  std::optional<base::WallTime> wall(std::optional<base::BootTime> began) const;

  net::EventLoop& loop_;
  ContainerList& list_;
  Machine& machine_;
  ApplicationBook& applications_;
  base::Log log_;
  const std::int64_t millicores_per_vcore_;
  std::map<std::string, base::WallTime, std::less<>> began_;
  std::optional<base::MonotonicTime> scanned_;
};

}  // namespace tidemark::yarn_copilot
