#include "kube/memory/protobuf.h"

#include <bit>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/text.h"
#include "kube/builtin_types.h"

namespace tidemark::kube::memory {

using base::cat;

namespace {

constexpr std::string_view kMagic{"k8s\0", 4};
constexpr int kDepthMax = 64;

struct ProtoField {
  std::string_view name;
  std::string_view inlined;  // the message whose fields lie in the object around it
  bool pointer = false;
};
using ProtoMessage = std::unordered_map<std::uint64_t, ProtoField>;

const std::unordered_map<std::string_view, ProtoMessage>& messages() {
  static const std::unordered_map<std::string_view, ProtoMessage> table = [] {
    std::unordered_map<std::string_view, ProtoMessage> out;
    for (const char* const* line = kProtobufLines; *line != nullptr; ++line) {
      const auto words = base::split(*line, ' ');
      ProtoMessage& message = out[words.front()];
      for (std::size_t i = 1; i < words.size(); ++i) {
        const std::size_t colon = words[i].find(':');
        ProtoField field;
        field.name = words[i].substr(colon + 1);
        if (field.name.starts_with('~')) field.inlined = std::exchange(field.name, {}).substr(1);
        if (field.name.ends_with('*')) {
          field.pointer = true;
          field.name.remove_suffix(1);
        }
        message[base::parse_uint(words[i].substr(0, colon)).value_or(0)] = field;
      }
    }
    return out;
  }();
  return table;
}

// The fields of one message, one after the other.
class Wire {
 public:
  explicit Wire(std::string_view bytes) : bytes_(bytes) {}

  std::uint64_t number = 0;
  std::uint64_t value = 0;  // of a varint or a fixed width
  std::string_view text;    // of a length-delimited field
  bool delimited = false;

  // False at the end and after damage.
  bool next() {
    std::uint64_t key = 0;
    if (bytes_.empty() || !varint(key)) return false;
    number = key >> 3;
    delimited = false;
    switch (key & 7) {
      case 0:
        return varint(value);
      case 1:
        return fixed(8);
      case 5:
        return fixed(4);
      case 2: {
        std::uint64_t length = 0;
        if (!varint(length)) return false;
        if (length > bytes_.size()) return damage();
        text = bytes_.substr(0, length);
        bytes_.remove_prefix(length);
        delimited = true;
        return true;
      }
      default:
        return damage();
    }
  }
  bool damaged() const { return damaged_; }

 private:
  bool damage() {
    damaged_ = true;
    return false;
  }
  bool varint(std::uint64_t& out) {
    out = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) return damage();
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      out |= std::uint64_t{byte & 0x7fU} << shift;
      if ((byte & 0x80) == 0) return true;
    }
    return damage();
  }
  bool fixed(std::size_t width) {
    if (bytes_.size() < width) return damage();
    value = 0;
    for (std::size_t i = 0; i < width; ++i) value |= std::uint64_t{static_cast<unsigned char>(bytes_[i])} << (8 * i);
    bytes_.remove_prefix(width);
    return true;
  }

  std::string_view bytes_;
  bool damaged_ = false;
};

class Reader {
 public:
  std::optional<ApiError> error;

  void message(std::string_view bytes, std::string_view name, const BuiltinType& type, Json& out, int depth) {
    const auto at = messages().find(name);
    if (depth > kDepthMax) return damaged("it is nested too deeply");
    if (at == messages().end()) return unsupported(name);
    Wire wire(bytes);
    while (!error && wire.next()) {
      const auto known = at->second.find(wire.number);
      if (known == at->second.end()) continue;  // a field of a newer or older version
      const ProtoField& field = known->second;
      if (!field.inlined.empty()) {
        if (!wire.delimited) return damaged(name);
        message(wire.text, field.inlined, type, out, depth + 1);
        continue;
      }
      const BuiltinField* typed = type.find(field.name);
      if (typed != nullptr) member(wire, field, typed->type, out, depth);
    }
    if (wire.damaged()) damaged(name);
  }

 private:
  void damaged(std::string_view where) {
    if (!error) error = bad_request(cat("the protobuf body of the request is damaged (", where, ")"));
  }
  void unsupported(std::string_view what) {
    if (!error)
      error = plain_error(415, "UnsupportedMediaType",
                          cat("application/vnd.kubernetes.protobuf is not supported for ", what,
                              " by this API server: send application/json"));
  }

