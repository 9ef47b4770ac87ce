// JSON as Go reads it into a struct and writes it again, for settings whose fields are known by a table.
//
//   read    member by member over what is there: unknown members are dropped, names match whatever their case, null
//           takes a pointer away and leaves a value, a value of the wrong type refuses the whole document
//   write   fields in the order of the table, what Go's omitempty omits is omitted
//   merge   write the new one, read that over a copy of the old one: what the new one does not give stays
//
// Elements of a list are read over the old element at the same place, so a field that the new element leaves out keeps
// the old one's value: Go does so, and the peer's settings show it (contract 0).
//
// A value is held as a Json object with the table's names; what is not given is not in it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::policy {

// What a field is in Go. "Given" means: it is written, and it overrides in a merge.
enum class FieldKind : std::uint8_t {
  kBool,            // *bool: given where it is there, false included
  kInt64,           // *int64
  kInt32,           // *int32
  kText,            // string: given where it is not empty
  kTextPointer,     // *string: given where it is there, the empty one included
  kIntOrString,     // *intstr.IntOrString
  kQuantity,        // resource.Quantity: always given; "0" where nobody gave one
  kObject,          // *struct: given where it is there, an empty one included
  kInline,          // struct: always given
  kObjects,         // []struct: given where it is not empty; a null element is an empty object
  kObjectPointers,  // []*struct: the same; a null element is null
  kSwitches,        // map[string]bool: given where it is not empty, by name
  kRaw,             // anything; kept as it is
};

struct ObjectSchema;
struct Field {
  std::string_view name;
  FieldKind kind;
  const ObjectSchema* object = nullptr;  // of kObject, kInline, kObjects, kObjectPointers
};

struct ObjectSchema {
  std::span<const Field> fields;
  // An embedded pointer to a struct: its fields lie beside ours, and it is there once one of them was named.
  const ObjectSchema* embedded = nullptr;
};

// Reads a document over `target`; where it is refused, `target` is not to be used. The error names the place. null is
// an empty document.
Result<void> read_typed(std::string_view text, const ObjectSchema& schema, base::JsonObject& target);

std::string write_typed(const ObjectSchema& schema, const base::JsonObject& value);
std::string write_typed_list(const ObjectSchema& element, const Json::Array& list);

base::JsonObject merge_typed(const ObjectSchema& schema, base::JsonObject old_value, const base::JsonObject& new_value);

// What write_typed() writes, leaf by leaf: "beClass.cpuQOS.enable" and its JSON text. An object or list without
// anything in it is a leaf as well.
struct Leaf {
  std::string path;
  std::string value;
  bool operator==(const Leaf&) const = default;
};
std::vector<Leaf> leaves_of(const ObjectSchema& schema, const base::JsonObject& value);

}  // namespace tidemark::policy
