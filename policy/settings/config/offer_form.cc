#include "policy/settings/config/offer_form.h"

#include "base/text.h"

namespace tidemark::policy::settings {
namespace {

using std::chrono::hours, std::chrono::seconds;

constexpr std::int64_t kOverReportMin = 10;   // percent
constexpr std::int64_t kOverReportMax = 300;  // more is a slip of the pen
constexpr std::int64_t kPermille = 1000;
constexpr std::int64_t kDecayStepsMax = 100;
constexpr base::Duration kMotionMax = hours(24 * 7);

// "22-7": from the first hour to before the second.
void read_hours(waterline::Form& form, std::optional<model::HourSpan>& out) {
  if (!form.has("hours")) return;
  std::string text;
  form.text("hours", text);
  if (text.empty()) return;
  const auto ends = base::split(text, '-');
  const auto hour = [](std::string_view word) { return word.size() <= 2 ? base::parse_int(word) : std::nullopt; };
  const auto from = ends.size() == 2 ? hour(ends[0]) : std::nullopt;
  const auto to = ends.size() == 2 ? hour(ends[1]) : std::nullopt;
  if (!from || !to || *from < 0 || *from > 23 || *to < 0 || *to > 24 || *from == *to) {
    return form.problem(
        "hours", base::cat("wanted two hours of the day, as in 22-7 (to before 7:00), found ", base::in_quotes(text)));
  }
  out = model::HourSpan{*from, *to};
}

void read_percent(waterline::Form& form, std::string_view key, std::optional<std::int64_t>& out) {
  if (!form.has(key)) return;
  std::int64_t percent = 0;
  form.integer(key, percent, kOverReportMin, kOverReportMax);
  if (percent != 0) out = percent;
}

void read_entries(waterline::Form& over, std::span<const model::WorkClass> classes,
                  std::vector<model::OverReportEntry>& entries, waterline::Problems& problems) {
  if (!over.has("entries")) return;
  entries.clear();
  over.list("entries", model::kOverReportEntriesMax, [&](const Json& item, std::string place) {
    waterline::Form form(&item, std::move(place), problems);
    model::OverReportEntry entry;
    entry.number = static_cast<std::int64_t>(entries.size()) + 1;
    if (form.has("class")) {
      std::vector<std::string_view> names;
      for (const auto& each : classes) names.push_back(each.name);
      if (names.empty()) {
        form.problem("class", "`classes` of this document does not list it");
        form.member("class");
      } else if (const auto choice = form.choice("class", names)) {
        entry.work_class = names[*choice];
      }
    }
    read_hours(form, entry.hours);
    read_percent(form, "cpuPercent", entry.cpu_percent);
    read_percent(form, "memoryPercent", entry.memory_percent);
    if (!form.has("cpuPercent") && !form.has("memoryPercent")) {
      form.missing("cpuPercent", "set cpuPercent, memoryPercent or both");
    }
    form.finish();
    entries.push_back(std::move(entry));
  });
}

void read_side(waterline::Form& ledger, std::string_view key, std::span<const model::WorkClass> classes,
               model::SideConfig& side, waterline::Problems& problems) {
  waterline::Form form(ledger.member(key), ledger.place(key), problems);
  form.integer("minPercent", side.share_min_percent, 0, 100);
  form.integer("maxPercent", side.share_max_percent, 0, 100);
  if (side.share_min_percent > side.share_max_percent) {
    form.problem("minPercent", base::cat(side.share_min_percent, " is above maxPercent, ", side.share_max_percent));
  }
  waterline::Form over(form.member("overReport"), form.place("overReport"), problems);
  over.integer("cpuPercent", side.over_report.cpu_percent, kOverReportMin, kOverReportMax);
  over.integer("memoryPercent", side.over_report.memory_percent, kOverReportMin, kOverReportMax);
  read_entries(over, classes, side.entries, problems);
  over.finish();
  form.finish();
}

}  // namespace

void read_ledger(waterline::Form& form, std::span<const model::WorkClass> classes, model::LedgerConfig& ledger,
                 waterline::Problems& problems) {
  waterline::Form each(form.member("ledger"), form.place("ledger"), problems);
  if (const auto mode = each.choice("mode", {"shared", "strict"})) {
    ledger.mode = *mode == 0 ? model::LedgerMode::kShared : model::LedgerMode::kStrict;
  }
  each.boolean("classAware", ledger.class_aware);
  read_side(each, "kubernetes", classes, ledger.kubernetes, problems);
  read_side(each, "yarn", classes, ledger.yarn, problems);
  const std::int64_t guaranteed = ledger.kubernetes.share_min_percent + ledger.yarn.share_min_percent;
  if (guaranteed > 100) {
    each.problem("yarn.minPercent", base::cat("kubernetes and yarn are guaranteed ", guaranteed, " % together"));
  }
  each.finish();
}

void read_motion(waterline::Form& form, model::MotionConfig& motion, waterline::Problems& problems) {
  waterline::Form each(form.member("motion"), form.place("motion"), problems);
  each.integer("deadBandPermille", motion.dead_band_permille, 0, kPermille);
  each.integer("slewPermillePerMinute", motion.slew_permille_per_minute, 1, kPermille);
  each.duration("hold", motion.hold, seconds(30), kMotionMax);
  each.duration("decayStep", motion.decay_step, seconds(1), kMotionMax);
  each.integer("decaySteps", motion.decay_steps, 1, kDecayStepsMax);
  each.duration("forget", motion.forget, seconds(30), kMotionMax);
  if (motion.forget < motion.hold) each.problem("forget", "must not be shorter than hold");
  each.finish();
}

void read_drain(waterline::Form& form, bool& ends_yarn_work, waterline::Problems& problems) {
  waterline::Form each(form.member("drain"), form.place("drain"), problems);
  if (const auto choice = each.choice("yarn", {"keep", "end"})) ends_yarn_work = *choice == 1;
  each.finish();
}

void read_arbitrate(waterline::Form& form, model::ArbitrateSettings& arbitrate, waterline::Problems& problems) {
  waterline::Form each(form.member("arbitrate"), form.place("arbitrate"), problems);
  if (each.has("enabled")) {
    bool enabled = false;
    each.boolean("enabled", enabled);
    arbitrate.enabled = enabled;
  }
  each.boolean("taint", arbitrate.taint);
  each.integer("tolerancePermille", arbitrate.tolerance_permille, 0, kPermille);
  each.duration("overAfter", arbitrate.over_after, seconds(1), hours(24));
  each.finish();
}

}  // namespace tidemark::policy::settings
