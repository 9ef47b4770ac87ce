#include "yarn_operator/contested.h"

namespace tidemark::yarn_operator {

void ContestedTotals::told_again(const std::vector<std::string>& nodes, base::MonotonicTime now) {
  for (const std::string& node : nodes) {
    auto& [times, contested] = told_[node];
    if (times.size() == kContestedAfter) times.erase(times.begin());
    times.push_back(now);
    contested = contested || (times.size() == kContestedAfter && now - times.front() <= kContestedWithin);
  }
}

std::vector<std::string> ContestedTotals::nodes(base::MonotonicTime now) {
  std::erase_if(told_, [&](const auto& each) { return now - each.second.times.back() > kContestedWithin; });
  std::vector<std::string> nodes;
  for (const auto& [node, told] : told_) {
    if (told.contested) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace tidemark::yarn_operator
