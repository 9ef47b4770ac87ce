// How often this agent ended without saying so: after too many ends in a short time it begins by holding what stands
// (policy/stance/stance.h), since it may be what it writes that ends it.
#pragma once

#include <cstddef>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace tidemark::agent {

// A file of one line for each start that no orderly end followed, on tmpfs: a machine that starts anew begins anew.
class Ends {
 public:
  // Notes this start. Answers what came before it.
  static Result<Ends> begin(const std::string& folder, base::BootTime now);

  std::size_t unexpected() const { return unexpected_; }  // in the last policy::kHoldWindow
  // An orderly end, or long enough without one: none of the starts before counts any more.
  Result<void> forget() const;

 private:
  explicit Ends(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::size_t unexpected_ = 0;
};

}  // namespace tidemark::agent
