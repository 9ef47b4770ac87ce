// Recurring moments: five fields as in cron(8), in the local time of a time zone.
//
//   minute hour day-of-month month day-of-week       "30 22 * * mon-fri"    "0 0 1,15 * *"    "0 */6 * 1-3 *"
//
// If both day fields are given, a day that matches either counts. A time that the clock skips happens at the jump; a
// time that occurs twice happens the first time. So a daily time happens once a day, every day.
#pragma once

#include <bitset>
#include <optional>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/time_zone.h"

namespace tidemark::policy::waterline {

class Cron {
 public:
  static Result<Cron> parse(std::string_view text);

  // The next moment after `utc_s`; nullopt if there is none within kSearchDays ("0 0 30 2 *").
  std::optional<std::int64_t> next(const model::TimeZone& zone, std::int64_t utc_s) const;
  // The last moment up to `utc_s`; nullopt if there was none within kSearchDays.
  std::optional<std::int64_t> latest(const model::TimeZone& zone, std::int64_t utc_s) const;
  // All in [from, to), in order.
  std::vector<std::int64_t> between(const model::TimeZone& zone, std::int64_t from_s, std::int64_t to_s) const;

  std::size_t times_a_day() const { return minutes_.count() * hours_.count(); }
  bool operator==(const Cron&) const = default;

  static constexpr std::int64_t kSearchDays = 9 * 366;  // 29 February, across a year without one

 private:
  bool on_day(std::int64_t day) const;  // days since 1970-01-01
  template <class Visit>
  void visit(const model::TimeZone& zone, std::int64_t from_s, Visit&& visit) const;

  std::bitset<60> minutes_;
  std::bitset<24> hours_;
  std::bitset<32> days_;
  std::bitset<13> months_;
  std::bitset<7> weekdays_;  // 0 is Sunday
  bool any_day_ = true;      // day-of-month is "*"
  bool any_weekday_ = true;
};

}  // namespace tidemark::policy::waterline
