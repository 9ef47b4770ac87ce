// The fields of the built-in kinds: names, types, merge keys. Data: builtin_types_data.cc, one line a type.
//
//   Name field:[@Container!/mname        a list of Container, required, merged by "name"
//   codes: s string  i int32  l int64  f number  b bool  q quantity  t time  u micro time  x int or string  y bytes
//          o anything  @Type   and in front of one: [ list of   { map of
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace tidemark::kube {

extern const char* const kBuiltinTypeLines[];  // ends with nullptr

struct BuiltinType;

struct FieldType {
  std::string_view shape;  // '[' and '{', outermost first
  char code = 'o';
  const BuiltinType* type = nullptr;  // of code '@'
  FieldType element() const { return {shape.substr(1), code, type}; }
};

struct BuiltinField {
  std::string_view name;
  FieldType type;
  bool required = false;
  bool merge = false;  // a patch merges this list (or map); otherwise it replaces it
  bool retain_keys = false;
  std::string_view merge_key;  // empty: a list of plain values
};

struct BuiltinType {
  std::string_view name;
  std::vector<BuiltinField> fields;  // sorted by name
  const BuiltinField* find(std::string_view field) const;
};

class BuiltinTypes {
 public:
  BuiltinTypes();
  const BuiltinType* find(std::string_view name) const;
  const std::deque<BuiltinType>& all() const { return types_; }

 private:
  std::deque<BuiltinType> types_;
  std::unordered_map<std::string_view, const BuiltinType*> by_name_;
};

// The one immutable table.
const BuiltinTypes& builtin_types();

}  // namespace tidemark::kube
