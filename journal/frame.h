// One record in a segment:
//
//   4 bytes   mark "TMJ\x01"
//   4 bytes   length of the payload, little-endian
//   8 bytes   checksum of length and payload (base/hash.h), little-endian
//   payload
//
// A process that dies during a write leaves a partial record at the end. A faulty disk leaves damage anywhere. The
// reader skips both up to the next whole record and counts the skipped bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tidemark::journal {

inline constexpr std::size_t kFrameHead = 16;                     // bytes before the payload
inline constexpr std::size_t kPayloadMax = std::size_t{4} << 20;  // bytes

void append_frame(std::string& out, std::string_view payload);

class FrameReader {
 public:
  explicit FrameReader(std::string_view bytes) : bytes_(bytes) {}

  // The next whole record's payload, a view of the bytes; nullopt at the end.
  std::optional<std::string_view> next();

  std::size_t passed_over() const { return passed_over_; }  // bytes that belong to no whole record
  // The bytes end in what may be the beginning of a record: its writer died, or has just not finished.
  bool torn() const { return torn_; }

 private:
  // Each try costs a checksum over the stated length, so the reader gives up a malicious file after this many.
  static constexpr std::size_t kFalseMarksMax = 1000;
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::size_t passed_over_ = 0;
  std::size_t false_marks_ = 0;
  bool torn_ = false;
};

}  // namespace tidemark::journal
