// Filters complaints that repeat with every look: only new ones pass.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tidemark::agent {

class ToldOnce {
 public:
  static constexpr std::size_t kMax = 16;  // of one look

  // Those of `now` that the last call did not have.
  std::vector<std::string> take(std::vector<std::string> now);

 private:
  std::vector<std::string> before_;  // in their order
};

}  // namespace tidemark::agent
