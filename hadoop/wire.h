// Protocol Buffers as bytes, as far as Hadoop's messages go: numbers and length-delimited fields. A dozen messages with
// a handful of fields each are read and written by hand; the library would weigh more than everything else here.
//
// A reader skips what it does not know, so a newer server may say more. Bytes that end in mid-field, and wire types
// that Hadoop does not use (groups), are an error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark::hadoop {

class WireWriter {
 public:
  explicit WireWriter(std::string& out) : out_(out) {}

  // int32, int64, uint32, uint64, enum and bool alike; a negative number takes ten bytes.
  WireWriter& number(std::uint32_t field, std::int64_t value);
  WireWriter& zigzag(std::uint32_t field, std::int64_t value);  // sint32, sint64
  WireWriter& bytes(std::uint32_t field, std::string_view value);
  template <class Write>
  WireWriter& message(std::uint32_t field, Write&& write) {
    std::string inner;
    WireWriter writer(inner);
    write(writer);
    return bytes(field, inner);
  }

 private:
  void key(std::uint32_t field, std::uint32_t type);
  std::string& out_;
};

void append_varint(std::string& out, std::uint64_t value);
// A message with its length before it, as Hadoop strings several together in a frame.
void append_delimited(std::string& out, std::string_view message);

struct WireField {
  enum class Kind : std::uint8_t { kNumber, kBytes, kFixed };
  std::uint32_t number = 0;
  Kind kind = Kind::kNumber;
  std::uint64_t value = 0;  // of a number, and of four or eight fixed bytes
  std::string_view bytes;   // points into what is read

  // As a field of another type than expected is unknown to Protocol Buffers, these answer nothing for it.
  std::int64_t integer() const { return kind == Kind::kNumber ? static_cast<std::int64_t>(value) : 0; }
  std::int32_t integer32() const { return static_cast<std::int32_t>(integer()); }
  std::int64_t zigzag() const;
  std::string_view text() const { return kind == Kind::kBytes ? bytes : std::string_view(); }
};

class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : rest_(bytes) {}

  // The next field; nullopt at the end, and for ever once bytes were wrong.
  std::optional<WireField> next();
  // What next() ran into, to be asked after it has answered nullopt. `what` names the message.
  Result<void> finish(std::string_view what) const;

 private:
  std::optional<WireField> fail_here();
  std::string_view rest_;
  bool failed_ = false;
};

// Takes a delimited message off the front of `bytes`.
Result<std::string_view> take_delimited(std::string_view& bytes, std::string_view what);

}  // namespace tidemark::hadoop
