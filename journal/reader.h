// Walks the segments of a folder. The process that writes them may go on meanwhile: a record that is not whole yet
// counts as torn off, a segment that is deleted meanwhile is left out.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/record.h"

namespace tidemark::journal {

struct Damage {
  std::size_t torn_bytes = 0;     // at the ends of segments: a process died in the middle of a write
  std::size_t damaged_bytes = 0;  // elsewhere
  std::size_t unreadable = 0;     // whole records that make no sense to this program
  std::uint64_t lost = 0;         // records that the writer could not keep, as it says itself

  Damage& operator+=(const Damage& other);
  bool none() const { return torn_bytes == 0 && damaged_bytes == 0 && unreadable == 0 && lost == 0; }
};
std::string describe(const Damage& damage);  // "" without damage

// One segment, or the beginning of one.
class Segment {
 public:
  static Segment parse(std::string bytes);  // total

  // nullopt: the segment has no readable start record, so its records have no meaning.
  const std::optional<Start>& start() const { return start_; }
  // The owner's records, in their order.
  const std::vector<std::string_view>& records() const { return records_; }
  std::optional<std::string_view> blob(std::uint64_t hash) const;
  const Damage& damage() const { return damage_; }

 private:
  std::unique_ptr<const std::string> bytes_;  // where the views point; stays in place when this moves
  std::optional<Start> start_;
  std::vector<std::string_view> records_;
  std::map<std::uint64_t, std::string_view> blobs_;
  Damage damage_;
};

class Reader {
 public:
  // kNotFound where there is no such folder.
  static Result<Reader> open(const std::string& directory);

  std::size_t segments() const { return paths_.size(); }
  // By place, the oldest is 0. nullopt where it is gone by now.
  Result<std::optional<Segment>> read(std::size_t place) const;

 private:
  std::vector<std::string> paths_;
};

}  // namespace tidemark::journal
