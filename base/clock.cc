#include "base/clock.h"

#include <cstdint>
#include <ctime>
#include <limits>

#include "base/check.h"

namespace tidemark::base {
namespace {

constexpr std::int64_t kNanosPerSecond = 1'000'000'000;

Duration read_clock(clockid_t id) {
  timespec now{};
  TM_CHECK(clock_gettime(id, &now) == 0, "these clocks exist on every Linux we start on");
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

void append_padded(std::string& out, std::int64_t number, int width) {
  const std::string digits = std::to_string(number);
  for (int i = static_cast<int>(digits.size()); i < width; ++i) out.push_back('0');
  out.append(digits);
}

std::string format_with_fraction(WallTime time, bool micro) {
  using namespace std::chrono;
  const auto seconds_part = floor<seconds>(time.since_epoch);  // floor: before 1970 the fraction still counts upward
  const auto days_part = floor<days>(seconds_part);
  const year_month_day date{sys_days(days_part)};
  const std::int64_t second_of_day = (seconds_part - days_part).count();
  std::string out;
  append_padded(out, int{date.year()}, 4);
  out.push_back('-');
  append_padded(out, unsigned{date.month()}, 2);
  out.push_back('-');
  append_padded(out, unsigned{date.day()}, 2);
  out.push_back('T');
  append_padded(out, second_of_day / 3600, 2);
  out.push_back(':');
  append_padded(out, second_of_day / 60 % 60, 2);
  out.push_back(':');
  append_padded(out, second_of_day % 60, 2);
  if (micro) {
    out.push_back('.');
    append_padded(out, (time.since_epoch - seconds_part).count() / 1000, 6);
  }
  out.push_back('Z');
  return out;
}

// Eats from the front of `text`.
bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

bool take_digits(std::string_view& text, int count, int max, int& out) {
  out = 0;
  for (int i = 0; i < count; ++i) {
    if (text.empty() || !is_digit(text.front())) return false;
    out = out * 10 + (text.front() - '0');
    text.remove_prefix(1);
  }
  return out <= max;
}

// A fraction without its point, in nanoseconds; what is finer is cut off, as in Go.
bool take_fraction(std::string_view& text, std::int64_t& nanos) {
  if (text.empty() || !is_digit(text.front())) return false;
  nanos = 0;
  for (std::int64_t unit = kNanosPerSecond / 10; !text.empty() && is_digit(text.front()); unit /= 10) {
    nanos += (text.front() - '0') * unit;
    text.remove_prefix(1);
  }
  return true;
}

struct DurationUnit {
  std::string_view name;
  std::uint64_t nanos;
};

constexpr DurationUnit kDurationUnits[] = {
    {"ns", 1},          {"us", 1'000},        {"\u00B5s", 1'000},  // micro sign
    {"\u03BCs", 1'000},                                            // Greek letter mu
    {"ms", 1'000'000},  {"s", 1'000'000'000}, {"m", 60'000'000'000}, {"h", 3'600'000'000'000},
};

std::uint64_t nanos_of_unit(std::string_view name) {  // 0 where there is no such unit
  for (const DurationUnit& unit : kDurationUnits) {
    if (unit.name == name) return unit.nanos;
  }
  return 0;
}

// "1.5" + unit below a second: the fraction without its trailing zeros.
void append_fraction(std::string& out, std::uint64_t value, std::uint64_t unit) {
  out.append(std::to_string(value / unit));
  std::uint64_t rest = value % unit;
  if (rest == 0) return;
  out.push_back('.');
  for (unit /= 10; rest != 0; unit /= 10) {
    out.push_back(static_cast<char>('0' + rest / unit));
    rest %= unit;
  }
}

}  // namespace

MonotonicTime SystemClock::monotonic() const {
  return {read_clock(CLOCK_MONOTONIC)};
}

BootTime SystemClock::boot() const {
  return {read_clock(CLOCK_BOOTTIME)};
}

WallTime SystemClock::wall() const {
  return {read_clock(CLOCK_REALTIME)};
}

std::string format_rfc3339(WallTime time) {
  return format_with_fraction(time, false);
}

std::string format_rfc3339_micro(WallTime time) {
  return format_with_fraction(time, true);
}

std::optional<WallTime> parse_rfc3339(std::string_view text) {
  using namespace std::chrono;
  int year_number = 0, month_number = 0, day_number = 0, hour = 0, minute = 0, second = 0;
  const bool well_formed =
      take_digits(text, 4, 9999, year_number) && take(text, '-') && take_digits(text, 2, 12, month_number) &&
      take(text, '-') && take_digits(text, 2, 31, day_number) && take(text, 'T') && take_digits(text, 2, 23, hour) &&
      take(text, ':') && take_digits(text, 2, 59, minute) && take(text, ':') && take_digits(text, 2, 59, second);
  if (!well_formed) return std::nullopt;
  std::int64_t nanos = 0;
  if (take(text, '.') && !take_fraction(text, nanos)) return std::nullopt;

  std::int64_t offset_seconds = 0;
  if (!take(text, 'Z')) {
    const bool west = text.starts_with('-');
    int offset_hours = 0, offset_minutes = 0;
    if (!take(text, west ? '-' : '+') || !take_digits(text, 2, 23, offset_hours) || !take(text, ':') ||
        !take_digits(text, 2, 59, offset_minutes)) {
      return std::nullopt;
    }
    const std::int64_t offset_total_minutes = std::int64_t{offset_hours} * 60 + offset_minutes;
    offset_seconds = offset_total_minutes * (west ? -60 : 60);
  }
  if (!text.empty()) return std::nullopt;

  const year_month_day date{year(year_number), month(static_cast<unsigned>(month_number)),
                            day(static_cast<unsigned>(day_number))};
  if (!date.ok()) return std::nullopt;
  const std::int64_t epoch_seconds = sys_days(date).time_since_epoch().count() * std::int64_t{86'400} +
                                     std::int64_t{hour} * 3600 + std::int64_t{minute} * 60 + second - offset_seconds;
  // 64 bits of nanoseconds reach from 1677 to 2262; Go's zero time (year 1) lies outside and counts as no time.
  constexpr std::int64_t kSecondsMax = std::numeric_limits<std::int64_t>::max() / kNanosPerSecond - 1;
  if (epoch_seconds < -kSecondsMax || epoch_seconds > kSecondsMax) return std::nullopt;
  return WallTime{nanoseconds(epoch_seconds * kNanosPerSecond + nanos)};
}

std::string format_go_duration(Duration duration) {
  const std::int64_t count = duration.count();
  if (count == 0) return "0s";
  std::string out;
  if (count < 0) out.push_back('-');
  // Unsigned, because the most negative duration has no positive twin.
  const std::uint64_t nanos = count < 0 ? 0 - static_cast<std::uint64_t>(count) : static_cast<std::uint64_t>(count);
  if (nanos < 1'000) {
    append_fraction(out, nanos, 1);
    return out.append("ns");
  }
  if (nanos < 1'000'000) {
    append_fraction(out, nanos, 1'000);
    return out.append("\u00B5s");
  }
  if (nanos < kNanosPerSecond) {
    append_fraction(out, nanos, 1'000'000);
    return out.append("ms");
  }
  constexpr std::uint64_t kMinute = 60 * static_cast<std::uint64_t>(kNanosPerSecond);
  const std::uint64_t minutes = nanos / kMinute;
  if (minutes >= 60) out.append(std::to_string(minutes / 60)).push_back('h');
  if (minutes > 0) out.append(std::to_string(minutes % 60)).push_back('m');
  append_fraction(out, nanos % kMinute, kNanosPerSecond);
  return out.append("s");
}

std::optional<Duration> parse_go_duration(std::string_view text) {
  constexpr std::uint64_t kMagnitudeMax = std::uint64_t{1} << 63;  // reached by the most negative duration only
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration(0);
  if (text.empty()) return std::nullopt;

  std::uint64_t total = 0;
  while (!text.empty()) {
    std::uint64_t whole = 0;
    bool any_digit = false;
    for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
      any_digit = true;
      if (whole > kMagnitudeMax / 10) return std::nullopt;
      whole = whole * 10 + static_cast<std::uint64_t>(text.front() - '0');
      if (whole > kMagnitudeMax) return std::nullopt;
    }
    std::uint64_t fraction = 0;
    double scale = 1;
    if (take(text, '.')) {
      bool precise = true;  // digits that 63 bits cannot hold are read and dropped, as in Go
      for (; !text.empty() && is_digit(text.front()); text.remove_prefix(1)) {
        any_digit = true;
        const std::uint64_t next = fraction * 10 + static_cast<std::uint64_t>(text.front() - '0');
        precise = precise && fraction <= (kMagnitudeMax - 1) / 10 && next <= kMagnitudeMax;
        if (!precise) continue;
        fraction = next;
        scale *= 10;
      }
    }
    if (!any_digit) return std::nullopt;

    std::size_t name_size = 0;
    while (name_size < text.size() && text[name_size] != '.' && !is_digit(text[name_size])) ++name_size;
    const std::uint64_t unit = nanos_of_unit(text.substr(0, name_size));
    if (unit == 0) return std::nullopt;
    text.remove_prefix(name_size);

    if (whole > kMagnitudeMax / unit) return std::nullopt;
    std::uint64_t part = whole * unit;
    part += static_cast<std::uint64_t>(static_cast<double>(fraction) * (static_cast<double>(unit) / scale));
    if (part > kMagnitudeMax) return std::nullopt;
    total += part;
    if (total > kMagnitudeMax) return std::nullopt;
  }
  if (negative) return Duration(static_cast<std::int64_t>(0 - total));
  if (total == kMagnitudeMax) return std::nullopt;
  return Duration(static_cast<std::int64_t>(total));
}

}  // namespace tidemark::base
