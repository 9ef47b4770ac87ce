// Answers from files beside the console: journals of managers and records of agents. A function may wait for the disk,
// so a worker calls it. kNotFound: the files do not reach. An empty function: this console was given no such files.
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/json.h"
#include "base/result.h"

namespace tidemark::console {

struct PastFiles {
  // As `tidemark explain node NAME --at TIME -o json` prints it.
  std::function<Result<Json>(const std::string& node, base::WallTime at)> offer{};
  // What the agent of the node recorded (cli/node_record.h).
  std::function<Result<Json>(const std::string& node, base::WallTime from, base::WallTime to)> record{};
  // As `tidemark incident NAMESPACE/POD -o json` prints it.
  std::function<Result<Json>(const std::string& ns, const std::string& name, base::WallTime from, base::WallTime to)>
      incident{};
};

}  // namespace tidemark::console
