#include "cli/yarn/audit_settings.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/yaml.h"
#include "cli/yarn/audit_read.h"

namespace tidemark::cli {
namespace {

enum class Match { kNo, kYes, kUnknown };

// Of matchLabels; expressions are left open.
Match matches(const Json* selector, const Json& node) {
  if (selector == nullptr || !selector->is_object()) return Match::kUnknown;
  if (const Json* labels = selector->member("matchLabels"); labels != nullptr && labels->is_object()) {
    for (const auto& [key, value] : labels->as_object()) {
      if (text(node.at("metadata", "labels", key)) != text(&value)) return Match::kNo;
    }
  }
  return selector->member("matchExpressions") == nullptr ? Match::kYes : Match::kUnknown;
}

void take(const Json& from, AuditRules& rules) {
  if (!from.is_object()) return;
  number(from, "cpuReclaimThresholdPercent", rules.cpu_threshold_percent);
  number(from, "memoryReclaimThresholdPercent", rules.memory_threshold_percent);
  number(from, "degradeTimeMinutes", rules.degrade_minutes);
  if (const Json* value = from.member("resourceDiffThreshold"); value != nullptr && value->is_number()) {
    rules.diff_threshold = value->as_double();
  }
  if (const auto policy = text(from.member("memoryCalculatePolicy")); !policy.empty()) {
    rules.memory_by_use = policy != "request";
  }
}

AuditRules more_generous(AuditRules a, const AuditRules& b) {
  a.cpu_threshold_percent = std::max(a.cpu_threshold_percent, b.cpu_threshold_percent);
  a.memory_threshold_percent = std::max(a.memory_threshold_percent, b.memory_threshold_percent);
  a.degrade_minutes = std::max(a.degrade_minutes, b.degrade_minutes);
  a.diff_threshold = std::max(a.diff_threshold, b.diff_threshold);
  a.memory_by_use = a.memory_by_use && b.memory_by_use;
  a.decays = a.decays || b.decays;
  a.slewed = a.slewed && b.slewed;
  a.slew_permille_per_minute = std::max(a.slew_permille_per_minute, b.slew_permille_per_minute);
  a.dead_band_permille = std::max(a.dead_band_permille, b.dead_band_permille);
  a.strict = a.strict && b.strict;
  a.kubernetes.add(b.kubernetes);
  a.yarn.add(b.yarn);
  a.utc = a.utc && b.utc;
  return a;
}

// The first entry whose selector matches is taken over `rules`. Those before it that may match could be it as well, and
// where none matches for sure it may be none.
template <class Take>
AuditRules by_first_match(const Json* entries, const Json& node, const AuditRules& rules, const Take& take_entry) {
  std::optional<AuditRules> generous;
  const auto may_hold = [&generous](const AuditRules& each) {
    generous = generous ? more_generous(*generous, each) : each;
  };
  if (entries != nullptr && entries->is_array()) {
    for (const Json& entry : entries->as_array()) {
      const Match match = matches(entry.member("nodeSelector"), node);
      if (match == Match::kNo) continue;
      AuditRules merged = rules;
      take_entry(entry, merged);
      may_hold(merged);
      if (match == Match::kYes) return *generous;
    }
  }
  may_hold(rules);
  return *generous;
}

void label_percent(const Json& node, std::string_view key, std::int64_t& into) {
  const auto ratio = base::parse_double(text(node.at("metadata", "labels", key)));
  if (ratio && *ratio >= 0 && *ratio <= 10) into = static_cast<std::int64_t>(std::ceil(*ratio * 100));
}

std::optional<std::pair<std::int64_t, std::int64_t>> hours_of(std::string_view written) {
  const auto ends = base::split(written, '-');
  const auto from = ends.size() == 2 ? base::parse_int(ends[0]) : std::nullopt;
  const auto to = ends.size() == 2 ? base::parse_int(ends[1]) : std::nullopt;
  if (!from || !to) return std::nullopt;
  return std::pair(*from, *to);
}

void take_over_report(const Json* side, AuditOverReports& into) {
  const Json* over = side == nullptr ? nullptr : side->member("overReport");
  if (over == nullptr) return;
  AuditOverReport report = into.first();
  number(*over, "cpuPercent", report.cpu);
  number(*over, "memoryPercent", report.memory);
  if (const Json* entries = over->member("entries"); entries != nullptr && entries->is_array()) {
    report.entries.clear();
    for (const Json& entry : entries->as_array()) {
      AuditOverReport::Entry& read = report.entries.emplace_back();
      read.work_class = text(entry.member("class"));
      read.hours = hours_of(text(entry.member("hours")));
      const auto percent = [&entry](std::string_view key) {
        std::int64_t value = 0;
        number(entry, key, value);
        return value > 0 ? std::optional(value) : std::nullopt;
      };
      read.cpu = percent("cpuPercent");
      read.memory = percent("memoryPercent");
    }
  }
  into.set(report);
}

void take_ledger(const Json* ledger, AuditRules& into) {
  if (ledger == nullptr || !ledger->is_object()) return;
  if (const auto mode = text(ledger->member("mode")); !mode.empty()) into.strict = mode == "strict";
  take_over_report(ledger->member("kubernetes"), into.kubernetes);
  take_over_report(ledger->member("yarn"), into.yarn);
}

// Whether the clock on the wall of this calendar shows UTC.
bool in_utc(const Json& ours, std::string_view name) {
  const Json* calendars = ours.member("calendars");
  if (calendars == nullptr || !calendars->is_array()) return true;
  for (const Json& calendar : calendars->as_array()) {
    if (text(calendar.member("name")) != name) continue;
    const auto zone = text(calendar.member("zone"));
    return zone.empty() || zone == "UTC";
  }
  return true;  // "none"
}

// The pool's profile, motion and ledger; where a calendar moves the line, its highest line counts.
void take_ours(const Json& ours, const Json& node, AuditRules& rules) {
  if (!ours.is_object()) return;
  const auto take_pool = [&ours](const Json& pool, AuditRules& into) {
    if (const auto profile = text(pool.member("profile")); !profile.empty()) {
      into.decays = into.slewed = profile == "tidemark";
    }
    if (const Json* motion = pool.member("motion"); motion != nullptr && motion->is_object()) {
      number(*motion, "slewPermillePerMinute", into.slew_permille_per_minute);
      number(*motion, "deadBandPermille", into.dead_band_permille);
    }
    take_ledger(pool.member("ledger"), into);
    if (const auto name = text(pool.member("calendar")); !name.empty()) into.utc = in_utc(ours, name);
  };
  take_pool(ours, rules);
  rules = by_first_match(ours.member("pools"), node, rules, take_pool);
  const Json* calendars = ours.member("calendars");
  if (calendars == nullptr || !calendars->is_array()) return;
  for (const Json& calendar : calendars->as_array()) {
    const Json* entries = calendar.member("entries");
    if (entries == nullptr || !entries->is_array()) continue;
    for (const Json& entry : entries->as_array()) {
      std::int64_t cpu = 0;
      std::int64_t memory = 0;
      number(entry, "cpu", cpu);
      number(entry, "memory", memory);
      rules.cpu_threshold_percent = std::max(rules.cpu_threshold_percent, cpu);
      rules.memory_threshold_percent = std::max(rules.memory_threshold_percent, memory);
    }
  }
}

Result<Json> colocation_in(const AuditTexts& texts) {
  if (!texts.colocation || texts.colocation->empty()) return Json();
  auto parsed = Json::parse(*texts.colocation);
  if (!parsed) return std::unexpected(std::move(parsed).error().within("colocation-config"));
  return parsed;
}

Result<Json> ours_in(const AuditTexts& texts) {
  if (!texts.ours || texts.ours->empty()) return Json();
  auto parsed = base::parse_yaml(*texts.ours);
  if (!parsed) return std::unexpected(std::move(parsed).error().within("tidemark-config"));
  return parsed;
}

std::optional<std::string> member_text(const Json& object, std::string_view key) {
  const Json* found = object.member(key);
  if (found == nullptr || !found->is_string()) return std::nullopt;
  return found->as_string();
}

// Of the revisions that the state of the roll-out has in force somewhere. Where it says what cannot be found, of all
// that are kept, except where it is one on all nodes, whose text may have been too large to keep.
std::vector<AuditTexts> stored_texts(const std::map<std::string, std::string, std::less<>>& stored) {
  std::map<std::string, AuditTexts> kept;  // by hash
  for (const auto& [key, value] : stored) {
    if (!key.starts_with("revision-")) continue;
    const auto revision = Json::parse(value);
    if (!revision) continue;
    AuditTexts texts;
    if (const Json* keys = revision->member("slo-controller-config"); keys != nullptr) {
      texts.colocation = member_text(*keys, "colocation-config");
    }
    texts.ours = member_text(*revision, "tidemark-config");
    kept.insert_or_assign(member_text(*revision, "hash").value_or(key), std::move(texts));
  }
  std::vector<AuditTexts> found;
  if (const auto at = stored.find("state"); at != stored.end()) {
    const auto state = Json::parse(at->second);
    const Json* layers = state ? state->member("layers") : nullptr;
    if (layers != nullptr && layers->is_array() && !layers->as_array().empty()) {
      for (const Json& layer : layers->as_array()) {
        const auto revision = kept.find(member_text(layer, "revision").value_or(""));
        if (revision != kept.end()) found.push_back(revision->second);
      }
      if (found.size() == layers->as_array().size() || layers->as_array().size() == 1) return found;
      found.clear();
    }
  }
  for (const auto& [hash, texts] : kept) found.push_back(texts);
  return found;
}

std::int64_t least_real(std::int64_t told, std::int64_t percent) {
  if (told <= 0 || percent <= 0) return std::max<std::int64_t>(told, 0);
  return static_cast<std::int64_t>(static_cast<__int128>(told) * 100 / std::max<std::int64_t>(percent, 10));
}

}  // namespace

namespace {

bool may_be_in(const AuditOverReport::Entry& entry, std::optional<std::int64_t> hour) {
  if (!entry.hours || !hour) return true;
  const auto [from, to] = *entry.hours;
  return from < to ? *hour >= from && *hour < to : *hour >= from || *hour < to;
}

// The largest percent that may hold of a class at this hour; of any class where none is named.
std::int64_t most_of(const AuditOverReport& over, std::int64_t own,
                     std::optional<std::int64_t> AuditOverReport::Entry::* of,
                     std::optional<std::string_view> work_class, std::optional<std::int64_t> hour) {
  std::int64_t most = 0;
  for (const auto& entry : over.entries) {
    const bool for_it = !work_class || entry.work_class.empty() || entry.work_class == *work_class;
    if (!for_it || !may_be_in(entry, hour)) continue;
    most = std::max(most, (entry.*of).value_or(own));
    const bool for_sure = !entry.hours || hour;
    const bool for_all = entry.work_class.empty() || work_class;
    if (for_sure && for_all) return most;
  }
  return std::max(most, own);
}

}  // namespace

AuditAmounts AuditOverReport::real(const AuditAmounts& told, std::optional<std::int64_t> hour) const {
  return {least_real(told.cpu, most_of(*this, cpu, &Entry::cpu, std::nullopt, hour)),
          least_real(told.memory, most_of(*this, memory, &Entry::memory, std::nullopt, hour))};
}

// More may be told than is held, and less: then it is not known which classes it is for.
AuditAmounts AuditOverReport::real(const AuditAmounts& told, const AuditByClass& held,
                                   std::optional<std::int64_t> hour) const {
  AuditAmounts sum;
  AuditAmounts real_sum;
  for (const auto& [name, amount] : held) {
    sum += amount;
    real_sum.cpu += least_real(amount.cpu, most_of(*this, cpu, &Entry::cpu, name, hour));
    real_sum.memory += least_real(amount.memory, most_of(*this, memory, &Entry::memory, name, hour));
  }
  const AuditAmounts whole = real(told, hour);
  const AuditAmounts rest = real({told.cpu - sum.cpu, told.memory - sum.memory}, hour);
  return {told.cpu < sum.cpu ? whole.cpu : real_sum.cpu + rest.cpu,
          told.memory < sum.memory ? whole.memory : real_sum.memory + rest.memory};
}

void AuditOverReports::add(const AuditOverReports& others) {
  for (const AuditOverReport& one : others.may_) {
    if (std::ranges::find(may_, one) == may_.end()) may_.push_back(one);
  }
}

bool AuditOverReports::by_hour() const {
  return std::ranges::any_of(may_, [](const AuditOverReport& one) {
    return std::ranges::any_of(one.entries, [](const auto& entry) { return entry.hours.has_value(); });
  });
}

AuditAmounts AuditOverReports::real(const AuditAmounts& told, std::optional<std::int64_t> hour,
                                    const AuditByClass& held) const {
  std::optional<AuditAmounts> least;
  for (const AuditOverReport& one : may_) {
    const AuditAmounts real = one.real(told, held, hour);
    least = least ? AuditAmounts{std::min(least->cpu, real.cpu), std::min(least->memory, real.memory)} : real;
  }
  return *least;
}

Result<AuditSettings> AuditSettings::read(const AuditTexts& live,
                                          const std::map<std::string, std::string, std::less<>>& stored) {
  AuditSettings settings;
  for (const AuditTexts& texts : stored_texts(stored)) {
    auto colocation = colocation_in(texts);
    auto ours = ours_in(texts);
    if (colocation && ours) settings.layers_.push_back({std::move(*colocation), std::move(*ours)});
  }
  const bool all_there_is = settings.layers_.empty();
  auto colocation = colocation_in(live);
  if (!colocation && all_there_is) return std::unexpected(std::move(colocation).error());
  auto ours = ours_in(live);
  if (!ours && all_there_is) return std::unexpected(std::move(ours).error());
  if (colocation && ours) settings.layers_.push_back({std::move(*colocation), std::move(*ours)});
  return settings;
}

void AuditSettings::take_overrides(std::optional<std::string_view> written, base::WallTime now) {
  const auto read = written ? Json::parse(*written) : Result<Json>(Json());
  if (!read) return;
  if (const Json* cluster = read->member("cluster")) take_override(*cluster, now);
  if (const Json* pools = read->member("pools"); pools != nullptr && pools->is_array()) {
    for (const Json& pool : pools->as_array()) take_override(pool, now);
  }
}

void AuditSettings::take_override(const Json& line, base::WallTime now) {
  const auto until = base::parse_rfc3339(text(line.member("until")));
  if (!line.is_object() || !until || *until <= now) return;
  if (!changes_at_ || *until < *changes_at_) changes_at_ = until;
  std::int64_t cpu = 0;
  std::int64_t memory = 0;
  number(line, "cpu", cpu);
  number(line, "memory", memory);
  override_cpu_percent_ = std::max(override_cpu_percent_, cpu);
  override_memory_percent_ = std::max(override_memory_percent_, memory);
}

AuditRules AuditSettings::of(const Json& node) const {
  std::optional<AuditRules> generous;
  for (const Layer& layer : layers_) {
    AuditRules rules;
    take(layer.colocation, rules);
    rules = by_first_match(layer.colocation.member("nodeConfigs"), node, rules, take);
    std::string ignored;
    take(annotation(node, "node.koordinator.sh/colocation-strategy", ignored), rules);
    label_percent(node, "node.koordinator.sh/cpu-reclaim-ratio", rules.cpu_threshold_percent);
    label_percent(node, "node.koordinator.sh/memory-reclaim-ratio", rules.memory_threshold_percent);
    take_ours(layer.ours, node, rules);
    generous = generous ? more_generous(*generous, rules) : rules;
  }
  AuditRules rules = generous.value_or(AuditRules());
  rules.cpu_threshold_percent = std::max(rules.cpu_threshold_percent, override_cpu_percent_);
  rules.memory_threshold_percent = std::max(rules.memory_threshold_percent, override_memory_percent_);
  return rules;
}

}  // namespace tidemark::cli
