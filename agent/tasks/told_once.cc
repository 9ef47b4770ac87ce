#include "agent/tasks/told_once.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace tidemark::agent {

std::vector<std::string> ToldOnce::take(std::vector<std::string> now) {
  std::ranges::sort(now);
  now.erase(std::ranges::unique(now).begin(), now.end());
  if (now.size() > kMax) now.resize(kMax);
  std::vector<std::string> fresh;
  std::ranges::set_difference(now, before_, std::back_inserter(fresh));
  before_ = std::move(now);
  return fresh;
}

}  // namespace tidemark::agent
