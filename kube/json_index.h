// Look-ups in JSON objects and lists with many members. A body may have 300,000; a linear search for each would block
// the loop for minutes. Small ones, the usual case, are searched linearly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/json.h"

namespace tidemark::kube {

// Of an object that stays as it is while this is used.
class JsonIndex {
 public:
  explicit JsonIndex(const base::JsonObject& object);
  const Json* find(std::string_view name) const;

 private:
  const base::JsonObject& object_;
  std::unordered_map<std::string_view, const Json*> places_;
};

// Changes to many members of one object, each in constant time. find() sees what erase() and add() did; the object
// itself is whole again when this is destroyed. Members keep their order, new ones come last.
class JsonMembers {
 public:
  explicit JsonMembers(base::JsonObject& object) : object_(object) {}
  ~JsonMembers();
  JsonMembers(const JsonMembers&) = delete;
  JsonMembers& operator=(const JsonMembers&) = delete;

  Json* find(std::string_view name);  // valid until the next add()
  void erase(std::string_view name);
  void add(std::string_view name, Json value);  // one that is not there

 private:
  void index();

  base::JsonObject& object_;
  bool indexed_ = false;
  std::unordered_map<std::string, std::size_t> places_;
  std::vector<bool> gone_;  // by place
};

// A text that two values share if and only if they are equal: members sorted, numbers by their value.
std::string json_identity(const Json& value);

}  // namespace tidemark::kube
