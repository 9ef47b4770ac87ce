// Answers about the past: from files beside the console, journals of managers and records of agents, or else from the
// managers and agents of the cluster.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"
#include "net/task.h"
#include "operate/decisions.h"

namespace tidemark::console {

// A function may wait for the disk, so a worker calls it. kNotFound: the files do not reach. An empty function: this
// console was given no such files.
struct PastFiles {
  // As `tidemark explain node NAME --at TIME -o json` prints it.
  std::function<Result<Json>(const std::string& node, base::WallTime at)> offer{};
  // What the agent of the node recorded (cli/node_record.h).
  std::function<Result<Json>(const std::string& node, base::WallTime from, base::WallTime to)> record{};
  // As `tidemark incident NAMESPACE/POD -o json` prints it.
  std::function<Result<Json>(const std::string& ns, const std::string& name, base::WallTime from, base::WallTime to)>
      incident{};
};

// The same answers from pods (operate/past_pods.h). An error says which pod did not answer, and why. Empty functions:
// pods are not asked.
struct PastOfPods {
  std::function<net::Task<Result<Json>>(std::string node, base::WallTime at)> offer{};
  std::function<net::Task<Result<Json>>(std::string node, base::WallTime from, base::WallTime to)> record{};
  std::function<net::Task<Result<Json>>(std::string node, std::string ns, std::string name, base::WallTime from,
                                        base::WallTime to)>
      incident{};
  // A manager that does not answer becomes a note.
  std::function<net::Task<operate::DecisionsFound>(operate::DecisionQuery query)> decisions{};
};

}  // namespace tidemark::console
