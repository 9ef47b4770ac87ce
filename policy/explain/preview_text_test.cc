#include "policy/explain/preview_text.h"

#include <gtest/gtest.h>

#include <chrono>

namespace tidemark::policy::explain {
namespace {

using namespace std::chrono_literals;

waterline::Calendar previewed_nights() {
  waterline::Calendar calendar;
  calendar.name = "nights";
  calendar.lead = 1h;
  waterline::CalendarEntry night;
  night.name = "night";
  night.when = waterline::Recurring{*waterline::Cron::parse("0 22 * * *"), std::chrono::hours(8)};
  night.line = {80, 70};
  night.ramp_up = 30min;
  calendar.entries.push_back(night);
  return calendar;
}

TEST(PreviewText, OneLineForEachMomentAtWhichTheLineChanges) {
  const waterline::Calendar calendar = previewed_nights();
  const waterline::LineOverrides none;
  const auto points = waterline::preview(calendar, 60, 65, none, *base::parse_rfc3339("2026-11-21T20:00:00Z"), 12h);
  const PreviewView view{calendar, none, points};
  EXPECT_EQ(
      render_text(view),
      R"(2026-11-21 Sat 20:00  cpu 60 %, memory 65 %  base line: no entry of the calendar is in force: the base line [TM-LINE-001]
2026-11-21 Sat 22:00  cpu 60 -> 76 %, memory 65 -> 69 %  night (rising): a window of the calendar is open [TM-LINE-002]
2026-11-21 Sat 22:30  cpu 80 %, memory 70 %  night (open): a window of the calendar is open [TM-LINE-002]
2026-11-22 Sun 05:00  cpu 80 % (60 % sold), memory 70 % (65 % sold)  night (open): the water line falls soon: no new work is admitted above the coming value [TM-LINE-005]
2026-11-22 Sun 06:00  cpu 60 %, memory 65 %  base line: no entry of the calendar is in force: the base line [TM-LINE-001]
)");
  Json out = render_json(view);
  EXPECT_EQ(out["points"].as_array().size(), 12u * 12);
  EXPECT_EQ(out["changes"].as_array().size(), 5u);
  EXPECT_EQ(out["points"].as_array()[30]["cpu"]["entry"].as_string(), "night");
  EXPECT_EQ(out["points"].as_array()[30]["cpu"]["holdPercent"].as_int(), 80);
  EXPECT_EQ(out["points"].as_array()[30]["local"].as_string(), "2026-11-21 Sat 22:30");
}

TEST(PreviewText, ShowsAuthorAndReasonOfAnOverride) {
  const waterline::Calendar calendar = previewed_nights();
  const waterline::LineOverrides overrides{
      {{40, std::nullopt}, *base::parse_rfc3339("2026-11-21T21:00:00Z"), "ann@ops", "a fire drill", {}}};
  const auto points = waterline::preview(calendar, 60, 65, overrides, *base::parse_rfc3339("2026-11-21T20:00:00Z"), 2h);
  EXPECT_EQ(
      render_text({calendar, overrides, points}),
      R"(2026-11-21 Sat 20:00  cpu 40 %, memory 65 %  override by ann@ops (a fire drill): an override replaces the calendar [TM-LINE-004]; memory: base line: no entry of the calendar is in force: the base line [TM-LINE-001]
2026-11-21 Sat 21:00  cpu 60 %, memory 65 %  base line: no entry of the calendar is in force: the base line [TM-LINE-001]
overridden: cpu 40 %, until 2026-11-21T21:00:00Z, by ann@ops: a fire drill
)");
}

}  // namespace
}  // namespace tidemark::policy::explain
