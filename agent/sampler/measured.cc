#include "agent/sampler/measured.h"

#include <algorithm>

namespace tidemark::agent {

std::string_view to_string(Validity validity) {
  switch (validity) {
    case Validity::kNotYet:
      return "not yet";
    case Validity::kGood:
      return "good";
    case Validity::kStale:
      return "stale";
    case Validity::kMissing:
      return "missing";
    case Validity::kUnreadable:
      return "unreadable";
  }
  return "unknown";
}

const AccountMeasured* Measured::find(TaskHandle handle) const {
  const auto found = std::ranges::find(accounts, handle, &AccountMeasured::handle);
  return found == accounts.end() ? nullptr : &*found;
}

}  // namespace tidemark::agent
