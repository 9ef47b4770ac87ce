// `--feature-gates=Name=true,Other=false`, as the peer's programs have them: a table of those that a program knows.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::base {

struct FeatureGate {
  std::string_view name;
  bool enabled = false;  // default
  bool built = false;    // looked at here
};

class FeatureGates {
 public:
  // `known` outlives this.
  explicit FeatureGates(std::span<const FeatureGate> known) : known_(known) {}

  // A gate that is not known is taken (one command line serves all of the peer's programs), a value that is neither
  // true nor false is not; then nothing is.
  Result<void> take(std::span<const std::string> words);

  bool enabled(std::string_view name) const;  // as given, else the default; false where there is none
  // Gates that were given and change nothing here, a sentence each.
  std::vector<std::string> without_effect() const;

  bool operator==(const FeatureGates& other) const { return given_ == other.given_; }

 private:
  const FeatureGate* find(std::string_view name) const;

  std::span<const FeatureGate> known_;
  std::map<std::string, bool, std::less<>> given_;
};

}  // namespace tidemark::base
