// The rules of a time zone as a value, parsed from the bytes of a TZif file (RFC 8536, /usr/share/zoneinfo) that the
// caller reads.
//
// Local time is counted in seconds since 1970-01-01T00:00:00 in that zone, as if local time were UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::model {

class TimeZone {
 public:
  static TimeZone utc();
  // After the last change in the file, its rule (the POSIX text at the end) applies up to kLastYear.
  static Result<TimeZone> parse(std::string_view name, std::string_view tzif);

  std::string_view name() const { return name_; }
  std::int32_t offset_at(std::int64_t utc_s) const;  // seconds east of Greenwich
  std::int64_t local(std::int64_t utc_s) const { return utc_s + offset_at(utc_s); }

  // The moment at which local time is `local_s`. If it occurs twice (autumn) the first; if it is skipped (spring) the
  // moment of the jump.
  std::int64_t moment(std::int64_t local_s) const;

  static constexpr int kLastYear = 2100;
  static constexpr std::size_t kBytesMax = 64 * 1024;

  // The computed rules, so that a decision can be repeated elsewhere.
  struct Span {
    std::int64_t from_s = 0;  // UTC; valid until the next one's
    std::int32_t offset_s = 0;
    bool operator==(const Span&) const = default;
  };
  const std::vector<Span>& spans() const { return spans_; }
  static Result<TimeZone> from_spans(std::string_view name, std::vector<Span> spans);

 private:
  std::string name_;
  std::vector<Span> spans_;  // never empty; the first one has no start
};

}  // namespace tidemark::model
