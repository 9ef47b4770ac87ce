// Counts unexpected ends of this agent. After too many in a short time the agent begins in safe start
// (policy/state/permits.h), since its own writes may be what ends it.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::agent {

// A file with one line for each start without an orderly end, on tmpfs: a reboot resets it.
class Ends {
 public:
  // Records this start. Returns the starts before it.
  static Result<Ends> begin(const std::string& folder, base::BootTime now);

  std::size_t unexpected() const { return unexpected_; }  // within the last policy::kHoldWindow
  // After an orderly end, or after long enough without an unexpected one: resets the count.
  Result<void> forget() const;

 private:
  explicit Ends(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::size_t unexpected_ = 0;
};

}  // namespace tidemark::agent
