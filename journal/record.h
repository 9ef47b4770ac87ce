// The first byte of a payload is its kind. Kinds below kFirstOfOwner are the journal's own; the rest mean what their
// owner says.
//
//   start   first of every segment: the writer, its start time and its versions
//   blob    bytes that many records rest on (settings, labels), once a segment, under their hash
//   lost    so many records could not be kept between two others
//
// Numbers are little-endian base-128 varints, signed ones zigzag; texts have their length before them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"

namespace tidemark::journal {

inline constexpr char kStart = 1;
inline constexpr char kBlob = 2;
inline constexpr char kLost = 3;
inline constexpr char kFirstOfOwner = 16;

// A flat form of numbers and texts, read in the order in which it was written.
class Packer {
 public:
  static constexpr bool kReads = false;
  explicit Packer(std::string& out) : out_(out) {}
  void number(std::int64_t value);
  void natural(std::uint64_t value);
  void text(std::string_view value);
  void byte(char value) { out_ += value; }

 private:
  std::string& out_;
};

// After the first thing that cannot be read everything is 0 and empty, and ok() is false.
class Unpacker {
 public:
  static constexpr bool kReads = true;
  explicit Unpacker(std::string_view bytes) : rest_(bytes) {}
  std::int64_t number();
  std::uint64_t natural();
  std::string_view text();
  char byte();
  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && rest_.empty(); }
  std::size_t left() const { return rest_.size(); }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

struct Start {
  std::int64_t schema = 0;   // of the owner's records
  std::int64_t version = 0;  // of what made them: the policy's
  std::string program;       // "tidemark 0.1.0"
  std::string identity;      // of the process
  base::WallTime opened;     // when this segment was begun
  std::string owner;         // bytes that the owner needs to read its records
  bool operator==(const Start&) const = default;
};
std::string encode(const Start& start);
std::optional<Start> decode_start(std::string_view payload);

// 64 bits are enough: a segment has some thousands of them.
struct Blob {
  std::uint64_t hash = 0;
  std::string bytes;
};
std::shared_ptr<const Blob> make_blob(std::string bytes);
std::string encode(const Blob& blob);
std::optional<Blob> decode_blob(std::string_view payload);

struct Lost {
  std::uint64_t records = 0;
  bool operator==(const Lost&) const = default;
};
std::string encode(const Lost& lost);
std::optional<Lost> decode_lost(std::string_view payload);

}  // namespace tidemark::journal
