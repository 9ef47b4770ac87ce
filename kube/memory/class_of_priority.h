// A PriorityClass that the server makes itself.
#pragma once

#include <string>

namespace tidemark::kube::memory {

struct ClassOfPriority {
  std::string name;
  int value = 0;
};

}  // namespace tidemark::kube::memory
