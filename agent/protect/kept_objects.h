// The last known Node, NodeSLO and pods, saved in memory (tmpfs), so that an agent that starts while the API server is
// away continues as the one before it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace tidemark::agent {

enum class KeptObject { kNode, kNodeSlo, kPods };

class KeptObjects {
 public:
  explicit KeptObjects(std::string folder) : folder_(std::move(folder)) {}

  // Its JSON. Written only if it changed.
  Result<void> keep(KeptObject what, std::string_view bytes);
  Result<void> drop(KeptObject what);
  // nullopt: none was saved.
  Result<std::optional<std::string>> read(KeptObject what) const;

 private:
  std::string path(KeptObject what) const;
  std::string folder_;
  std::array<std::size_t, 3> seen_{};  // hashes; 0: nothing yet
};

}  // namespace tidemark::agent
