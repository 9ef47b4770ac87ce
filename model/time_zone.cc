#include "model/time_zone.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <limits>
#include <optional>

#include "base/text.h"

namespace tidemark::model {
namespace {

constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::min();
constexpr std::int32_t kOffsetMax_s = 26 * 3600;
constexpr std::int64_t kZoneDay_s = 86'400;

std::unexpected<Error> broken(std::string_view what) {
  return fail(ErrorKind::kInvalid, "not a time zone file: ", what);
}

// Reads big-endian numbers from the front.
class Bytes {
 public:
  explicit Bytes(std::string_view bytes) : rest_(bytes) {}
  bool has(std::size_t count) const { return rest_.size() >= count; }
  void skip(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)); }
  std::int32_t int32() { return static_cast<std::int32_t>(take(4)); }
  std::int64_t int64() { return static_cast<std::int64_t>(take(8)); }
  std::string_view rest() const { return rest_; }

 private:
  std::uint64_t take(std::size_t count) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count && i < rest_.size(); ++i)
      value = value << 8 | static_cast<std::uint8_t>(rest_[i]);
    skip(count);
    return value;
  }
  std::string_view rest_;
};

struct Header {
  char version = 0;
  std::uint32_t utc_flags = 0;
  std::uint32_t standard_flags = 0;
  std::uint32_t leaps = 0;
  std::uint32_t times = 0;
  std::uint32_t types = 0;
  std::uint32_t characters = 0;

  std::size_t body(std::size_t time_size) const {
    return times * (time_size + 1) + types * std::size_t{6} + characters + leaps * (time_size + 4) + standard_flags +
           utc_flags;
  }
};

Result<Header> read_header(Bytes& bytes) {
  constexpr std::size_t kHeaderSize = 44;
  constexpr std::uint32_t kCountMax = 10'000;
  if (!bytes.has(kHeaderSize) || !bytes.rest().starts_with("TZif")) return broken("it does not start with TZif");
  bytes.skip(4);
  Header header;
  header.version = static_cast<char>(bytes.byte());
  bytes.skip(15);
  for (auto* count :
       {&header.utc_flags, &header.standard_flags, &header.leaps, &header.times, &header.types, &header.characters}) {
    *count = static_cast<std::uint32_t>(bytes.int32());
    if (*count > kCountMax) return broken(base::cat("a count of ", *count, " in its header"));
  }
  if (header.types == 0) return broken("it has no local time types");
  return header;
}

// ---- the POSIX rule at the end, e.g. CET-1CEST,M3.5.0,M10.5.0/3 ----

struct YearDay {    // when in the year a change happens
  char form = 'M';  // M: month, week, weekday; J: day without leap days; 0: day with them
  std::int64_t month = 0, week = 0, weekday = 0, day = 0;
  std::int64_t time_s = 2 * 3600;  // local time before the change
};

struct PosixRule {
  std::int32_t standard_s = 0;
  std::int32_t summer_s = 0;
  YearDay summer_begins, summer_ends;
  bool has_summer = false;
};

class PosixReader {
 public:
  explicit PosixReader(std::string_view text) : rest_(text) {}

  std::optional<PosixRule> read() {
    PosixRule rule;
    if (!name() || !offset(rule.standard_s)) return std::nullopt;
    if (rest_.empty()) return rule;
    rule.has_summer = true;
    rule.summer_s = rule.standard_s + 3600;
    if (!name()) return std::nullopt;
    if (!rest_.empty() && rest_.front() != ',' && !offset(rule.summer_s)) return std::nullopt;
    if (rule.summer_s > kOffsetMax_s) return std::nullopt;  // if it is not given, it follows from the other
    if (!year_day(rule.summer_begins) || !year_day(rule.summer_ends) || !rest_.empty()) return std::nullopt;
    return rule;
  }

