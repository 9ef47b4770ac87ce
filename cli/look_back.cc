#include "cli/look_back.h"

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "journal/reader.h"
#include "manager/capacity/decide.h"
#include "manager/record/decision_journal.h"
#include "manager/record/replay.h"
#include "model/reason.h"
#include "policy/explain/grounds_text.h"
#include "policy/explain/offer_text.h"
#include "policy/explain/overcommit_text.h"
#include "policy/explain/sources_text.h"
#include "policy/waterline/pools.h"

namespace tidemark::cli {
namespace {

// A decision may wait for the disk before the segment that it comes into is begun.
constexpr base::Duration kBeforeItsSegment = std::chrono::minutes(10);

// The leader records a decision of each unchanged node too: a longer silence means that another process led, or none.
constexpr base::Duration kSilentMax = manager::kSampleEvery + std::chrono::minutes(10);

base::Duration whole_seconds(base::Duration length) {
  return std::chrono::duration_cast<std::chrono::seconds>(length);
}

std::string moment(base::WallTime time) {
  return base::format_rfc3339(time);
}

std::string done_text(const manager::DecisionDone& done) {
  std::string out =
      base::cat(to_string(done.result), " [", model::reason_id(done.why), "]: ", model::reason_sentence(done.why));
  if (!done.error.empty()) out += base::cat("; ", done.error);
  return out;
}

// What the decision rested on, as far as a record tells; those of older versions do not tell which revisions of
// objects.
std::vector<policy::explain::Source> sources_then(const manager::DecisionRecord& record,
                                                  const policy::explain::Grounds& grounds) {
  const std::string& node = record.snapshot.name;
  const auto& metric = record.snapshot.metric;
  std::vector<policy::explain::Source> sources;
  const auto add = [&](std::string object, std::string gives, std::vector<std::string_view> terms,
                       std::string revision = "") {
    sources.push_back(
        {std::move(object), std::move(revision), std::nullopt, std::nullopt, std::move(gives), std::move(terms), true});
  };
  const manager::ObjectRevisions& revisions = record.basis.node.revisions;
  add(base::cat("Node ", node),
      "capacity, what the kubelet reserves, the node's own settings, what YARN and third parties hold",
      {"capacity", "reservedByKubelet", "reservedByAnnotation", "thirdParty", "onNode", "pool", "offer"},
      revisions.node);
  if (metric) {
    add(base::cat("NodeMetric ", node), "what the system, pods and host applications use",
        {"systemUsed", "highPriority", "prodReclaimable", "nodeUnused"}, revisions.metric);
    if (metric->update_time) sources.back().age = record.basis.now - *metric->update_time;
  }
  if (!revisions.topology.empty()) {
    add(base::cat("NodeResourceTopology ", node), "NUMA zones, the processor",
        {"zones", "normalization", "ratioPercent"}, revisions.topology);
  }
  add(base::cat("pods of ", node), "what they request", {"highPriority", "prodRequest"});
  sources.back().count = record.snapshot.pods.size();
  const auto known = std::ranges::count_if(grounds.young, [](const auto& pod) { return pod.expected.has_value(); });
  if (known > 0) {
    add("histories of workloads", "what young pods are about to use", {"highPriority", "youngPods"});
    sources.back().count = static_cast<std::size_t>(known);
  }
  add(base::cat("settings ", grounds.settings.hash),
      "percentages, policies and ratios, pool, calendar, profile, ledger",
      {"margin", "cap", "policy", "unallocatedShare", "staticShare", "normalization", "ratioPercent", "amplification",
       "pool", "settings", "revision", "offer"});
  if (record.basis.in_force.guard != policy::sell::PoolGuard()) {
    add("budgets", "what evictions let the pool do", {"evictions", "offer"});
  }
  if (!record.basis.in_force.overrides.empty()) {
    add("overrides of the water line", "temporary water lines, set by a person", {"offer"});
    sources.back().count = record.basis.in_force.overrides.size();
  }
  add("memory of the manager", "what the node was offered, could be offered lately, and when work was evicted there",
      {"evictions", "offer"});
  return sources;
}

std::string explanation(const manager::NodeDecision& decision, const policy::explain::Grounds& grounds,
                        const std::vector<policy::explain::Source>& sources, const std::vector<std::string>& notes,
                        bool json) {
  const policy::explain::OfferNames names{
      decision.strategy().profile, decision.calendar, &decision.basis.in_force.overrides,
      policy::sell::back_off_left(*decision.pool, decision.basis.evicted, decision.basis.mono)};
  if (json) {
    Json out = policy::explain::render_json(decision.offer.plan, decision.snapshot, decision.strategy());
    policy::explain::add_json(out, grounds);
    out["offer"] = policy::explain::render_json(decision.offer, names);
    out["sources"] = policy::explain::render_json(sources);
    out["notes"] = Json::array();
    for (const auto& note : notes) out["notes"].as_array().push_back(Json(note));
    return out.dump_pretty() + "\n";
  }
  std::string out = policy::explain::render_text(decision.offer.plan, decision.snapshot, decision.strategy());
  out += policy::explain::render_text(decision.offer, names);
  out += policy::explain::render_text(grounds);
  out += policy::explain::render_text(sources);
  for (const auto& note : notes) out += base::cat("note: ", note, "\n");
  return out;
}

// The last decision about the node up to `at` that came about on the node.
struct Search {
  std::optional<std::string_view> found;
  std::optional<manager::DecisionDone> failed;   // a later one that did not come about
  std::optional<manager::LeadRecord> lead;       // the last one up to then
  std::vector<manager::SilenceRecord> silences;  // all up to then
};

Result<Search> last_before(const journal::Segment& segment, const manager::RecordedDecisions& decisions,
                           const LookBack& options) {
  Search search;
  const auto find = [&segment](std::uint64_t hash) { return segment.blob(hash); };
  for (const std::string_view payload : segment.records()) {
    if (const auto lead = manager::decode_lead(payload); lead && lead->at <= options.at) search.lead = lead;
    if (const auto silence = manager::decode_silence(payload); silence && silence->at <= options.at) {
      search.silences.push_back(*silence);
    }
    const auto heading = decisions.reader().heading(payload);
    if (!heading || heading->node != options.node || heading->now > options.at) continue;
    TM_TRY(const auto record, decisions.reader().decode(payload, find));
    if (record.done.result == manager::RecordedResult::kFailed) {
      search.failed = record.done;
    } else {
      search.found = payload;
      search.failed.reset();
    }
  }
  return search;
}

// How much of the time since a decision its process could hear of no node, by what it told of that.
base::Duration unheard_since(base::WallTime decided, base::WallTime until,
                             const std::vector<manager::SilenceRecord>& silences) {
  base::Duration sum{0};
  base::WallTime told = decided;          // up to there
  std::optional<base::WallTime> goes_on;  // since when its length is not recorded
  for (const auto& silence : silences) {
    if (silence.at > told) {
      const base::Duration grew = std::clamp(silence.grew, base::Duration(0), silence.at - told);
      sum += grew;
      if (goes_on && *goes_on < decided) sum -= std::min(grew, decided - *goes_on);  // it knew of that
      told = silence.at;
    }
    goes_on = silence.lasts ? std::optional(silence.at) : std::nullopt;
  }
  if (goes_on) sum += std::max(until - std::max(*goes_on, decided), base::Duration(0));
  return sum;
}

std::unexpected<Error> out_of_reach(const LookBack& options, std::optional<base::WallTime> oldest,
                                    const journal::Damage& damage) {
  std::string reach = oldest ? base::cat("it begins at ", moment(*oldest)) : std::string("it is empty");
  if (const std::string hurt = describe(damage); !hurt.empty()) reach += base::cat("; ", hurt);
  return fail(ErrorKind::kNotFound, "the journal in ", options.directory, " has no decision about node ",
              base::in_quotes(options.node), " at or before ", moment(options.at), ": ", reach);
}

}  // namespace

std::optional<base::WallTime> parse_moment(std::string_view text, base::WallTime now) {
  if (const auto time = base::parse_rfc3339(text)) return time;
  const auto ago = base::parse_go_duration(text);
  if (!ago || *ago < base::Duration(0) || *ago > now.since_epoch) return std::nullopt;
  return base::WallTime{now.since_epoch - *ago};
}

namespace {

// The last decision up to a time, made again, with what else its journal tells.
struct FoundDecision {
  const journal::Start& start;
  const manager::RecordedDecisions& decisions;
  const manager::Replayed& replayed;
  std::optional<manager::DecisionDone> failed;  // a later one that did not come about
  std::optional<manager::LeadRecord> lead;      // the last one up to then
  journal::Damage damage;
  base::Duration unheard;  // since then its process could hear of no node for so long
  std::string elsewhere;   // why another journal has to be asked what was in force; "" where nothing says so
};

std::string other_journal(const LookBack& options, base::WallTime decided, const FoundDecision& found) {
  if (found.lead && !found.lead->leads && found.lead->at >= decided) {
    return base::cat("this process no longer led from ", moment(found.lead->at), " on (epoch ", found.lead->epoch,
                     "); the journal of the process that led shows what was in force");
  }
  const auto silent = options.at - decided;
  if (found.failed || silent <= kSilentMax) return "";
  return base::cat(
      "nothing was recorded about the node in the ", base::format_go_duration(whole_seconds(silent)),
      " after that, but a leader records every node once an hour: this process may not have led or run then. "
      "The journal of the process that led shows what was in force");
}

// An error where there is none. What `use` is given lasts as long as the call.
Result<void> with_last(const LookBack& options, const std::function<Result<void>(const FoundDecision&)>& use) {
  TM_TRY(const auto reader, journal::Reader::open(options.directory));
  std::optional<base::WallTime> oldest;
  journal::Damage damage;
  std::optional<manager::DecisionDone> failed;
  std::optional<manager::LeadRecord> lead;
  std::vector<manager::SilenceRecord> silences;
  std::optional<journal::Start> next;  // of the segment after
  for (std::size_t place = reader.segments(); place-- > 0;) {
    TM_TRY(const auto segment, reader.read(place));
    if (!segment || !segment->start()) continue;
    damage += segment->damage();
    oldest = segment->start()->opened;
    if (segment->start()->opened.since_epoch - kBeforeItsSegment > options.at.since_epoch) continue;
    TM_TRY(auto decisions, manager::RecordedDecisions::make(*segment));
    TM_TRY(const auto search, last_before(*segment, decisions, options));
    if (search.failed && !failed) failed = search.failed;
    if (search.lead && !lead) lead = search.lead;
    // A process that ended meanwhile says of no silence that it is over.
    if (next && next->identity != segment->start()->identity) {
      silences.insert(silences.begin(), {next->opened, {}, false});
    }
    next = *segment->start();
    silences.insert(silences.begin(), search.silences.begin(), search.silences.end());
    if (!search.found) continue;
    TM_TRY(const auto replayed, decisions.replay(*search.found));
    const base::WallTime decided = replayed.record.basis.now;
    const base::Duration unheard = unheard_since(decided, options.at, silences);
    FoundDecision found{*segment->start(), decisions, replayed, failed, lead, damage, unheard, {}};
    found.elsewhere = other_journal(options, decided, found);
    return use(found);
  }
  return out_of_reach(options, oldest, damage);
}

// What a record tells of it. The pods of a record have no names, and it does not say how far a roll-out had come.
policy::explain::Grounds grounds_then(const manager::DecisionRecord& record, const manager::Revision& revision) {
  const model::Pool& pool = policy::waterline::pool_of(revision.tidemark, record.basis.node.labels);
  policy::explain::Grounds grounds;
  grounds.now = record.basis.now;
  grounds.settings.hash = revision.hash;
  grounds.settings.pool = pool.name;
  grounds.settings.canary = pool.canary;
  grounds.evictions.guard = record.basis.in_force.guard;
  grounds.evictions.back_off = model::back_off_of(pool);
  if (const auto evicted = record.basis.evicted.last()) {
    grounds.evictions.evicted_ago = record.basis.mono - *evicted;
    grounds.evictions.side = record.basis.evicted.last_side();
    grounds.evictions.told_by = "as the manager saw it";
  }
  for (const model::PodView& pod : record.snapshot.pods) {
    if (pod.warm_up) grounds.young.push_back(policy::explain::young_pod(pod, record.snapshot));
  }
  return grounds;
}

}  // namespace

Result<std::string> explain_node_at(const LookBack& options) {
  std::string answer;
  TM_TRY_VOID(with_last(options, [&](const FoundDecision& found) -> Result<void> {
    TM_TRY(const auto decision, found.decisions.as_recorded(found.replayed));
    const manager::DecisionRecord& record = found.replayed.record;
    std::vector<std::string> notes;
    notes.push_back(base::cat("decided at ", moment(record.basis.now), " by ", found.start.identity, " (",
                              found.start.program, ", policy ", found.start.version, "), ", done_text(record.done)));
    notes.push_back(
        base::cat("state then: ", record.done.state, "; the node was to carry batch-cpu ",
                  record.done.publish.batch_cpu ? base::cat(record.done.publish.batch_cpu->value) : "none"));
    if (found.failed) notes.push_back(base::cat("a later decision did not come about: ", done_text(*found.failed)));
    if (!found.elsewhere.empty()) notes.push_back(found.elsewhere);
    if (!found.replayed.same) {
      notes.emplace_back(
          base::cat("this program (policy ", manager::kPolicyVersion, ") would decide otherwise; `replay` shows how"));
    }
    if (const std::string hurt = describe(found.damage); !hurt.empty()) {
      notes.push_back(base::cat("the journal: ", hurt));
    }
    const auto* revision = found.decisions.settings(record.settings);
    if (revision->texts.tidemark) {
      notes.emplace_back(
          "the journal does not record whether all nodes had these settings; `list revisions` shows when each took "
          "effect");
    }
    const policy::explain::Grounds grounds = grounds_then(record, *revision);
    answer = explanation(decision, grounds, sources_then(record, grounds), notes, options.json);
    return {};
  }));
  return answer;
}

Result<operate::Remembered> remembered_of(const std::string& directory, const std::string& node, base::WallTime now) {
  operate::Remembered remembered;
  TM_TRY_VOID(with_last({directory, node, now, false}, [&](const FoundDecision& found) -> Result<void> {
    if (!found.elsewhere.empty()) return fail(ErrorKind::kNotFound, found.elsewhere);
    if (!found.replayed.same) {
      return fail(ErrorKind::kUnsupported, "the manager's policy (", found.start.version,
                  ") comes to something else than this program's");
    }
    const manager::DecisionBasis& basis = found.replayed.record.basis;
    const auto* revision = found.decisions.settings(found.replayed.record.settings);
    const model::Pool& pool = policy::waterline::pool_of(revision->tidemark, basis.node.labels);
    remembered.now = basis.mono + std::max(now - basis.now, base::Duration(0));
    remembered.state =
        policy::sell::without_unheard(found.replayed.decision.state, found.unheard, pool.motion, remembered.now);
    remembered.unheard = found.unheard;
    remembered.least_ever = basis.origin.least;
    remembered.evicted = basis.evicted;
    remembered.decided = basis.now;
    remembered.who = base::cat(found.start.identity, " at ", moment(basis.now));
    return {};
  }));
  return remembered;
}

namespace {

struct Totals {
  std::size_t decisions = 0;
  std::size_t same = 0;
  std::size_t differ = 0;
  std::size_t broken = 0;                     // of the version that this program is: then it should have been the same
  std::size_t unreadable = 0;                 // records, or whole segments
  std::map<std::string, std::size_t> fields;  // how often each differs
};

struct Shown {
  base::WallTime now;
  std::string node;
  std::string reason;  // of the decision now
  std::vector<manager::FieldChange> changes;
};

std::string report_text(const Totals& totals, const std::vector<Shown>& shown, const std::vector<std::string>& notes) {
  std::string out;
  for (const Shown& each : shown) {
    out += base::cat(moment(each.now), " ", each.node, " [", each.reason, "]\n");
    for (const auto& change : each.changes) {
      out += base::cat("  ", change.field, ": ", change.before, " -> ", change.after, "\n");
    }
  }
  if (totals.differ > shown.size()) out += base::cat("… and ", totals.differ - shown.size(), " decisions more\n");
  out += base::cat(totals.decisions, " decisions made again: ", totals.same, " the same, ", totals.differ,
                   " otherwise, ", totals.unreadable, " not readable\n");
  for (const auto& [field, count] : totals.fields) out += base::cat("  ", field, ": ", count, "\n");
  for (const auto& note : notes) out += base::cat("note: ", note, "\n");
  return out;
}

std::string report_json(const Totals& totals, const std::vector<Shown>& shown, const std::vector<std::string>& notes) {
  const auto count = [](std::size_t value) { return Json(static_cast<std::int64_t>(value)); };
  Json out = Json::object({{"schema", 1},
                           {"policy", manager::kPolicyVersion},
                           {"decisions", count(totals.decisions)},
                           {"same", count(totals.same)},
                           {"differ", count(totals.differ)},
                           {"unreadable", count(totals.unreadable)},
                           {"fields", Json::object()},
                           {"differences", Json::array()},
                           {"notes", Json::array()}});
  for (const auto& [field, times] : totals.fields) out["fields"][field] = count(times);
  for (const Shown& each : shown) {
    Json changes = Json::array();
    for (const auto& change : each.changes) {
      changes.as_array().push_back(Json::object(
          {{"field", Json(change.field)}, {"before", Json(change.before)}, {"after", Json(change.after)}}));
    }
    out["differences"].as_array().push_back(Json::object({{"time", Json(moment(each.now))},
                                                          {"node", Json(each.node)},
                                                          {"reason", Json(each.reason)},
                                                          {"changes", std::move(changes)}}));
  }
  for (const auto& note : notes) out["notes"].as_array().push_back(Json(note));
  return out.dump_pretty() + "\n";
}

}  // namespace

Result<ReplayReport> replay_journal(const ReplayOptions& options) {
  TM_TRY(const auto reader, journal::Reader::open(options.directory));
  Totals totals;
  std::vector<Shown> shown;
  std::vector<std::string> notes;
  journal::Damage damage;
  const auto unreadable = [&](std::size_t records, const Error& why) {
    totals.unreadable += records;
    if (std::find(notes.begin(), notes.end(), why.message) == notes.end()) notes.push_back(why.message);
  };
  for (std::size_t place = 0; place < reader.segments(); ++place) {
    TM_TRY(const auto segment, reader.read(place));
    if (!segment) continue;
    damage += segment->damage();
    totals.unreadable += segment->damage().unreadable;
    auto decisions = manager::RecordedDecisions::make(*segment);
    if (!decisions) {
      unreadable(segment->records().size(), decisions.error());
      continue;
    }
    for (const std::string_view payload : segment->records()) {
      if (!manager::is_decision(payload)) continue;
      const auto heading = decisions->reader().heading(payload);
      if (heading) {
        if (!options.node.empty() && heading->node != options.node) continue;
        if (options.since && heading->now < *options.since) continue;
        if (options.until && heading->now > *options.until) continue;
      }
      const auto replayed = decisions->replay(payload);
      if (!replayed) {
        unreadable(1, replayed.error());
        continue;
      }
      ++totals.decisions;
      if (replayed->same) {
        ++totals.same;
        continue;
      }
      const auto before = decisions->as_recorded(*replayed);
      if (!before) {
        unreadable(1, before.error());
        continue;
      }
      ++totals.differ;
      if (segment->start()->version == manager::kPolicyVersion) ++totals.broken;
      auto changes = manager::differences(*before, replayed->decision);
      if (changes.empty()) changes.push_back({"(memory, or a term that is not shown)", "-", "-"});
      for (const auto& change : changes) ++totals.fields[change.field];
      if (shown.size() < options.shown_max) {
        shown.push_back({replayed->record.basis.now, replayed->record.snapshot.name,
                         std::string(model::reason_id(replayed->decision.plan().reason)), std::move(changes)});
      }
    }
  }
  if (totals.broken > 0) {
    notes.push_back(base::cat(totals.broken, " of them were made by policy ", manager::kPolicyVersion,
                              ", which is this program's: the same should have come out. Please report it"));
  }
  if (const std::string hurt = describe(damage); !hurt.empty()) notes.push_back(base::cat("the journal: ", hurt));
  if (totals.decisions == 0 && totals.unreadable == 0 && damage.damaged_bytes == 0) {
    return fail(ErrorKind::kNotFound, "the journal in ", options.directory, " has no decision that was asked for");
  }
  ReplayReport report;
  report.exact = totals.differ == 0 && totals.unreadable == 0 && damage.damaged_bytes == 0;
  report.text = options.json ? report_json(totals, shown, notes) : report_text(totals, shown, notes);
  return report;
}

}  // namespace tidemark::cli
