// A recorded decision made again by this program's policy.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "journal/reader.h"
#include "manager/record/decision_record.h"

namespace tidemark::manager {

struct FieldChange {
  std::string field;  // "batch-cpu.published"
  std::string before;
  std::string after;
  bool operator==(const FieldChange&) const = default;
};

struct Replayed {
  DecisionRecord record;
  NodeDecision decision;  // by this program
  bool same = false;      // the same bytes came out
};

// One segment with what its records rest on. It must stay in place while decisions of it are in use.
class RecordedDecisions {
 public:
  static Result<RecordedDecisions> make(const journal::Segment& segment);

  const RecordReader& reader() const { return reader_; }
  Result<Replayed> replay(std::string_view payload);
  // The decision as it was made then; where this program's policy comes to something else it is made up of what was
  // recorded.
  Result<NodeDecision> as_recorded(const Replayed& replayed) const;
  const Revision* settings(std::uint64_t hash) const;

 private:
  RecordedDecisions(const journal::Segment& segment, RecordReader reader)
      : segment_(&segment), reader_(std::move(reader)) {}
  const journal::Segment* segment_;
  RecordReader reader_;
  std::map<std::uint64_t, std::unique_ptr<const Revision>> revisions_;
};

// What differs between two decisions on one node, as `explain -o json` names it, sorted by field.
std::vector<FieldChange> differences(const NodeDecision& before, const NodeDecision& after);

}  // namespace tidemark::manager
