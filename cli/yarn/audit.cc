#include "cli/yarn/audit.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "cli/yarn/audit_amounts.h"

namespace tidemark::cli {
namespace {

using model::Reason;

constexpr base::Duration kSlewMax = std::chrono::minutes(2);  // growth that is saved up while nothing moves
constexpr std::int64_t kHoursOfDay = 24;
constexpr std::int64_t kRounding = 2;  // of two amounts, one unit each
constexpr std::int64_t kZonesFine = 1000;

AuditAmounts beyond_rounding(const AuditAmounts& over) {
  return {over.cpu > kRounding ? over.cpu : 0, over.memory > kRounding ? over.memory : 0};
}

std::string show(const AuditAmounts& amounts) {
  return base::cat(amounts.cpu, "m and ", amounts.memory, " bytes");
}

// What a state may be late by, or a deed be judged after.
bool is_deed(Reason reason) {
  return reason == Reason::kAuditStaleGrowth || reason == Reason::kAuditGrowthTooFast ||
         reason == Reason::kAuditGivenUnconfirmed;
}

}  // namespace

AuditAmounts AuditYarn::may_act_on() const {
  const AuditAmounts told = offered.value_or(AuditAmounts{});
  if (sold && book_generation == offer_generation) return larger(told, confirmed);
  return larger(larger(told, confirmed), up_to);
}

AuditAmounts AuditYarn::may_hold() const {
  return sold ? *sold : may_act_on();
}

AuditAmounts ceiling_of(const AuditSight& sight) {
  const auto one = [](std::int64_t capacity, std::int64_t allocatable, std::int64_t percent, std::int64_t system,
                      std::int64_t online, bool by_use) {
    const std::int64_t line = times(capacity, static_cast<double>(percent) / 100);
    if (!by_use) return std::max<std::int64_t>(line, 0);
    return std::max<std::int64_t>(line - std::max(system, capacity - allocatable) - online, 0);
  };
  AuditAmounts most{one(sight.capacity.cpu, sight.allocatable.cpu, sight.rules.cpu_threshold_percent,
                        sight.system_used.cpu, sight.online_used.cpu, sight.rules.cpu_by_use),
                    one(sight.capacity.memory, sight.allocatable.memory, sight.rules.memory_threshold_percent,
                        sight.system_used.memory, sight.online_used.memory, sight.rules.memory_by_use)};
  most.cpu = times(most.cpu, sight.ratio) + 1;  // what is rounded up to a milli-core
  most.memory += 1;
  return most;
}

bool is_mistake(Reason reason) {
  switch (reason) {
    case Reason::kAuditNegative:
    case Reason::kAuditAboveCeiling:
    case Reason::kAuditSoldTwice:
    case Reason::kAuditStaleGrowth:
    case Reason::kAuditStaleOffer:
    case Reason::kAuditGrowthTooFast:
    case Reason::kAuditForeignWriter:
    case Reason::kAuditBothOffered:
    case Reason::kAuditYarnOffer:
    case Reason::kAuditGivenUnconfirmed:
    case Reason::kAuditZones:
    case Reason::kAuditYarnTotal:
      return true;
    default:
      return false;
  }
}

// Reports: by their stamp where a clock can be believed, by their standing still where it cannot.
bool Auditor::is_stale(const Seen& seen) {
  return !stale_in(seen).has_value();
}

// How long the last report is not too old yet; nullopt: it is, or there is none.
std::optional<base::Duration> Auditor::stale_in(const Seen& seen) {
  const auto stamp = seen.sight.stamp ? base::parse_rfc3339(*seen.sight.stamp) : std::nullopt;
  if (!stamp) return std::nullopt;
  const base::Duration degrade =
      std::chrono::minutes(std::clamp<std::int64_t>(seen.sight.rules.degrade_minutes, 0, 1 << 20));
  const base::Duration left = degrade - (seen.wall.since_epoch - stamp->since_epoch);
  return left < base::Duration(0) ? std::nullopt : std::optional(left + base::Duration(1));
}

// Of the day, where over-report goes by it and the zone is known.
std::optional<std::int64_t> Auditor::hour_of(const Seen& seen) {
  if (!seen.sight.rules.utc) return std::nullopt;
  return std::chrono::floor<std::chrono::hours>(seen.wall.since_epoch).count() % kHoursOfDay;
}

std::optional<base::Duration> Auditor::hour_left(const Seen& seen) {
  const AuditRules& rules = seen.sight.rules;
  if (!rules.utc || (!rules.kubernetes.by_hour() && !rules.yarn.by_hour())) return std::nullopt;
  const auto hour = std::chrono::floor<std::chrono::hours>(seen.wall.since_epoch);
  return base::Duration(hour + std::chrono::hours(1)) - seen.wall.since_epoch;
}

base::Duration Auditor::lag_of(Reason reason) const {
  if (is_deed(reason)) return kWatchSkew;
  // What is below nothing needs no time to be followed.
  return is_mistake(reason) && reason != Reason::kAuditNegative ? options_.lag : base::Duration(0);
}

std::vector<Auditor::Excess> Auditor::states(const Seen& seen) const {
  const AuditSight& sight = seen.sight;
  const AuditRules& rules = sight.rules;
  std::vector<Excess> found;
  if (!sight.unreadable.empty()) found.push_back({Reason::kAuditUnreadable, {}, sight.unreadable, sight.writer});
  if (sight.negative) found.push_back({Reason::kAuditNegative, {1, 1}, "below 0", sight.writer});
  const AuditAmounts offered = not_below_zero(sight.offered.value_or(AuditAmounts{}));
  const AuditAmounts to_yarn = not_below_zero(sight.yarn.offered.value_or(AuditAmounts{}));
  const auto hour = hour_of(seen);
  const AuditByClass& by_class = sight.yarn.sold_by_class;
  const AuditAmounts real_offered = rules.kubernetes.real(offered, hour);
  const AuditAmounts real_to_yarn = rules.yarn.real(to_yarn, hour, by_class);
  const AuditAmounts yarn_holds = sight.yarn.has_book ? rules.yarn.real(sight.yarn.may_hold(), hour, by_class)
                                                      : beyond(sight.third_party, sight.others);
  const AuditAmounts held_beside = sum(yarn_holds, sight.others);
  const bool strict = rules.strict && sight.yarn.has_book;
  // What moved by less is not worth a write.
  const auto note = [&](Reason reason, const AuditAmounts& over, const AuditAmounts& of, std::string example,
                        const std::string& writer) {
    if (!any(over)) return;
    const AuditAmounts tolerated = times(of, rules.diff_threshold);
    const bool small = over.cpu <= tolerated.cpu && over.memory <= tolerated.memory;
    found.push_back({small ? Reason::kAuditUsageRose : reason, over, std::move(example), writer});
  };

  const std::string others = any(sight.others) ? base::cat(", others ", show(sight.others)) : "";
  // The same thing sold on both sides. What the other side holds above the origin is no offer of this one.
  if (sight.origin && !strict) {
    if (any(held_beside)) {
      note(
          Reason::kAuditSoldTwice, smaller(beyond(sum(real_offered, held_beside), *sight.origin), real_offered),
          offered,
          base::cat("offered ", show(offered), ", YARN holds ", show(yarn_holds), others, ", of ", show(*sight.origin)),
          sight.writer);
    }
    const AuditAmounts beside_yarn = sum(rules.kubernetes.real(sight.sold, hour), sight.others);
    if (sight.yarn.has_book && any(beside_yarn)) {
      note(Reason::kAuditYarnOffer, smaller(beyond(sum(real_to_yarn, beside_yarn), *sight.origin), real_to_yarn),
           to_yarn,
           base::cat("YARN is offered ", show(to_yarn), ", pods hold ", show(sight.sold), others, ", of ",
                     show(*sight.origin)),
           sight.yarn_writer);
    }
  }
  if (sight.origin && strict) {
    const AuditAmounts both = sum(real_offered, real_to_yarn);
    const AuditAmounts over = beyond_rounding(smaller(beyond(sum(both, sight.others), *sight.origin), both));
    if (any(over)) {
      found.push_back({Reason::kAuditBothOffered, over,
                       base::cat("Kubernetes is offered ", show(offered), ", YARN ", show(to_yarn), others, ", of ",
                                 show(*sight.origin)),
                       sight.writer});
    }
  }
  if (sight.rm && (sight.yarn.offered || sight.origin)) {
    const bool confirmed = sight.yarn.book_generation == sight.yarn.offer_generation;
    AuditAmounts may_have = sight.yarn.offered
                                ? (confirmed ? to_yarn : larger(to_yarn, sight.yarn.up_to))
                                : beyond(sight.origin.value_or(AuditAmounts{}), sum(sight.sold, sight.others));
    if (sight.takes_no_work) may_have = {};
    const AuditAmounts over = beyond(sight.rm->total, may_have);
    if (any(over)) {
      found.push_back(
          {Reason::kAuditYarnTotal, over,
           base::cat("its ResourceManager may hand out ", show(sight.rm->total), ", YARN is to have ", show(may_have)),
           ""});
    }
  }
  if (sight.stamp) {
    const AuditAmounts most = ceiling_of(sight);
    const AuditAmounts all = larger(
        larger(real_offered, sight.offered ? sight.origin.value_or(AuditAmounts{}) : AuditAmounts{}), real_to_yarn);
    note(Reason::kAuditAboveCeiling, beyond(all, most), larger(offered, to_yarn),
         base::cat("offered ", show(all), " of ", show(most), " under the line"), sight.writer);
  }
  if (is_stale(seen) && !rules.decays && any(larger(offered, to_yarn))) {
    found.push_back({Reason::kAuditStaleOffer, larger(offered, to_yarn),
                     base::cat("last report ", sight.stamp.value_or("never")), sight.writer});
  }
  // With the peer's profile they are the peer's numbers, which a node's writes leave behind.
  if (sight.zones && rules.slewed) {
    const auto whole = [](std::int64_t fine) { return fine / kZonesFine + (fine % kZonesFine > 0 ? 1 : 0); };
    const AuditAmounts over = beyond({whole(sight.zones->cpu), whole(sight.zones->memory)}, offered);
    if (any(over)) {
      found.push_back({Reason::kAuditZones, over,
                       base::cat("zones carry ", show({whole(sight.zones->cpu), whole(sight.zones->memory)}),
                                 ", their node ", show(offered)),
                       sight.zones_writer});
    }
  }
  // Work that continues after a cut is no mistake: it is reported separately.
  AuditAmounts over = beyond(sight.sold, offered);
  over += sight.yarn.has_book ? beyond(sight.yarn.sold.value_or(AuditAmounts{}), to_yarn)
                              : beyond(sight.third_party, sight.origin.value_or(AuditAmounts{}));
  if (any(over)) {
    found.push_back(
        {Reason::kAuditOriginDropped, over,
         base::cat("pods hold ", show(sight.sold), ", YARN ", show(yarn_holds), ", offered ", show(offered)),
         sight.writer});
  }
  return found;
}

AuditAmounts Auditor::too_fast(const Seen& seen, const Deed& deed) const {
  const AuditRules& rules = seen.sight.rules;
  if (!rules.slewed) return {};
  const double minutes = static_cast<double>(deed.saved.count()) / 6e10;
  const double share =
      (static_cast<double>(rules.slew_permille_per_minute) * minutes + static_cast<double>(rules.dead_band_permille)) /
      1000;
  return beyond(deed.excess.amount, times(seen.sight.capacity, share));
}

// What one side was given of what the other may still act on. The write was decided on the node as it was before, with
// YARN's book of then.
void Auditor::given(const AuditSight& before, const Seen& seen, std::vector<Excess>& found) {
  const AuditSight& sight = seen.sight;
  const AuditRules& rules = sight.rules;
  if (!rules.strict || !sight.yarn.has_book || !before.yarn.has_book || !sight.origin) return;
  const AuditAmounts kubernetes = not_below_zero(sight.offered.value_or(AuditAmounts{}));
  const AuditAmounts yarn = not_below_zero(sight.yarn.offered.value_or(AuditAmounts{}));
  const AuditAmounts others = smaller(before.others, sight.others);  // the write may have been decided on either
  const auto told = [&](const AuditAmounts& real_now, const AuditAmounts& real_before, const AuditAmounts& not_free,
                        std::string_view side, const std::string& writer) {
    const AuditAmounts grown = beyond(real_now, real_before);
    const AuditAmounts taken = sum(sum(real_now, not_free), others);
    const AuditAmounts over = beyond_rounding(smaller(grown, beyond(taken, *sight.origin)));
    if (!any(over)) return;
    found.push_back({Reason::kAuditGivenUnconfirmed, over,
                     base::cat(side, " was given ", show(grown), " while the other may act on ", show(not_free), " of ",
                               show(*sight.origin)),
                     writer});
  };
  const auto hour = hour_of(seen);
  const AuditByClass& held_then = before.yarn.sold_by_class;
  told(rules.kubernetes.real(kubernetes, hour), rules.kubernetes.real(before.offered.value_or(AuditAmounts{}), hour),
       rules.yarn.real(larger(before.yarn.may_act_on(), before.yarn.may_hold()), hour, held_then), "Kubernetes",
       sight.writer);
  AuditAmounts carried = larger(before.offered.value_or(AuditAmounts{}), before.sold);
  for (const auto& [amounts, until] : seen.carried) carried = larger(carried, amounts);
  told(rules.yarn.real(yarn, hour, held_then),
       rules.yarn.real(before.yarn.offered.value_or(AuditAmounts{}), hour, held_then),
       rules.kubernetes.real(carried, hour), "YARN", sight.yarn_writer);
}

void Auditor::notice_deeds(const AuditSight& before, Seen& seen) const {
  const AuditSight& sight = seen.sight;
  const bool moved =
      before.offered != sight.offered || before.origin != sight.origin || before.yarn.offered != sight.yarn.offered;
  if (!moved) return;
  for (Deed& deed : seen.deeds) deed.over = true;
  std::vector<Excess> found;
  given(before, seen, found);
  if (sight.offered && before.offered) {
    const AuditAmounts was = before.origin.value_or(*before.offered);
    const AuditAmounts is = sight.origin.value_or(*sight.offered);
    const AuditAmounts grown = beyond(is, was);
    const std::string example = base::cat("from ", show(was), " to ", show(is));
    if (any(grown) && is_stale(seen)) found.push_back({Reason::kAuditStaleGrowth, grown, example, sight.writer});
    if (any(grown)) found.push_back({Reason::kAuditGrowthTooFast, grown, example, sight.writer});
  }
  for (Excess& excess : found) {
    Deed deed{std::move(excess), seen.at, sight.stamp,
              std::min<base::Duration>(seen.at - seen.offered_at + options_.lag, kSlewMax), false};
    if (deed.excess.reason == Reason::kAuditGrowthTooFast && !any(too_fast(seen, deed))) continue;
    seen.deeds.push_back(std::move(deed));
  }
}

void Auditor::judge(Seen& seen) {
  std::erase_if(seen.deeds, [&](const Deed& deed) {
    switch (deed.excess.reason) {
      case Reason::kAuditStaleGrowth:
        if (deed.stamp != seen.sight.stamp) return true;  // it was seen after what it led to
        break;
      case Reason::kAuditGrowthTooFast:
        if (!any(too_fast(seen, deed))) return true;
        break;
      default:
        if (!seen.sight.rules.strict) return true;
    }
    return deed.over && seen.at - deed.at >= kWatchSkew;
  });
  std::map<Reason, Active> active;
  const auto take = [&](Excess excess, base::MonotonicTime since) {
    const Reason reason = excess.reason;
    const auto held = active.find(reason);
    if (held != active.end()) {
      if (excess.amount.cpu > held->second.excess.amount.cpu) held->second.excess = std::move(excess);
      return;
    }
    const auto before = seen.active.find(reason);
    Active next{std::move(excess), since, std::nullopt};
    if (before != seen.active.end()) {
      next.since = std::min(before->second.since, since);
      next.told_as = before->second.told_as;
    }
    active.emplace(reason, std::move(next));
  };
  for (Excess& excess : states(seen)) take(std::move(excess), seen.at);
  for (const Deed& deed : seen.deeds) {
    Excess excess = deed.excess;
    if (excess.reason == Reason::kAuditGrowthTooFast) {
      excess.amount = too_fast(seen, deed);
      excess.example += base::cat(", which is ", show(excess.amount), " too much");
    }
    take(std::move(excess), deed.at);
  }
  seen.active = std::move(active);
  for (auto& [reason, each] : seen.active) {
    const bool followed = seen.at - each.since < lag_of(reason);
    add(seen, each, followed ? Reason::kAuditFollowing : reason, base::Duration(0));
  }
}

void Auditor::add(const Seen& seen, Active& active, Reason reason, base::Duration elapsed) {
  const Excess& excess = active.excess;
  std::string example = excess.example;
  const bool ours = excess.writer.starts_with(options_.writer);
  if (is_mistake(reason) && !ours && !excess.writer.empty()) {
    example = base::cat(model::reason_id(reason), " by ", excess.writer, ": ", example);
    reason = Reason::kAuditForeignWriter;
  }
  AuditFinding& finding = findings_[{seen.sight.node, reason}];
  finding.reason = reason;
  finding.node = seen.sight.node;
  if (active.told_as != reason) ++finding.times;
  active.told_as = reason;
  const double seconds = static_cast<double>(elapsed.count()) / 1e9;
  finding.cpu_core_s += static_cast<double>(excess.amount.cpu) / 1000 * seconds;
  finding.memory_gib_s += static_cast<double>(excess.amount.memory) / (1 << 30) * seconds;
  if (finding.example.empty() || excess.amount.cpu > finding.worst.cpu) finding.example = std::move(example);
  finding.worst = larger(finding.worst, excess.amount);
}

// What holds, holds until `to`: within its lag it is followed, after that it is what it is.
void Auditor::pass(Seen& seen, base::MonotonicTime to) {
  for (auto& [reason, each] : seen.active) {
    const base::MonotonicTime late = std::clamp(each.since + lag_of(reason), seen.at, to);
    if (late > seen.at) add(seen, each, Reason::kAuditFollowing, late - seen.at);
    if (to > late) add(seen, each, reason, to - late);
  }
  seen.wall = seen.wall + (to - seen.at);
  seen.at = to;
}

void Auditor::advance(Seen& seen, base::MonotonicTime now) {
  if (!seen.looked_at) return;
  while (seen.at < now) {
    // Time alone changes the result: a report becomes too old, or the time to report past growth is over.
    base::MonotonicTime to = now;
    if (const auto left = stale_in(seen)) to = std::min(to, seen.at + *left);
    if (const auto left = hour_left(seen)) to = std::min(to, seen.at + *left);
    for (const Deed& deed : seen.deeds) {
      if (deed.over) to = std::min(to, std::max(deed.at + kWatchSkew, seen.at + base::Duration(1)));
    }
    pass(seen, to);
    judge(seen);
  }
}

void Auditor::see(const AuditSight& sight, base::MonotonicTime now, base::WallTime wall) {
  ++changes_;
  const auto [at, first] = nodes_.try_emplace(sight.node);
  Seen& seen = at->second;
  advance(seen, now);
  const AuditSight before = std::exchange(seen.sight, sight);
  const bool known = !first && seen.looked_at;
  seen.looked_at = true;
  seen.at = now;
  seen.wall = wall;
  std::erase_if(seen.carried, [&](const auto& each) { return now - each.second >= kAuditBindLag; });
  if (known) notice_deeds(before, seen);
  if (known && before.offered && before.offered != sight.offered) seen.carried.emplace_back(*before.offered, now);
  if (first || before.origin != sight.origin) seen.offered_at = now;
  judge(seen);
}

void Auditor::gone(const std::string& node, base::MonotonicTime now) {
  const auto at = nodes_.find(node);
  if (at == nodes_.end()) return;
  advance(at->second, now);
  nodes_.erase(at);
}

void Auditor::without_node(const std::string& node_manager, const AuditRm& rm) {
  AuditFinding& finding = findings_[{node_manager, Reason::kYarnMismatch}];
  finding.reason = Reason::kYarnMismatch;
  finding.node = node_manager;
  finding.times = 1;
  finding.worst = larger(finding.worst, rm.total);
  finding.example = base::cat("no node is this NodeManager's, and its ResourceManager may hand out ", show(rm.total),
                              " there, of which ", show(rm.used), " are held");
}

void Auditor::until(base::MonotonicTime now, base::WallTime wall) {
  for (auto& [name, seen] : nodes_) {
    advance(seen, now);
    seen.wall = wall;
  }
}

void Auditor::look_away(base::MonotonicTime now) {
  for (auto& [name, seen] : nodes_) {
    advance(seen, now);
    seen.looked_at = false;
    seen.active.clear();
    seen.deeds.clear();
    seen.carried.clear();
  }
}

std::vector<AuditFinding> Auditor::findings() const {
  std::vector<AuditFinding> all;
  for (const auto& [key, finding] : findings_) all.push_back(finding);
  std::sort(all.begin(), all.end(), [](const AuditFinding& a, const AuditFinding& b) {
    if (is_mistake(a.reason) != is_mistake(b.reason)) return is_mistake(a.reason);
    if (a.reason != b.reason) return a.reason < b.reason;
    if (a.worst.cpu != b.worst.cpu) return a.worst.cpu > b.worst.cpu;
    return a.node < b.node;
  });
  return all;
}

}  // namespace tidemark::cli