 private:
  bool eat(char wanted) {
    if (rest_.empty() || rest_.front() != wanted) return false;
    rest_.remove_prefix(1);
    return true;
  }
  static bool letter(char c) { return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }
  static bool digit(char c) { return c >= '0' && c <= '9'; }
  bool name() {
    if (eat('<')) {
      const auto end = rest_.find('>');
      if (end == std::string_view::npos) return false;
      rest_.remove_prefix(end + 1);
      return true;
    }
    std::size_t length = 0;
    while (length < rest_.size() && letter(rest_[length])) ++length;
    rest_.remove_prefix(length);
    return length >= 3;
  }
  bool number(std::int64_t& out, std::int64_t highest) {
    if (rest_.empty() || !digit(rest_.front())) return false;
    out = 0;
    while (!rest_.empty() && digit(rest_.front()) && out <= highest) {
      out = out * 10 + (rest_.front() - '0');
      rest_.remove_prefix(1);
    }
    return out <= highest;
  }
  // [+-]hh[:mm[:ss]]
  bool hours(std::int64_t& seconds) {
    const bool negative = eat('-');
    if (!negative) eat('+');
    std::int64_t part = 0;
    if (!number(part, 167)) return false;
    seconds = part * 3600;
    for (const std::int64_t unit : {60, 1}) {
      if (!eat(':')) break;
      if (!number(part, 59)) return false;
      seconds += part * unit;
    }
    if (negative) seconds = -seconds;
    return true;
  }
  bool offset(std::int32_t& east_s) {  // POSIX counts west
    std::int64_t west = 0;
    if (!hours(west) || west > kOffsetMax_s || west < -kOffsetMax_s) return false;
    east_s = static_cast<std::int32_t>(-west);
    return true;
  }
  bool year_day(YearDay& out) {
    if (!eat(',')) return false;
    if (eat('M')) {
      if (!number(out.month, 12) || !eat('.') || !number(out.week, 5) || !eat('.') || !number(out.weekday, 6))
        return false;
      if (out.month == 0 || out.week == 0) return false;
    } else {
      out.form = eat('J') ? 'J' : '0';
      if (!number(out.day, 365)) return false;  // counted from 1 with J, from 0 without
      if (out.form == 'J' && out.day == 0) return false;
    }
    return !eat('/') || hours(out.time_s);
  }
  std::string_view rest_;
};

// Local seconds.
std::int64_t local_of(const YearDay& when, int year) {
  using namespace std::chrono;
  const auto first_of_year = sys_days(std::chrono::year(year) / January / 1).time_since_epoch().count();
  std::int64_t days = 0;
  if (when.form == 'M') {
    const auto month = std::chrono::month(static_cast<unsigned>(when.month));
    const weekday day(static_cast<unsigned>(when.weekday));
    const auto date = when.week == 5
                          ? sys_days(std::chrono::year(year) / month / day[last])
                          : sys_days(std::chrono::year(year) / month / day[static_cast<unsigned>(when.week)]);
    days = date.time_since_epoch().count();
  } else if (when.form == 'J') {
    constexpr std::int64_t kFebruary28 = 59;
    const bool leap_day_before = std::chrono::year(year).is_leap() && when.day > kFebruary28;
    days = first_of_year + when.day - 1 + (leap_day_before ? 1 : 0);
  } else {
    days = first_of_year + when.day;
  }
  return days * kZoneDay_s + when.time_s;
}

// Within the years that the calendar's arithmetic supports: a file may contain any moment.
int year_of(std::int64_t utc_s) {
  using namespace std::chrono;
  utc_s = std::clamp<std::int64_t>(utc_s, -9999 * 366 * kZoneDay_s, 9999 * 366 * kZoneDay_s);
  return static_cast<int>(year_month_day(floor<days>(sys_seconds(seconds(utc_s)))).year());
}

}  // namespace

TimeZone TimeZone::utc() {
  TimeZone zone;
  zone.name_ = "UTC";
  zone.spans_.push_back({kAlways, 0});
  return zone;
}

