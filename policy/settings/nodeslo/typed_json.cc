#include "policy/settings/nodeslo/typed_json.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/check.h"
#include "base/text.h"
#include "model/quantity.h"

namespace tidemark::policy::settings {
namespace {

using base::JsonObject;
using base::JsonReader;
using base::JsonWriter;
using Type = JsonReader::Type;

// The initial values of a struct.
void give_values(const ObjectSchema& schema, JsonObject& target) {
  for (const Field& field : schema.fields) {
    if (field.kind == FieldKind::kQuantity && !target.contains(field.name)) target.set(field.name, Json("0"));
    if (field.kind == FieldKind::kInline) {
      if (!target.contains(field.name)) target.set(field.name, Json::object());
      give_values(*field.object, target[field.name].as_object());
    }
  }
}

// As Go: the exact name first, otherwise in any case.
const Field* named(std::span<const Field> fields, std::string_view key) {
  const auto exact = std::ranges::find(fields, key, &Field::name);
  if (exact != fields.end()) return &*exact;
  const std::string folded = base::lower(key);
  const auto found =
      std::ranges::find_if(fields, [&](const Field& field) { return base::lower(field.name) == folded; });
  return found == fields.end() ? nullptr : &*found;
}

class TypedReader {
 public:
  explicit TypedReader(std::string_view text) : reader_(text) {}

  Result<void> read(const ObjectSchema& schema, JsonObject& target) {
    object(schema, target);
    if (auto done = reader_.finish(); !done) {
      return fail(place_.empty() ? std::move(done).error() : std::move(done).error().within(place_));
    }
    return {};
  }

 private:
  void object(const ObjectSchema& schema, JsonObject& target) {
    give_values(schema, target);
    reader_.object([&](std::string_view key) {
      const Field* field = named(schema.fields, key);
      if (field == nullptr && schema.embedded != nullptr) {
        field = named(schema.embedded->fields, key);
        if (field != nullptr) give_values(*schema.embedded, target);
      }
      if (field == nullptr) {
        reader_.skip();
        return;
      }
      within(field->name, [&] { member(*field, target); });
    });
  }

  void member(const Field& field, JsonObject& target) {
    if (reader_.peek() == Type::kNull) {
      reader_.skip();
      const bool by_value =
          field.kind == FieldKind::kText || field.kind == FieldKind::kInline || field.kind == FieldKind::kQuantity;
      if (!by_value) target.erase(field.name);
      return;
    }
    switch (field.kind) {
      case FieldKind::kObject:
      case FieldKind::kInline: {
        Json& slot = target[field.name];
        if (slot.is_null()) slot = Json::object();
        object(*field.object, slot.as_object());
        return;
      }
      case FieldKind::kObjects:
      case FieldKind::kObjectPointers: {
        Json& slot = target[field.name];
        if (slot.is_null()) slot = Json::array();
        list(field, slot.as_array());
        return;
      }
      case FieldKind::kSwitches: {
        Json& slot = target[field.name];
        if (slot.is_null()) slot = Json::object();
        switches(slot.as_object());
        return;
      }
      case FieldKind::kRaw: {
        Json value;
        reader_.value(value);
        target.set(field.name, std::move(value));
        return;
      }
      default:
        target.set(field.name, leaf(field.kind));
    }
  }

  void list(const Field& field, Json::Array& elements) {
    std::size_t count = 0;
    reader_.array([&] {
      if (count == elements.size()) {
        elements.push_back(Json::object());
        give_values(*field.object, elements.back().as_object());
      }
      Json& element = elements[count];
      if (reader_.peek() == Type::kNull) {
        reader_.skip();
        if (field.kind == FieldKind::kObjectPointers) element = Json(nullptr);
      } else {
        if (element.is_null()) element = Json::object();
        within(base::cat("[", count, "]"), [&] { object(*field.object, element.as_object()); });
      }
      ++count;
    });
    elements.resize(count);
  }

  void switches(JsonObject& target) {
    reader_.object([&](std::string_view key) {
      const std::string name(key);
      bool on = false;
      within(name, [&] { reader_.boolean(on); });
      target.set(name, Json(on));
    });
  }

