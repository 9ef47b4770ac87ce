#include "hadoop/wire.h"

namespace tidemark::hadoop {
namespace {

enum : std::uint32_t { kVarint = 0, kFixed64 = 1, kDelimited = 2, kFixed32 = 5 };

// Seven bits a byte, lowest first. False if the bytes end in the middle, or encode more than 64 bits.
bool take_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return false;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    const std::uint64_t bits = byte & 0x7fU;
    if (shift == 63 && bits > 1) return false;
    value |= bits << shift;
    if ((byte & 0x80U) == 0) return true;
  }
  return false;
}

std::uint64_t little_endian(std::string_view bytes) {
  std::uint64_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

}  // namespace

void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(0x80 | (value & 0x7f)));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void append_delimited(std::string& out, std::string_view message) {
  append_varint(out, message.size());
  out.append(message);
}

void WireWriter::key(std::uint32_t field, std::uint32_t type) {
  append_varint(out_, std::uint64_t{field} << 3 | type);
}

WireWriter& WireWriter::number(std::uint32_t field, std::int64_t value) {
  key(field, kVarint);
  append_varint(out_, static_cast<std::uint64_t>(value));
  return *this;
}

WireWriter& WireWriter::zigzag(std::uint32_t field, std::int64_t value) {
  key(field, kVarint);
  append_varint(out_, static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63));
  return *this;
}

WireWriter& WireWriter::bytes(std::uint32_t field, std::string_view value) {
  key(field, kDelimited);
  append_delimited(out_, value);
  return *this;
}

std::int64_t WireField::zigzag() const {
  if (kind != Kind::kNumber) return 0;
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

std::optional<WireField> WireReader::fail_here() {
  failed_ = true;
  rest_ = {};
  return std::nullopt;
}

std::optional<WireField> WireReader::next() {
  if (rest_.empty()) return std::nullopt;
  WireField field;
  std::uint64_t key = 0;
  if (!take_varint(rest_, key) || key >> 3 == 0 || key >> 3 > 0x1fffffff) return fail_here();
  field.number = static_cast<std::uint32_t>(key >> 3);
  const auto type = static_cast<std::uint32_t>(key & 7);
  switch (type) {
    case kVarint:
      if (!take_varint(rest_, field.value)) return fail_here();
      return field;
    case kFixed64:
    case kFixed32: {
      const std::size_t size = type == kFixed64 ? 8 : 4;
      if (rest_.size() < size) return fail_here();
      field.kind = WireField::Kind::kFixed;
      field.value = little_endian(rest_.substr(0, size));
      rest_.remove_prefix(size);
      return field;
    }
    case kDelimited: {
      std::uint64_t size = 0;
      if (!take_varint(rest_, size) || size > rest_.size()) return fail_here();
      field.kind = WireField::Kind::kBytes;
      field.bytes = rest_.substr(0, size);
      rest_.remove_prefix(size);
      return field;
    }
    default:
      return fail_here();
  }
}

Result<void> WireReader::finish(std::string_view what) const {
  if (failed_) return fail(ErrorKind::kInvalid, what, ": bytes that no field can begin or end with");
  return {};
}

Result<std::string_view> take_delimited(std::string_view& bytes, std::string_view what) {
  std::uint64_t size = 0;
  if (!take_varint(bytes, size)) return fail(ErrorKind::kInvalid, what, ": its length is missing");
  if (size > bytes.size()) {
    return fail(ErrorKind::kInvalid, what, ": says that it is ", size, " bytes long, and ", bytes.size(), " are there");
  }
  const std::string_view message = bytes.substr(0, size);
  bytes.remove_prefix(size);
  return message;
}

}  // namespace tidemark::hadoop
