#include "policy/settings/config/profile_form.h"

namespace tidemark::policy::settings {
namespace {

using std::chrono::hours, std::chrono::seconds;

constexpr base::Duration kEveryMin = seconds(1);
constexpr base::Duration kEveryMax = hours(1);
constexpr base::Duration kWarmUpMax = hours(24);
constexpr std::int64_t kMarginMax = 400;  // percent
constexpr std::int64_t kChangeMax = 100;  // percent
constexpr std::int64_t kKnownHoursMax = 7 * 24;

}  // namespace

void read_profiles(waterline::Form& document, waterline::ProfileSettings& profiles, waterline::Problems& problems) {
  waterline::Form form(document.member("profiles"), document.place("profiles"), problems);
  form.boolean("learn", profiles.learn);
  form.duration("sampleEvery", profiles.sample_every, kEveryMin, kEveryMax);
  form.duration("storeEvery", profiles.store_every, kEveryMin, kEveryMax);
  waterline::Form recommend(form.member("recommendations"), form.place("recommendations"), problems);
  waterline::RecommendationSettings& to = profiles.recommendations;
  recommend.boolean("publish", to.publish);
  recommend.integer("marginPercent", to.margin_percent, 0, kMarginMax);
  recommend.integer("changePercent", to.change_percent, 0, kChangeMax);
  recommend.integer("knownHours", to.known_hours, 1, kKnownHoursMax);
  recommend.duration("every", to.every, kEveryMin, kEveryMax);
  recommend.finish();
  if (to.publish && !profiles.learn) form.problem("learn", "must be true if recommendations.publish is true");
  form.finish();
}

void read_warm_up(waterline::Form& form, base::Duration& warm_up) {
  form.duration("warmUp", warm_up, seconds(0), kWarmUpMax);
}

}  // namespace tidemark::policy::settings
