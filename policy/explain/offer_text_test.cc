#include "policy/explain/offer_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy::explain {
namespace {

using model::CpuMilli;
using model::MemoryBytes;

sell::Offer everything(const waterline::Calendar& calendar) {
  sell::Offer offer;
  offer.line = waterline::water_line(calendar, 60, 65, {}, *base::parse_rfc3339("2026-11-22T05:30:00Z"));
  offer.motion.emplace();
  offer.motion->cpu = {CpuMilli{10'000}, model::Reason::kMotionSlewed};
  offer.motion->memory = {MemoryBytes{1 << 30}, model::Reason::kMotionCut};
  sell::SideBook yarn;
  yarn.sold = {{0, {CpuMilli{4'000}, MemoryBytes{0}}}};
  offer.ledger = sell::split(offer.motion->offered(), {}, yarn, model::LedgerConfig());
  return offer;
}

waterline::Calendar nights() {
  waterline::Calendar calendar;
  calendar.name = "nights";
  calendar.lead = std::chrono::hours(1);
  waterline::CalendarEntry night;
  night.name = "night";
  night.when = waterline::Recurring{*waterline::Cron::parse("0 22 * * *"), std::chrono::hours(8)};
  night.line = {80, std::nullopt};
  calendar.entries.push_back(night);
  return calendar;
}

TEST(OfferText, ShowsAllInputs) {
  const waterline::Calendar calendar = nights();
  EXPECT_EQ(render_text(everything(calendar), {model::Profile::kTidemark, &calendar}),
            R"(profile tidemark
water line by calendar nights (UTC):
  cpu: 60 % may be sold, 80 % for running work, 60 % without the calendar, night (open): the water line falls soon: no new work is admitted above the coming value [TM-LINE-005]
  memory: 65 % may be sold: no entry of the calendar is in force: the base line [TM-LINE-001]
  changes at 2026-11-22T06:00:00Z
moved so far (reports are fresh):
  cpu: 10000m: growth continues step by step [TM-MOTION-005]
  memory: 1073741824 (1.0 GiB): less than before: a cut is applied at once [TM-MOTION-003]
ledger:
  kubernetes cpu: 6000m, 4000m subtracted: the amount that the other side has sold is subtracted [TM-LEDGER-002]
  kubernetes memory: 1073741824 (1.0 GiB): the other side has sold nothing: this side gets all [TM-LEDGER-001]
  yarn cpu: 10000m: the amount that the other side has sold is unknown: its last offer counts as sold [TM-LEDGER-007]
  yarn memory: 1073741824 (1.0 GiB): the amount that the other side has sold is unknown: its last offer counts as sold [TM-LEDGER-007]
)");
}

TEST(OfferText, NamesTheAuthorOfAnOverride) {
  const waterline::Calendar calendar = nights();
  const waterline::LineOverrides overrides{
      {{40, std::nullopt}, *base::parse_rfc3339("2026-11-21T14:00:00Z"), "ann@ops", "a fire drill", {}}};
  sell::Offer offer;
  offer.line = waterline::water_line(calendar, 60, 65, overrides, *base::parse_rfc3339("2026-11-21T12:00:00Z"));
  EXPECT_EQ(render_text(offer, {model::Profile::kKoordinator, &calendar, &overrides}),
            R"(water line by calendar nights (UTC):
  cpu: 40 % may be sold, 60 % without the calendar: an override replaces the calendar [TM-LINE-004]
  memory: 65 % may be sold: no entry of the calendar is in force: the base line [TM-LINE-001]
  overridden: cpu 40 %, until 2026-11-21T14:00:00Z, by ann@ops: a fire drill
  changes at 2026-11-21T13:00:00Z
)");
  Json out = render_json(offer, {model::Profile::kKoordinator, &calendar, &overrides});
  EXPECT_EQ(out["line"]["overrides"].dump(),
            R"([{"cpuPercent":40,"by":"ann@ops","why":"a fire drill","since":"1970-01-01T00:00:00Z",)"
            R"("until":"2026-11-21T14:00:00Z"}])");
}

TEST(OfferText, PoolWithoutSettingsHasNoText) {
  EXPECT_EQ(render_text(sell::Offer(), {model::Profile::kKoordinator, nullptr}), "");
}

TEST(OfferText, ShowsOffersAndReclaimsOfEachClass) {
  sell::Offer offer;
  auto& ledger = offer.ledger.emplace();
  ledger.yarn.cpu.offer = model::CpuMilli{120'000};
  ledger.yarn.cpu.real = model::CpuMilli{80'000};
  ledger.yarn.cpu.classes = {{"training", false, {20'000}, {20'000}, 100, 0},
                             {"spark", true, {100'000}, {60'000}, 150, 2}};
  ledger.kubernetes.reclaim = {{"", {{4'000}, {1'024}}, {{1'000}, {0}}, model::Reason::kLedgerReclaim}};
  const std::string text = render_text(offer, {model::Profile::kKoordinator, nullptr});
  for (const std::string_view part :
       {"    training, held: 20000m offered at 100 %, 20000m real: published with the over-report of its side "
        "[TM-LEDGER-011]\n",
        "    spark, free: 100000m offered at 150 %, 60000m real, entry 2: published with the over-report of an entry "
        "for "
        "its class or this hour [TM-LEDGER-012]\n",
        "  kubernetes must release 4000m and 1024 (1.0 KiB) of no class, keeps 1000m and 0: more timely work waits on "
        "the "
        "other side: less timely work of this side is reclaimed first [TM-LEDGER-009]\n"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing of\n" << text;
  }
  Json out = render_json(offer, {model::Profile::kKoordinator, nullptr});
  EXPECT_EQ(out["ledger"]["yarn"]["cpu"]["classes"].as_array()[1].member("percent")->as_int(), 150);
  EXPECT_EQ(
      out["ledger"]["kubernetes"]["reclaim"].dump(),
      R"([{"class":"","amount":{"cpu":4000,"memory":1024},"keep":{"cpu":1000,"memory":0},)"
      R"("reason":{"id":"TM-LEDGER-009","sentence":"more timely work waits on the other side: less timely work of )"
      R"(this side is reclaimed first"}}])");
}

TEST(OfferText, RendersJson) {
  const waterline::Calendar calendar = nights();
  Json out = render_json(everything(calendar), {model::Profile::kTidemark, &calendar});
  EXPECT_EQ(out["line"]["cpu"]["sellPercent"].as_int(), 60);
  EXPECT_EQ(out["line"]["cpu"]["holdPercent"].as_int(), 80);
  EXPECT_EQ(out["line"]["cpu"]["entry"].as_string(), "night");
  EXPECT_EQ(out["motion"]["cpu"]["reason"]["id"].as_string(), "TM-MOTION-005");
  EXPECT_EQ(out["ledger"]["kubernetes"]["cpu"]["offer"].as_int(), 6000);
}

TEST(OfferText, ABackOffNamesTheSideWhoseWorkWasEvictedAndHowMuchOfItIsLeft) {
  using std::chrono::milliseconds;
  using std::chrono::seconds;
  model::Pool pool;
  pool.budget.back_off = seconds(120);
  const base::MonotonicTime now{seconds(1000)};
  sell::LastEvicted evicted;
  evicted.yarn = now + milliseconds(-30'500);
  evicted.kubernetes = now + seconds(-120);  // over
  sell::Offer offer;
  offer.backs_off.emplace();
  const OfferNames names{.backs_off = sell::back_off_left(pool, evicted, now)};
  const std::string text = render_text(offer, names);
  EXPECT_NE(text.find("  yarn lost work: backs off for another 1m30s\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("kubernetes lost work"), std::string::npos) << text;
  const Json json = render_json(offer, names);
  EXPECT_EQ(json.at("backsOff", "secondsLeft")->dump(), R"({"yarn":90})");
}

}  // namespace
}  // namespace tidemark::policy::explain