  void member(const Wire& wire, const ProtoField& field, const FieldType& type, Json& out, int depth) {
    if (type.shape.empty()) {
      Json single = value(wire, type, depth);
      // Go writes every field that is not a pointer; what it would leave out of JSON is left out here.
      const bool zero = single.is_null() || (!field.pointer && is_zero(single));
      if (!zero) out[field.name] = std::move(single);
      return;
    }
    if (!wire.delimited && type.shape.front() == '{') return damaged(field.name);
    Json& held = out[field.name];
    if (type.shape.front() == '[') {
      if (!held.is_array()) held = Json::array();
      held.as_array().push_back(value(wire, type.element(), depth));
      return;
    }
    if (!held.is_object()) held = Json::object();
    Wire entry(wire.text);
    std::string key;
    Json content;
    while (entry.next()) {
      if (entry.number == 1)
        key = entry.text;
      else if (entry.number == 2)
        content = value(entry, type.element(), depth);
    }
    if (entry.damaged()) return damaged(field.name);
    if (content.is_null() && type.element().code == 's') content = "";
    held[key] = std::move(content);
  }

  static bool is_zero(const Json& json) {
    if (json.is_string()) return json.as_string().empty();
    if (json.is_bool()) return !json.as_bool();
    if (json.is_number()) return json.as_double() == 0;
    return json.is_object() && json.as_object().empty();
  }

  Json value(const Wire& wire, const FieldType& type, int depth) {
    if (!type.shape.empty()) {  // a list inside a map: a message with the list as its first field
      Json list = Json::array();
      Wire inner(wire.text);
      while (inner.next()) list.as_array().push_back(value(inner, type.element(), depth));
      return list;
    }
    switch (type.code) {
      case 'i':
        return static_cast<std::int64_t>(static_cast<std::int32_t>(wire.value));
      case 'l':
        return static_cast<std::int64_t>(wire.value);
      case 'b':
        return wire.value != 0;
      case 'f':
        return std::bit_cast<double>(wire.value);
      default:
        break;
    }
    if (!wire.delimited) {
      damaged(cat("field ", wire.number));
      return {};
    }
    switch (type.code) {
      case 's':
        return wire.text;
      case 'y':
        return base::base64_encode(wire.text);
      case 'q': {
        Wire inner(wire.text);
        return inner.next() && inner.delimited ? Json(inner.text) : Json("0");
      }
      case 't':
      case 'u':
        return time(wire.text, type.code);
      case 'x':
        return int_or_string(wire.text);
      case '@': {
        Json object = Json::object();
        message(wire.text, type.type->name, *type.type, object, depth + 1);
        return object;
      }
      default:
        unsupported("fields of free form");
        return {};
    }
  }

  static Json time(std::string_view bytes, char code) {
    if (bytes.empty()) return {};  // Go's zero time
    std::int64_t seconds = 0;
    std::int64_t nanos = 0;
    Wire inner(bytes);
    while (inner.next()) (inner.number == 1 ? seconds : nanos) = static_cast<std::int64_t>(inner.value);
    constexpr std::int64_t kSecondsMax = 9'000'000'000;  // what nanoseconds in 64 bits can hold
    if (seconds > kSecondsMax || seconds < -kSecondsMax) return {};
    const base::WallTime then{std::chrono::seconds(seconds) + std::chrono::nanoseconds(nanos % 1'000'000'000)};
    return code == 't' ? base::format_rfc3339(then) : base::format_rfc3339_micro(then);
  }

  static Json int_or_string(std::string_view bytes) {
    std::uint64_t kind = 0;
    std::int64_t number = 0;
    std::string_view text;
    Wire inner(bytes);
    while (inner.next()) {
      if (inner.number == 1)
        kind = inner.value;
      else if (inner.number == 2)
        number = static_cast<std::int32_t>(inner.value);
      else if (inner.number == 3)
        text = inner.text;
    }
    return kind == 0 ? Json(number) : Json(text);
  }
};

}  // namespace

Answer<Json> parse_protobuf(std::string_view body) {
  if (!body.starts_with(kMagic))
    return refuse(bad_request("the body of the request is not in Kubernetes' protobuf encoding"));
  std::string api_version;
  std::string kind;
  std::string_view raw;
  Wire envelope(body.substr(kMagic.size()));
  while (envelope.next()) {
    if (envelope.number == 1 && envelope.delimited) {
      Wire head(envelope.text);
      while (head.next()) {
        if (head.number == 1 && head.delimited)
          api_version = head.text;
        else if (head.number == 2 && head.delimited)
          kind = head.text;
      }
    } else if (envelope.number == 2 && envelope.delimited) {
      raw = envelope.text;
    }
  }
  if (envelope.damaged()) return refuse(bad_request("the protobuf body of the request is damaged"));
  const std::string name = api_version.starts_with("events.k8s.io/") ? cat("events_", kind) : kind;
  const BuiltinType* type = builtin_types().find(name);
  Reader reader;
  Json tree = Json::object({{"kind", kind}, {"apiVersion", api_version}});
  if (type == nullptr)
    return refuse(plain_error(415, "UnsupportedMediaType",
                              cat("application/vnd.kubernetes.protobuf is not supported for ", kind,
                                  " by this API server: send application/json")));
  reader.message(raw, name, *type, tree, 0);
  if (reader.error) return refuse(std::move(*reader.error));
  return tree;
}

}  // namespace tidemark::kube::memory
