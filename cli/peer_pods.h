// Koordinator's own programs among the pods of a cluster.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "policy/state/peer.h"

namespace tidemark::cli {

struct PeerPods {
  std::string agents_namespace{policy::state::kPeersNamespace};
  std::set<std::string, std::less<>> agents_on{};  // nodes where koordlet runs, by the agent's own rule
  std::vector<std::string> managers{};             // "NAMESPACE/NAME" of pods that run the image koord-manager

  // One pod as the API server has it.
  Result<void> take(std::string_view pod);
};

}  // namespace tidemark::cli
