// What is known of each container: its NodeManager's word, and what of it is on this machine.
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

// A vcore is a whole core to the peer, whatever was sold as one.
inline constexpr std::int64_t kPeerMillicoresPerVcore = 1000;

struct SeenContainer {
  hadoop::NodeContainer said;
  std::optional<copilot::YarnId> yarn;  // what its name says
  std::string group;                    // where its group is, or would be
  bool has_group = false;
  std::optional<base::WallTime> began;                   // its first process; nullopt: there is none yet
  std::optional<Use> use;                                // where that was asked for
  std::optional<hadoop::ApplicationReport> application;  // as the ResourceManager tells of it; nullopt: not (yet)

  std::int64_t millicores_per_vcore = kPeerMillicoresPerVcore;

  bool master() const { return yarn && yarn->master(); }
  model::Resources holds() const;        // what YARN gave it of this machine
  model::Resources peer_counts() const;  // the same with a core for each vcore
};

enum class Detail : std::uint8_t {
  kPlain,
  kUse,  // with what it uses
};

class Containers {
 public:
  // All outlive it. `millicores_per_vcore`: as the operator told the ResourceManager.
  Containers(net::EventLoop& loop, ContainerList& list, Machine& machine, ApplicationBook& applications, base::Log log,
             std::int64_t millicores_per_vcore);

  // Those that have not ended, by id.
  net::Task<Result<std::vector<SeenContainer>>> running(Detail detail);
  // Those that have ended too, as long as the NodeManager lists them.
  net::Task<Result<std::vector<SeenContainer>>> all(Detail detail);
  // As it was listed last, without asking. nullopt: it was not there then.
  std::optional<SeenContainer> remembered(std::string_view id);
  // Of the application of a container that may have ended; null: not known, or not yet.
  const hadoop::ApplicationReport* application_of(std::string_view id) const;
  bool asks_for_applications() const { return applications_.asks(); }
  // One of any state. kNotFound: the NodeManager does not know it.
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
