// The rules of a time zone as a value: read from the bytes of a TZif file (RFC 8536, /usr/share/zoneinfo) by whoever
// may open files, and passed in.
//
// Local time is counted in seconds since 1970-01-01T00:00:00 on the clock on the wall, as if that were UTC.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace tidemark::policy {

class TimeZone {
 public:
  static TimeZone utc();
  // Beyond the last change that the file lists, its rule (the POSIX text at the end) is followed up to kLastYear.
  static Result<TimeZone> parse(std::string_view name, std::string_view tzif);

  std::string_view name() const { return name_; }
  std::int32_t offset_at(std::int64_t utc_s) const;  // seconds east of Greenwich
  std::int64_t local(std::int64_t utc_s) const { return utc_s + offset_at(utc_s); }

  // The moment at which the clock on the wall shows `local_s`. Where it shows it twice (autumn) the first; where it
  // never does (spring) the moment of the jump.
  std::int64_t moment(std::int64_t local_s) const;

  static constexpr int kLastYear = 2100;
  static constexpr std::size_t kBytesMax = 64 * 1024;

  // The rules as they were worked out, so that what was decided by them can be decided again elsewhere.
  struct Span {
    std::int64_t from_s = 0;  // UTC; valid until the next one's
    std::int32_t offset_s = 0;
    bool operator==(const Span&) const = default;
  };
  const std::vector<Span>& spans() const { return spans_; }
  static Result<TimeZone> from_spans(std::string_view name, std::vector<Span> spans);

 private:
  std::string name_;
  std::vector<Span> spans_;  // never empty; the first one reaches back for ever
};

}  // namespace tidemark::policy
