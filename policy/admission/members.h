// The members of an object by name, for many look-ups. A request may carry an object of any size: one look-up takes a
// few steps whatever its size. Internal to admission.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace tidemark::policy::admission {

class MemberIndex {
 public:
  // `object` outlives this and does not change.
  explicit MemberIndex(const base::JsonObject& object) : object_(object) {}

  const Json* find(std::string_view key);
  std::size_t steps() const { return steps_; }  // comparisons of names so far

 private:
  using Member = base::JsonObject::Member;
  const Json* took(const Member& member);

  const base::JsonObject& object_;
  std::vector<const Member*> sorted_;  // filled on first use for a large object
  std::size_t next_ = 0;               // look-ups in the order of the members take one step
  std::size_t steps_ = 0;
};

}  // namespace tidemark::policy::admission
