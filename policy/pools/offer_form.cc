#include "policy/pools/offer_form.h"

#include "base/text.h"

namespace tidemark::policy {
namespace {

using std::chrono::hours, std::chrono::seconds;

constexpr std::int64_t kOverReportMin = 10;   // percent
constexpr std::int64_t kOverReportMax = 300;  // more is a slip of the pen
constexpr std::int64_t kPermille = 1000;
constexpr std::int64_t kDecayStepsMax = 100;
constexpr base::Duration kMotionMax = hours(24 * 7);

void read_side(Form& ledger, std::string_view key, SideConfig& side, Problems& problems) {
  Form form(ledger.member(key), ledger.place(key), problems);
  form.integer("minPercent", side.share_min_percent, 0, 100);
  form.integer("maxPercent", side.share_max_percent, 0, 100);
  if (side.share_min_percent > side.share_max_percent) {
    form.problem("minPercent", base::cat(side.share_min_percent, " is above maxPercent, ", side.share_max_percent));
  }
  Form over(form.member("overReport"), form.place("overReport"), problems);
  over.integer("cpuPercent", side.over_report.cpu_percent, kOverReportMin, kOverReportMax);
  over.integer("memoryPercent", side.over_report.memory_percent, kOverReportMin, kOverReportMax);
  over.finish();
  form.finish();
}

}  // namespace

void read_ledger(Form& form, LedgerConfig& ledger, Problems& problems) {
  Form each(form.member("ledger"), form.place("ledger"), problems);
  if (const auto mode = each.choice("mode", {"shared", "strict"})) {
    ledger.mode = *mode == 0 ? LedgerMode::kShared : LedgerMode::kStrict;
  }
  each.boolean("classAware", ledger.class_aware);
  read_side(each, "kubernetes", ledger.kubernetes, problems);
  read_side(each, "yarn", ledger.yarn, problems);
  const std::int64_t guaranteed = ledger.kubernetes.share_min_percent + ledger.yarn.share_min_percent;
  if (guaranteed > 100) {
    each.problem("yarn.minPercent", base::cat("kubernetes and yarn are guaranteed ", guaranteed, " % together"));
  }
  each.finish();
}

void read_motion(Form& form, MotionConfig& motion, Problems& problems) {
  Form each(form.member("motion"), form.place("motion"), problems);
  each.integer("deadBandPermille", motion.dead_band_permille, 0, kPermille);
  each.integer("slewPermillePerMinute", motion.slew_permille_per_minute, 1, kPermille);
  each.duration("hold", motion.hold, seconds(30), kMotionMax);
  each.duration("decayStep", motion.decay_step, seconds(1), kMotionMax);
  each.integer("decaySteps", motion.decay_steps, 1, kDecayStepsMax);
  each.duration("forget", motion.forget, seconds(30), kMotionMax);
  if (motion.forget < motion.hold) each.problem("forget", "comes before hold is over");
  each.finish();
}

}  // namespace tidemark::policy