  Json leaf(FieldKind kind) {
    switch (kind) {
      case FieldKind::kBool: {
        bool value = false;
        reader_.boolean(value);
        return value;
      }
      case FieldKind::kInt64:
        return integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
      case FieldKind::kInt32:
        return integer(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
      case FieldKind::kIntOrString:
        if (reader_.peek() != Type::kString) {
          return integer(std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max());
        }
        return text();
      case FieldKind::kQuantity: {
        std::string_view raw;
        if (!reader_.raw(raw)) return nullptr;
        const auto quantity = model::Quantity::from_json_text(raw);
        if (quantity) return quantity->to_string();
        reader_.fail_here("expected a quantity such as \"10M\"");
        return nullptr;
      }
      default:
        return text();
    }
  }

  Json integer(std::int64_t lowest, std::int64_t highest) {
    std::int64_t value = 0;
    if (reader_.integer(value) && (value < lowest || value > highest)) {
      reader_.fail_here("the integer does not fit into 32 bits");
    }
    return value;
  }

  Json text() {
    std::string value;
    reader_.string(value);
    return value;
  }

  // The place is that of the first failure; outer callbacks keep it.
  template <class Read>
  void within(std::string_view step, const Read& read) {
    const std::size_t before = path_.size();
    if (!path_.empty() && !step.starts_with('[')) path_ += '.';
    path_ += step;
    read();
    if (!reader_.ok() && place_.empty()) place_ = path_;
    path_.resize(before);
  }

  JsonReader reader_;
  std::string path_;
  std::string place_;
};

bool given(const Field& field, const Json& value) {
  switch (field.kind) {
    case FieldKind::kText:
      return !value.as_string().empty();
    case FieldKind::kObjects:
    case FieldKind::kObjectPointers:
      return !value.as_array().empty();
    case FieldKind::kSwitches:
      return !value.as_object().empty();
    default:
      return true;
  }
}

// Go writes the members of a map by name.
std::vector<const JsonObject::Member*> sorted(const JsonObject& object) {
  std::vector<const JsonObject::Member*> members;
  for (const auto& member : object) members.push_back(&member);
  std::ranges::sort(members, {}, [](const auto* member) -> const std::string& { return member->first; });
  return members;
}

void write_object(JsonWriter& out, const ObjectSchema& schema, const JsonObject& value);

void write_list(JsonWriter& out, const ObjectSchema& element, const Json::Array& list) {
  out.begin_array();
  for (const Json& each : list) {
    if (each.is_null()) {
      out.null();
    } else {
      write_object(out, element, each.as_object());
    }
  }
  out.end_array();
}

void write_value(JsonWriter& out, const Field& field, const Json& value) {
  switch (field.kind) {
    case FieldKind::kObject:
    case FieldKind::kInline:
      return write_object(out, *field.object, value.as_object());
    case FieldKind::kObjects:
    case FieldKind::kObjectPointers:
      return write_list(out, *field.object, value.as_array());
    case FieldKind::kSwitches:
      out.begin_object();
      for (const auto* member : sorted(value.as_object())) out.member(member->first, member->second.as_bool());
      out.end_object();
      return;
    default:
      out.raw(value.dump());
  }
}

// Each field that is written, in the order of the table.
template <class Visit>
void for_each_given(const ObjectSchema& schema, const JsonObject& value, const Visit& visit) {
  for (const Field& field : schema.fields) {
    const Json* found = value.find(field.name);
    if (found != nullptr && given(field, *found)) visit(field, *found);
  }
  if (schema.embedded != nullptr) for_each_given(*schema.embedded, value, visit);
}

void write_object(JsonWriter& out, const ObjectSchema& schema, const JsonObject& value) {
  out.begin_object();
  for_each_given(schema, value, [&](const Field& field, const Json& found) {
    out.key(field.name);
    write_value(out, field, found);
  });
  out.end_object();
}

void add_leaves(const ObjectSchema& schema, const JsonObject& value, const std::string& path, std::vector<Leaf>& out) {
  for_each_given(schema, value, [&](const Field& field, const Json& found) {
    const std::string here = path.empty() ? std::string(field.name) : base::cat(path, ".", field.name);
    const std::size_t before = out.size();
    switch (field.kind) {
      case FieldKind::kObject:
      case FieldKind::kInline:
        add_leaves(*field.object, found.as_object(), here, out);
        break;
      case FieldKind::kObjects:
      case FieldKind::kObjectPointers:
        for (std::size_t i = 0; i < found.as_array().size(); ++i) {
          const Json& element = found.as_array()[i];
          const std::string place = base::cat(here, "[", i, "]");
          const std::size_t before_element = out.size();
          if (element.is_object()) add_leaves(*field.object, element.as_object(), place, out);
          if (out.size() == before_element) out.push_back({place, element.is_null() ? "null" : "{}"});
        }
        break;
      case FieldKind::kSwitches:
        for (const auto* member : sorted(found.as_object())) {
          out.push_back({base::cat(here, ".", member->first), member->second.dump()});
        }
        break;
      default:
        out.push_back({here, found.dump()});
    }
    if (out.size() == before && field.kind != FieldKind::kInline) out.push_back({here, "{}"});
  });
}

}  // namespace

Result<void> read_typed(std::string_view text, const ObjectSchema& schema, JsonObject& target) {
  return TypedReader(text).read(schema, target);
}

std::string write_typed(const ObjectSchema& schema, const JsonObject& value) {
  std::string text;
  JsonWriter out(text);
  write_object(out, schema, value);
  return text;
}

std::string write_typed_list(const ObjectSchema& element, const Json::Array& list) {
  std::string text;
  JsonWriter out(text);
  write_list(out, element, list);
  return text;
}

JsonObject merge_typed(const ObjectSchema& schema, JsonObject old_value, const JsonObject& new_value) {
  const auto read = read_typed(write_typed(schema, new_value), schema, old_value);
  TM_CHECK(read.has_value(), "what was written by a table is read by it");
  return old_value;
}

std::vector<Leaf> leaves_of(const ObjectSchema& schema, const JsonObject& value) {
  std::vector<Leaf> leaves;
  add_leaves(schema, value, "", leaves);
  return leaves;
}

}  // namespace tidemark::policy::settings
