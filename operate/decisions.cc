#include "operate/decisions.h"

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "journal/read_lines.h"
#include "journal/reader.h"
#include "kube/objects.h"
#include "manager/record/decision_record.h"
#include "manager/settings/revision.h"
#include "model/audit_line.h"
#include "model/reason.h"
#include "operate/list_pages.h"
#include "policy/waterline/pools.h"

namespace tidemark::operate {
namespace {

// An audit line has two values of at most kAuditValueMax, an error and names.
constexpr std::size_t kLineMax = std::size_t{64} << 10;
constexpr std::string_view kAgent = "agent ";  // begins the actor of an agent; its node follows
// Components that write Kubernetes events.
constexpr std::array<std::string_view, 3> kComponents = {"tidemark-manager", "tidemark-webhooks",
                                                         "tidemark-yarn-operator"};

bool in_time(const DecisionQuery& query, base::WallTime at) {
  return (!query.since || at >= *query.since) && (!query.until || at <= *query.until);
}

bool matches(const DecisionQuery& query, const Decision& decision) {
  return in_time(query, decision.at) && (query.node.empty() || decision.node == query.node) &&
         (query.pool.empty() || decision.pool == query.pool) && decision.reason.starts_with(query.reason) &&
         (query.person.empty() || decision.by.find(query.person) != std::string::npos);
}

std::string pool_now(const DecisionQuery& query, std::string_view node) {
  const auto found = query.pools.find(node);
  return found == query.pools.end() ? "" : found->second;
}

// The sentence of an id; "" if this program does not know the id.
std::string sentence_of(std::string_view id) {
  static const auto sentences = [] {
    std::map<std::string_view, std::string_view> out;
    for (const model::ReasonInfo& each : model::all_reasons()) out[each.id] = each.sentence;
    return out;
  }();
  const auto found = sentences.find(id);
  return found == sentences.end() ? "" : std::string(found->second);
}

void note_once(std::vector<std::string>& notes, std::string note) {
  if (std::ranges::find(notes, note) == notes.end()) notes.push_back(std::move(note));
}

// ---- journals ----

// The settings of one segment's decisions, each read once.
class PoolsThen {
 public:
  explicit PoolsThen(const journal::Segment& segment) : segment_(segment) {}
  std::string of(const manager::DecisionRecord& record) {
    auto [at, added] = revisions_.try_emplace(record.settings);
    if (added) {
      const auto blob = segment_.blob(record.settings);
      auto revision = blob ? manager::settings_of(*blob) : Result<manager::Revision>(fail(ErrorKind::kNotFound, ""));
      if (revision) at->second = std::make_unique<manager::Revision>(*std::move(revision));
    }
    return at->second ? policy::waterline::pool_of(at->second->tidemark, record.basis.node.labels).name : "";
  }

