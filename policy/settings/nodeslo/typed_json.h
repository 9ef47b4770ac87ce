// JSON as Go reads it into a struct and writes it again, for settings whose fields are in a table.
//
//    read    member by member over the present value: unknown members are dropped, names match in any case, null
//            removes a pointer and keeps a value, a value of the wrong type rejects the whole document
//    write   fields in the order of the table, without what Go's omitempty omits
//    merge   write the new one, read that over a copy of the old one: fields that the new one omits stay
//
// Elements of a list are read over the old element at the same position, so an omitted field keeps the old element's
// value: Go does so, and Koordinator's settings show it (contract 0).
//
// A value is a Json object with the table's names; unset fields are absent.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace tidemark::policy::settings {

// The Go type of a field. "Given" means: it is written, and it overrides in a merge.
enum class FieldKind : std::uint8_t {
  kBool,            // *bool: given if present, including false
  kInt64,           // *int64
  kInt32,           // *int32
  kText,            // string: given if not empty
  kTextPointer,     // *string: given if present, including empty
  kIntOrString,     // *intstr.IntOrString
  kQuantity,        // resource.Quantity: always given; "0" if unset
  kObject,          // *struct: given if present, including empty
  kInline,          // struct: always given
  kObjects,         // []struct: given if not empty; a null element is an empty object
  kObjectPointers,  // []*struct: the same; a null element is null
  kSwitches,        // map[string]bool: given if not empty, by name
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
  // An embedded pointer to a struct: its fields are beside ours, and it exists once one of them was named.
  const ObjectSchema* embedded = nullptr;
};

// Reads a document over `target`; after an error, do not use `target`. The error names the place. null is an empty
// document.
Result<void> read_typed(std::string_view text, const ObjectSchema& schema, base::JsonObject& target);

std::string write_typed(const ObjectSchema& schema, const base::JsonObject& value);
std::string write_typed_list(const ObjectSchema& element, const Json::Array& list);

base::JsonObject merge_typed(const ObjectSchema& schema, base::JsonObject old_value, const base::JsonObject& new_value);

// The output of write_typed(), leaf by leaf: "beClass.cpuQOS.enable" and its JSON text. An empty object or list is a
// leaf as well.
struct Leaf {
  std::string path;
  std::string value;
  bool operator==(const Leaf&) const = default;
};
std::vector<Leaf> leaves_of(const ObjectSchema& schema, const base::JsonObject& value);

}  // namespace tidemark::policy::settings
