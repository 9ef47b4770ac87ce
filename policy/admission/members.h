// The members of an object by name, for whoever asks for many of them. An object that a request carries may have as
// many as it likes: one look-up takes a few steps whatever its size. Internal to admission.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace tidemark::policy {

class MemberIndex {
 public:
  explicit MemberIndex(const base::JsonObject& object) : object_(object) {}  // outlives this, and stays as it is

  const Json* find(std::string_view key);
  std::size_t steps() const { return steps_; }  // comparisons of names so far

 private:
  using Member = base::JsonObject::Member;
  const Json* took(const Member& member);

  const base::JsonObject& object_;
  std::vector<const Member*> sorted_;  // of a large object, once it is needed
  std::size_t next_ = 0;               // who asks in the order of the members is answered at once
  std::size_t steps_ = 0;
};

}  // namespace tidemark::policy
