// Past decisions and writes, with time, author, node and reason: from the decision journals of managers, the audit
// files of processes, and the Kubernetes events of Tidemark's components. Newest first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kube/client.h"
#include "net/loop.h"

namespace tidemark::operate {

enum class DecisionSource : std::uint8_t { kJournal, kAudit, kEvent };
std::string_view to_string(DecisionSource);

struct Decision {
  base::WallTime at;
  DecisionSource source = DecisionSource::kJournal;
  std::string by;      // the process or person
  std::string object;  // "Node/web-1", "Pod/jobs/etl-1"
  std::string node;    // "" if it is about no node, or about one that is unknown
  std::string pool;    // of that node; "" if unknown
  // Of a journal "written", "unchanged" or "failed"; of an audit the verb; of an event its reason.
  std::string action;
  std::string reason;  // an id of model/reason.h; "" without one
  std::string text;    // the sentence of the reason, or the message of the event
  // Of a journal: what the node was to carry.
  std::optional<std::int64_t> batch_cpu_milli, batch_memory_bytes;
  std::string before, after;  // of an audit: JSON; "" if unknown
  std::string outcome;        // "done", "refused", "unknown"; "" of an event
  std::string detail;         // the error, or why it was written
};

struct DecisionFiles {
  std::vector<std::string> journals;  // directories
  std::vector<std::string> audits;    // files, with those that they were before
  bool empty() const { return journals.empty() && audits.empty(); }
};

struct DecisionQuery {
  std::string node{};    // exact; empty: all
  std::string pool{};    // the same
  std::string reason{};  // the beginning of an id: "TM-EVICT"
  std::string person{};  // a part of `by`
  std::optional<base::WallTime> since{}, until{};
  std::size_t limit = 200;
  // The pools of nodes now: audits and events do not record them.
  std::map<std::string, std::string, std::less<>> pools{};
};

struct DecisionsFound {
  std::vector<Decision> decisions;
  bool more = false;                     // older ones match too
  std::vector<std::string> notes;        // what could not be read, or was not searched
  std::size_t journals = 0, audits = 0;  // that were searched
};

inline constexpr std::size_t kDecisionsMax = 10'000;          // of one answer
inline constexpr std::size_t kDecisionsDecodedMax = 100'000;  // of one journal and one question

// Waits for the disk: for a command, or a worker. A file that cannot be read becomes a note.
DecisionsFound find_decisions(const DecisionFiles& files, const DecisionQuery& query);

// Events of Tidemark's components that the API server still has: it keeps them for an hour by default.
net::Task<Result<std::vector<Decision>>> list_events(net::EventLoop& loop, kube::Client& client, base::Duration limit);

// Adds the events that match, and decisions that were read elsewhere.
void add_events(DecisionsFound& found, std::vector<Decision> events, const DecisionQuery& query);

// A row for each decision, after a row of names. Cells that a spreadsheet would take as a formula begin with '.
std::string decisions_csv(const std::vector<Decision>& decisions);

}  // namespace tidemark::operate
