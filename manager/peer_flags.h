// Flags of the peer's manager that say something of a part which is not here. They are taken, so that its manifests
// need only another image, and what they will not do is told once, at the start.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "base/flags.h"

namespace tidemark::manager {

class PeerFlags {
 public:
  void declare(base::Flags& flags);  // before parse(); lives until after it

  // What was given and is not done: a sentence each. Silent where the value asks for what is done anyway.
  std::vector<std::string> without_effect(const base::Flags::Parsed& parsed) const;

 private:
  std::deque<std::string> texts_;
  std::deque<bool> switches_;
};

}  // namespace tidemark::manager
