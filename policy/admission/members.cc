#include "policy/admission/members.h"

#include <algorithm>

namespace tidemark::policy::admission {
namespace {

constexpr std::size_t kLinearMax = 16;  // members; up to here a linear search costs less than sorting

}  // namespace

const Json* MemberIndex::took(const Member& member) {
  next_ = static_cast<std::size_t>(&member - &*object_.begin()) + 1;
  return &member.second;
}

const Json* MemberIndex::find(std::string_view key) {
  const auto same = [&](const Member& member) {
    ++steps_;
    return member.first == key;
  };
  if (next_ < object_.size()) {
    const Member& next = *(object_.begin() + static_cast<std::ptrdiff_t>(next_));
    if (same(next)) return took(next);
  }
  if (object_.size() <= kLinearMax) {
    const auto at = std::find_if(object_.begin(), object_.end(), same);
    return at == object_.end() ? nullptr : took(*at);
  }
  if (sorted_.empty()) {
    sorted_.reserve(object_.size());
    for (const Member& member : object_) sorted_.push_back(&member);
    std::sort(sorted_.begin(), sorted_.end(), [this](const Member* a, const Member* b) {
      ++steps_;
      return a->first < b->first;
    });
  }
  const auto at = std::lower_bound(sorted_.begin(), sorted_.end(), key, [this](const Member* member, auto wanted) {
    ++steps_;
    return member->first < wanted;
  });
  return at == sorted_.end() || !same(**at) ? nullptr : took(**at);
}

}  // namespace tidemark::policy::admission
