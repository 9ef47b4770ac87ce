#include "yarn_operator/contested.h"

namespace tidemark::yarn_operator {

void ContestedTotals::told_again(const std::vector<std::string>& nodes, base::MonotonicTime now) {
  for (const std::string& node : nodes) {
    std::vector<base::MonotonicTime>& times = times_[node];
    if (times.size() == kContestedAfter) times.erase(times.begin());
    times.push_back(now);
  }
}

std::vector<std::string> ContestedTotals::nodes(base::MonotonicTime now) {
  std::vector<std::string> contested;
  for (auto& [node, times] : times_) {
    std::erase_if(times, [&](base::MonotonicTime at) { return now - at > kContestedWithin; });
    if (times.size() == kContestedAfter) contested.push_back(node);
  }
  std::erase_if(times_, [](const auto& each) { return each.second.empty(); });
  return contested;
}

}  // namespace tidemark::yarn_operator