 private:
  const journal::Segment& segment_;
  std::map<std::uint64_t, std::unique_ptr<manager::Revision>> revisions_;
};

Decision decision_of(const manager::DecisionRecord& record, const manager::DecisionOutcome& outcome,
                     const journal::Start& start, std::string pool) {
  Decision out;
  out.at = record.basis.now;
  out.source = DecisionSource::kJournal;
  out.by = start.identity;
  out.node = record.snapshot.name;
  out.object = base::cat("Node/", out.node);
  out.pool = std::move(pool);
  out.action = to_string(record.done.result);
  out.reason = model::reason_id(outcome.plan.reason);
  out.text = model::reason_sentence(outcome.plan.reason);
  if (const auto& cpu = record.done.publish.batch_cpu) out.batch_cpu_milli = cpu->value;
  if (const auto& memory = record.done.publish.batch_memory) out.batch_memory_bytes = memory->value;
  const bool failed = record.done.result == manager::RecordedResult::kFailed;
  out.outcome = failed ? "refused" : "done";
  out.detail = base::cat(model::reason_sentence(record.done.why), " [", model::reason_id(record.done.why), "]",
                         record.done.error.empty() ? "" : "; ", record.done.error);
  return out;
}

struct JournalSearch {
  const DecisionQuery& query;
  std::size_t decoded = 0;
  std::vector<Decision> decisions;  // newest first
  bool more = false;
  bool full() const { return more || decoded >= kDecisionsDecodedMax; }
};

// From the last record to the first.
Result<void> search(const journal::Segment& segment, JournalSearch& search) {
  if (!segment.start()) return {};
  TM_TRY(const auto reader, manager::RecordReader::make(*segment.start()));
  PoolsThen pools(segment);
  const auto blob = [&](std::uint64_t hash) { return segment.blob(hash); };
  const auto& records = segment.records();
  for (auto payload = records.rbegin(); payload != records.rend() && !search.full(); ++payload) {
    if (!manager::is_decision(*payload)) continue;
    const auto heading = reader.heading(*payload);
    if (!heading || !in_time(search.query, heading->now)) continue;
    if (!search.query.node.empty() && heading->node != search.query.node) continue;
    ++search.decoded;
    TM_TRY(const auto record, reader.decode(*payload, blob));
    TM_TRY(const auto outcome, reader.decode_outcome(record.outcome));
    Decision decision = decision_of(record, outcome, *segment.start(), pools.of(record));
    if (!matches(search.query, decision)) continue;
    if (search.decisions.size() == search.query.limit) {
      search.more = true;
    } else {
      search.decisions.push_back(std::move(decision));
    }
  }
  return {};
}

void read_journal(const std::string& directory, const DecisionQuery& query, DecisionsFound& found) {
  const auto reader = journal::Reader::open(directory);
  if (!reader) return note_once(found.notes, reader.error().message);
  JournalSearch state{.query = query, .decisions = {}};
  journal::Damage damage;
  for (std::size_t place = reader->segments(); place-- > 0 && !state.full();) {
    const auto segment = reader->read(place);
    if (!segment) {
      note_once(found.notes, segment.error().message);
      continue;
    }
    if (!*segment) continue;
    damage += (*segment)->damage();
    if (const auto done = search(**segment, state); !done) note_once(found.notes, done.error().message);
  }
  if (state.decoded >= kDecisionsDecodedMax) {
    found.notes.push_back(base::cat("the journal in ", directory, ": only its last ", kDecisionsDecodedMax,
                                    " decisions in this time were searched; name a node or an earlier end"));
  }
  if (const std::string hurt = describe(damage); !hurt.empty()) {
    found.notes.push_back(base::cat("the journal in ", directory, ": ", hurt));
  }
  found.more |= state.more;
  std::ranges::move(state.decisions, std::back_inserter(found.decisions));
}

// ---- audits ----

std::string node_of(const model::AuditLine& line) {
  if (line.kind == "Node" || line.kind == "NodeMetric" || line.kind == "NodeSLO" ||
      line.kind == "NodeResourceTopology") {
    return line.name;
  }
  return line.actor.starts_with(kAgent) ? line.actor.substr(kAgent.size()) : "";
}

std::string_view outcome_word(model::AuditOutcome outcome) {
  return outcome == model::AuditOutcome::kDone      ? "done"
         : outcome == model::AuditOutcome::kRefused ? "refused"
                                                    : "unknown";
}

Decision decision_of(model::AuditLine line, const DecisionQuery& query) {
  Decision out;
  out.at = line.time;
  out.source = DecisionSource::kAudit;
  out.node = node_of(line);
  out.pool = pool_now(query, out.node);
  out.object = base::cat(line.kind, "/", line.ns, line.ns.empty() ? "" : "/", line.name, line.part.empty() ? "" : "/",
                         line.part);
  out.by = std::move(line.actor);
  out.action = std::move(line.verb);
  out.reason = std::move(line.reason);
  out.text = sentence_of(out.reason);
  out.before = std::move(line.old_value);
  out.after = std::move(line.new_value);
  out.outcome = outcome_word(line.outcome);
  out.detail = std::move(line.detail);
  return out;
}

void read_audit(const std::string& path, const DecisionQuery& query, DecisionsFound& found) {
  std::deque<Decision> last;
  std::uint64_t unreadable = 0, lost = 0;
  bool more = false;
  const auto read = journal::read_kept_lines(path, kLineMax, [&](std::string_view text) {
    auto line = model::parse_audit_line(text);
    if (!line) {
      ++unreadable;
      return;
    }
    lost += line->lost;
    if (line->lost > 0 || !in_time(query, line->line.time)) return;
    Decision decision = decision_of(std::move(line->line), query);
    if (!matches(query, decision)) return;
    last.push_back(std::move(decision));
    if (last.size() <= query.limit) return;
    last.pop_front();
    more = true;
  });
  if (!read) return note_once(found.notes, read.error().message);
  if (read->files == 0) found.notes.push_back(base::cat("there is no audit file ", path));
  unreadable += read->too_long;
  if (unreadable > 0) found.notes.push_back(base::cat(path, ": ", unreadable, " lines are not readable"));
  if (lost > 0) found.notes.push_back(base::cat(path, ": ", lost, " lines were lost when they were written"));
  found.more |= more;
  std::ranges::move(last, std::back_inserter(found.decisions));
}

void sort_and_cut(DecisionsFound& found, std::size_t limit) {
  std::ranges::sort(found.decisions, [](const Decision& a, const Decision& b) {
    if (a.at != b.at) return a.at > b.at;
    return std::tie(a.source, a.by, a.object, a.action) < std::tie(b.source, b.by, b.object, b.action);
  });
  if (found.decisions.size() <= limit) return;
  found.decisions.resize(limit);
  found.more = true;
}

// The id in "… [TM-EVICT-012]: …"; "" without one.
std::string id_in(std::string_view message) {
  const auto begin = message.find("[TM-");
  if (begin == std::string_view::npos) return "";
  const auto end = message.find(']', begin);
  return end == std::string_view::npos ? "" : std::string(message.substr(begin + 1, end - begin - 1));
}

std::string csv_cell(std::string_view text) {
  std::string out = "\"";
  if (!text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos) out += '\'';
  for (const char each : text) {
    if (each == '"') out += '"';
    out += each;
  }
  return out + '"';
}

}  // namespace

std::string_view to_string(DecisionSource source) {
  constexpr std::array<std::string_view, 3> kWords = {"journal", "audit", "event"};
  return kWords[static_cast<std::size_t>(source)];
}

DecisionsFound find_decisions(const DecisionFiles& files, const DecisionQuery& query) {
  DecisionsFound found;
  found.journals = files.journals.size();
  found.audits = files.audits.size();
  for (const auto& directory : files.journals) read_journal(directory, query, found);
  for (const auto& path : files.audits) read_audit(path, query, found);
  sort_and_cut(found, query.limit);
  return found;
}

net::Task<Result<std::vector<Decision>>> list_events(net::EventLoop& loop, kube::Client& client, base::Duration limit) {
  std::vector<Decision> out;
  kube::Interner interner;
  for (const std::string_view component : kComponents) {
    const std::size_t before = out.size();
    kube::ListOptions list;
    list.field_selector = base::cat("source=", component);
    TM_CO_TRY_VOID(co_await list_pages(
        loop, client, kube::kEvents, std::move(list), limit,
        [&](std::string_view item) -> Result<void> {
          TM_TRY(const auto event, kube::decode_event(item, kube::MetaFields(), interner));
          const auto at = event.last ? event.last : event.first;
          if (!at) return {};
          Decision decision;
          decision.at = *at;
          decision.source = DecisionSource::kEvent;
          decision.by = event.component.view();
          const std::string_view ns = event.about_ns.view();
          decision.object = base::cat(event.about_kind.view(), "/", ns, ns.empty() ? "" : "/", event.about_name.view());
          if (event.about_kind.view() == "Node") decision.node = event.about_name.view();
          decision.action = event.reason.view();
          decision.reason = id_in(event.message);
          decision.text = event.message;
          if (event.count > 1) decision.detail = base::cat(event.count, " times");
          out.push_back(std::move(decision));
          return {};
        },
        [&] { out.resize(before); }));
  }
  co_return out;
}

void add_events(DecisionsFound& found, std::vector<Decision> events, const DecisionQuery& query) {
  for (Decision& event : events) {
    if (event.pool.empty()) event.pool = pool_now(query, event.node);
    if (matches(query, event)) found.decisions.push_back(std::move(event));
  }
  sort_and_cut(found, query.limit);
}

std::string decisions_csv(const std::vector<Decision>& decisions) {
  std::string out =
      "time,source,by,object,node,pool,action,reason,text,batchCpuMilli,batchMemoryBytes,outcome,detail\r\n";
  for (const Decision& each : decisions) {
    const auto number = [](const std::optional<std::int64_t>& value) { return value ? base::cat(*value) : ""; };
    const std::array<std::string, 13> cells = {base::format_rfc3339(each.at),
                                               std::string(to_string(each.source)),
                                               each.by,
                                               each.object,
                                               each.node,
                                               each.pool,
                                               each.action,
                                               each.reason,
                                               each.text,
                                               number(each.batch_cpu_milli),
                                               number(each.batch_memory_bytes),
                                               each.outcome,
                                               each.detail};
    for (std::size_t i = 0; i < cells.size(); ++i) out += base::cat(i == 0 ? "" : ",", csv_cell(cells[i]));
    out += "\r\n";
  }
  return out;
}

}  // namespace tidemark::operate