Result<TimeZone> TimeZone::parse(std::string_view name, std::string_view tzif) {
  if (tzif.size() > kBytesMax) return broken(base::cat("it has ", tzif.size(), " bytes"));
  Bytes bytes(tzif);
  TM_TRY(const Header first, read_header(bytes));
  if (first.version < '2') return broken("version 1 holds no 64-bit times");
  if (!bytes.has(first.body(4))) return broken("it ends early");
  bytes.skip(first.body(4));  // the same data in 32 bits
  TM_TRY(const Header header, read_header(bytes));
  if (!bytes.has(header.body(8))) return broken("it ends early");

  std::vector<std::int64_t> times(header.times);
  for (auto& time : times) time = bytes.int64();
  std::vector<std::uint8_t> types(header.times);
  for (auto& type : types) type = bytes.byte();
  std::vector<std::int32_t> offsets(header.types);
  for (auto& offset : offsets) {
    offset = bytes.int32();
    if (offset > kOffsetMax_s || offset < -kOffsetMax_s) return broken(base::cat("an offset of ", offset, " s"));
    bytes.skip(2);
  }
  bytes.skip(header.body(8) - header.times * std::size_t{9} - header.types * std::size_t{6});

  TimeZone zone;
  zone.name_ = std::string(name);
  zone.spans_.push_back({kAlways, offsets[0]});
  // Of two changes at one moment the later one wins: summer time all year ends where it starts again.
  const auto add = [&zone](const Span& span) {
    if (span.from_s < zone.spans_.back().from_s) return false;
    if (span.from_s == zone.spans_.back().from_s) zone.spans_.pop_back();
    zone.spans_.push_back(span);
    return true;
  };
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (types[i] >= offsets.size()) return broken("a change to a type that does not exist");
    if (!add({times[i], offsets[types[i]]})) return broken("its changes are out of order");
  }

  std::string_view footer = bytes.rest();
  if (footer.size() < 2 || footer.front() != '\n' || footer.back() != '\n') return broken("its rule is missing");
  footer = footer.substr(1, footer.size() - 2);
  if (footer.empty()) return zone;  // "no rule": the last offset continues
  const auto rule = PosixReader(footer).read();
  if (!rule) return broken(base::cat("its rule ", base::in_quotes(std::string(footer)), " cannot be read"));
  const std::int64_t listed = times.empty() ? kAlways : times.back();
  if (!rule->has_summer) {
    if (times.empty()) zone.spans_.front().offset_s = rule->standard_s;
    return zone;
  }
  const int from_year = times.empty() ? 1970 : year_of(listed);
  for (int year = from_year; year <= kLastYear; ++year) {
    Span begins{local_of(rule->summer_begins, year) - rule->standard_s, rule->summer_s};
    Span ends{local_of(rule->summer_ends, year) - rule->summer_s, rule->standard_s};
    if (ends.from_s < begins.from_s) std::swap(begins, ends);  // the southern hemisphere
    for (const auto& span : {begins, ends}) {
      if (span.from_s > listed && !add(span)) return broken("its rule's changes are out of order");
    }
  }
  return zone;
}

Result<TimeZone> TimeZone::from_spans(std::string_view name, std::vector<Span> spans) {
  const auto later = [](const Span& a, const Span& b) { return a.from_s >= b.from_s; };
  if (spans.empty() || spans.front().from_s != kAlways ||
      std::adjacent_find(spans.begin(), spans.end(), later) != spans.end()) {
    return fail(ErrorKind::kInvalid,
                "the first rule of a time zone must have no start, and the others must be in order");
  }
  for (const Span& span : spans) {
    if (span.offset_s > kOffsetMax_s || span.offset_s < -kOffsetMax_s) return broken("an offset of more than a day");
  }
  TimeZone zone;
  zone.name_ = name;
  zone.spans_ = std::move(spans);
  return zone;
}

std::int32_t TimeZone::offset_at(std::int64_t utc_s) const {
  const auto after = std::upper_bound(spans_.begin() + 1, spans_.end(), utc_s,
                                      [](std::int64_t time, const Span& span) { return time < span.from_s; });
  return std::prev(after)->offset_s;
}

std::int64_t TimeZone::moment(std::int64_t local_s) const {
  // The spans that may show this time are those in force within about a day of it.
  auto span = std::upper_bound(spans_.begin() + 1, spans_.end(), local_s - kOffsetMax_s,
                               [](std::int64_t time, const Span& each) { return time < each.from_s; });
  for (--span;; ++span) {
    const auto next = std::next(span);
    const std::int64_t candidate = local_s - span->offset_s;
    if (next == spans_.end() || candidate < next->from_s) {
      // Skipped: the clock had already jumped over it when this span started.
      return std::max(candidate, span->from_s);
    }
  }
}

}  // namespace tidemark::model
