// This machine as a Node: made where there is none, and kept true. What others write on it (batch resources, conditions
// of the agent) stays.
#pragma once

#include <cstdint>
#include <string>

#include "base/log.h"
#include "kube/client.h"
#include "model/resources.h"
#include "net/loop.h"

namespace tidemark::runtime {

inline constexpr base::Duration kHeartbeat = std::chrono::seconds(30);

struct NodeFacts {
  std::string name;
  model::Resources capacity;
  model::Resources allocatable;
  std::int64_t pods_max = 250;
  std::string without_groups;  // why its pods have none; "" where they have
};

class NodeObject {
 public:
  NodeObject(net::EventLoop& loop, kube::Client& client, base::Log log, NodeFacts facts);
  net::Task<void> run();

 private:
  net::Task<Result<void>> tell();
  net::Task<Result<void>> make();
  std::string status() const;

  net::EventLoop& loop_;
  kube::Client& client_;
  base::Log log_;
  NodeFacts facts_;
  base::WallTime since_;
};

}  // namespace tidemark::runtime
