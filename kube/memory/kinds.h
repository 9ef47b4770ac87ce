// A kind of object is a row of a table: how it is addressed, its fields, its columns, which sub-resources it has.
// Built-in rows stand in kinds_data.cc; a CustomResourceDefinition adds rows while the server runs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kube/builtin_types.h"

namespace tidemark::kube::memory {

class Schema;

// A field that field selectors can name, and where it lies.
struct SelectField {
  std::string name;
  std::string path;  // members joined by dots
  bool operator==(const SelectField&) const = default;
};

// One column of Table output. `cell` is a JSONPath (".status.phase") or "@name" of a formula in columns.cc.
struct Column {
  std::string name;
  std::string cell;
  int priority = 0;
  std::string type = "string";
  std::string format = {};
  std::string description = {};
};

struct KindVersion {
  std::string name;
  bool served = true;
  bool status = false;                   // has the status sub-resource
  bool scale = false;                    // known, not served
  std::shared_ptr<const Schema> schema;  // custom kinds
  std::vector<Column> columns;           // empty: name and age
  std::vector<std::string> selectable;   // JSON paths of a CRD's selectableFields
};

enum class NameRule : std::uint8_t { kSubdomain, kLabel, kLabel1035, kPathSegment };

struct Kind {
  std::string group;
  std::string plural;
  std::string singular;
  std::string name;       // "Pod"
  std::string list_name;  // "PodList"
  std::vector<std::string> short_names;
  std::vector<std::string> categories;
  bool namespaced = false;
  bool custom = false;
  NameRule name_rule = NameRule::kSubdomain;
  bool generation = false;                                   // spec changes count metadata.generation
  bool create_on_update = false;                             // PUT of an absent object makes it
  bool readable = true;                                      // false: only POST (reviews, bindings)
  std::vector<KindVersion> versions;                         // the first one that is served is preferred
  std::string storage_version;                               // of what is stored
  std::string storage;                                       // kinds with one name share their objects ("events")
  int storage_id = -1;                                       // the Store's number for it
  const BuiltinType* type = nullptr;                         // null for custom kinds
  std::vector<std::string> subresources;                     // besides status
  std::vector<SelectField> fields;                           // besides metadata.name and metadata.namespace
  std::vector<std::pair<std::string, std::string>> renames;  // member here → member as stored
  std::string left_out;  // what a cluster does with such an object and this server does not; sent as a warning

  const KindVersion* version(std::string_view version_name) const;
  std::string api_version(std::string_view version_name) const;  // "apps/v1"
  std::string resource_text() const;                             // "deployments.apps", "pods"
};

using KindPtr = std::shared_ptr<const Kind>;

std::vector<Kind> builtin_kinds();

// The table itself. Rows keep the order in which they came.
class KindTable {
 public:
  KindPtr find(std::string_view group, std::string_view version, std::string_view plural) const;
  KindPtr find_kind(std::string_view group, std::string_view version, std::string_view kind_name) const;
  KindPtr find_group(std::string_view group, std::string_view plural) const;
  void put(KindPtr kind);  // replaces the row of its group and plural
  void remove(std::string_view group, std::string_view plural);
  const std::vector<KindPtr>& all() const { return rows_; }
  // Counts changes, for documents made from the table.
  std::uint64_t generation() const { return generation_; }

 private:
  std::vector<KindPtr> rows_;
  std::uint64_t generation_ = 0;
};

}  // namespace tidemark::kube::memory
