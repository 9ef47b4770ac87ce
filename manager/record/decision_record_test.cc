// A decision from the journal is the decision that was made: the same input, the same bytes, whatever the node.
#include "manager/record/decision_record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/hash.h"
#include "journal/frame.h"
#include "manager/record/decision_fields.h"
#include "manager/record/replay.h"
#include "manager/testing/random_decision.h"

namespace tidemark::manager {
namespace {

constexpr base::WallTime kStart{std::chrono::hours(24 * 365 * 56)};

journal::Start start_record() {
  journal::Start start;
  start.schema = kRecordSchema;
  start.version = kPolicyVersion;
  start.owner = reason_table();
  return start;
}

// As a segment of a journal.
std::string segment_of(const std::vector<journal::Entry>& entries, const journal::Start& start = start_record()) {
  std::string bytes;
  journal::append_frame(bytes, encode(start));
  for (const auto& entry : entries) {
    for (const auto& blob : entry.needs) journal::append_frame(bytes, encode(*blob));
    journal::append_frame(bytes, entry.payload);
  }
  return bytes;
}

policy::waterline::LineOverrides overrides_at(base::WallTime now) {
  return {{{40, std::nullopt}, now + std::chrono::minutes(5), "ann@ops", "a fire drill", now},
          {{std::nullopt, 30}, now + std::chrono::hours(2), "bob@ops", "", now}};
}

TEST(DecisionRecord, ReplayIsExactForAnySeed) {
  std::size_t bytes = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    base::Random random(seed);
    const Revision revision = testing::draw_revision(random);
    const auto settings = settings_blob(revision);
    policy::sell::OfferState state;
    std::vector<journal::Entry> entries;
    std::vector<std::string> outcomes;
    const model::NodeSnapshot first = testing::draw_snapshot(random, kStart, seed % 4 == 0);
    for (int step = 0; step < 5; ++step) {
      const base::WallTime now{kStart.since_epoch + std::chrono::minutes(7 * step)};
      DecisionBasis basis = testing::draw_basis(random, now);
      basis.state = state;
      if (seed % 3 == 0) basis.in_force.overrides = overrides_at(now);
      if (seed % 5 == 0) basis.origin.least = testing::draw_amount(random, 9);
      if (seed % 2 == 0) testing::draw_orders(random, basis);
      const auto snapshot = step == 0 ? first : testing::draw_snapshot(random, now, seed % 4 == 0);
      const auto decision = decide(snapshot, basis, revision);
      state = decision.state;
      entries.push_back(draft(decision, settings));
      finish(entries.back(), done_of(decision, model::Reason::kWriteMoved, RecordedResult::kWritten, "", 3));
      outcomes.push_back(outcome_bytes(outcome_of(decision)));
      bytes += entries.back().payload.size();
    }
    const auto segment = journal::Segment::parse(segment_of(entries));
    auto decisions = *RecordedDecisions::make(segment);
    ASSERT_EQ(segment.records().size(), entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const auto replayed = decisions.replay(segment.records()[i]);
      ASSERT_TRUE(replayed) << replayed.error().message;
      EXPECT_TRUE(replayed->same) << "seed " << seed << " step " << i;
      EXPECT_TRUE(replayed->record.outcome == outcomes[i]);
      EXPECT_EQ(replayed->record.done.epoch, 3);
      EXPECT_TRUE(outcome_bytes(*decisions.reader().decode_outcome(outcomes[i])) == outcomes[i]);
    }
  }
  RecordProperty("bytes_a_decision", static_cast<int>(bytes / 2000));
}

// Not the offer alone: what the node was to carry is made again from it.
TEST(DecisionRecord, ReplaysOffersLimitedByOrders) {
  int withdrawn = 0, cut = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    base::Random random(seed);
    const Revision revision = testing::draw_revision(random);
    auto basis = testing::draw_basis(random, kStart);
    testing::draw_orders(random, basis);
    auto decision = decide(testing::draw_snapshot(random, kStart), basis, revision);
    withdrawn += basis.kubernetes.withdrawn && decision.offer.plan.publish != decision.plan().publish ? 1 : 0;
    cut += basis.in_force.cuts_only && decision.offer.plan.publish != decision.plan().publish ? 1 : 0;
    std::vector<journal::Entry> entries{draft(decision, settings_blob(revision))};
    const model::ExtendedResources published = decision.plan().publish;
    decision.obeyed.plan.publish.batch_cpu = model::CpuMilli{-1};  // as if what orders left had been another number
    entries.push_back(draft(decision, settings_blob(revision)));
    for (auto& entry : entries) finish(entry, {});
    const auto segment = journal::Segment::parse(segment_of(entries));
    auto decisions = *RecordedDecisions::make(segment);
    const auto replayed = decisions.replay(segment.records()[0]);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_TRUE(replayed->same) << "seed " << seed;
    EXPECT_EQ(replayed->record.basis, basis) << "seed " << seed;
    EXPECT_EQ(replayed->decision.plan().publish, published) << "seed " << seed;
    const auto other = decisions.replay(segment.records()[1]);
    ASSERT_TRUE(other) << other.error().message;
    EXPECT_FALSE(other->same) << "seed " << seed;
    const auto changes = differences(*decisions.as_recorded(*other), other->decision);
    ASSERT_EQ(changes.size(), 1U) << "seed " << seed;
    EXPECT_EQ(changes[0].field, "onNode.batch-cpu");
    EXPECT_EQ(changes[0].before, "-1");
  }
  EXPECT_GT(withdrawn, 10);
  EXPECT_GT(cut, 5);
}

TEST(DecisionRecord, DoesNotDependOnTheOrderOfPodsAndReports) {
  base::Random random(5);
  const Revision revision = testing::draw_revision(random);
  const auto settings = settings_blob(revision);
  for (int round = 0; round < 50; ++round) {
    auto snapshot = testing::draw_snapshot(random, kStart);
    const auto basis = testing::draw_basis(random, kStart);
    const auto one = draft(decide(snapshot, basis, revision), settings);
    std::reverse(snapshot.pods.begin(), snapshot.pods.end());
    if (snapshot.metric) std::reverse(snapshot.metric->pods.begin(), snapshot.metric->pods.end());
    EXPECT_TRUE(draft(decide(snapshot, basis, revision), settings).payload == one.payload) << round;
  }
}

TEST(DecisionRecord, ShowsDifferencesToAnotherPolicyByField) {
  base::Random random(1);
  const Revision revision = testing::draw_revision(random);
  auto decision = decide(testing::draw_snapshot(random, kStart), testing::draw_basis(random, kStart), revision);
  ASSERT_EQ(decision.plan().action, policy::sell::PlanAction::kPublish);
  decision.offer.plan.batch_cpu.published.value += 5;  // as if the policy of then had given more
  auto entry = draft(decision, settings_blob(revision));
  finish(entry, {});
  auto start = start_record();
  start.version = kPolicyVersion - 1;
  const auto segment = journal::Segment::parse(segment_of({entry}, start));
  auto decisions = *RecordedDecisions::make(segment);
  const auto replayed = decisions.replay(segment.records()[0]);
  ASSERT_TRUE(replayed);
  EXPECT_FALSE(replayed->same);
  const auto changes = differences(*decisions.as_recorded(*replayed), replayed->decision);
  ASSERT_FALSE(changes.empty());
  EXPECT_NE(changes[0].field.find("batch-cpu"), std::string::npos) << changes[0].field;
  EXPECT_NE(changes[0].before, changes[0].after);
}

// Writes records of the schema before.
class OldWriter : public FieldWriter {
 public:
  using FieldWriter::FieldWriter;
  static constexpr std::int64_t kSchema = kRecordSchemaOldest;
};

TEST(DecisionRecord, ReadsTheSchemaBefore) {
  static_assert(kRecordSchema == kRecordSchemaOldest + 1 && kRecordSchema == kRecordSchemaOrders);
  int with_ledger = 0;
  auto start = start_record();
  start.schema = kRecordSchemaOldest;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    base::Random random(seed);
    const Revision revision = testing::draw_revision(random);
    const DecisionBasis basis = testing::draw_basis(random, kStart);
    const auto decision = decide(testing::draw_snapshot(random, kStart), basis, revision);
    if (decision.offer.ledger) ++with_ledger;
    std::string outcome;
    OldWriter outcome_writer(outcome);
    const DecisionOutcome came_out = outcome_of(decision);
    io(outcome_writer, came_out);
    auto entry = draft(decision, settings_blob(revision));
    // The schema ends the basis with orders: absent, `false`, `false`. The outcome stands behind them.
    std::string tail;
    FieldWriter tail_writer(tail);
    all(tail_writer, decision.basis.in_force.orders, decision.basis.in_force.cuts_only,
        decision.basis.node.has_yarn_offer);
    tail_writer.text(outcome_bytes(came_out));
    ASSERT_TRUE(entry.payload.ends_with(tail));
    entry.payload.resize(entry.payload.size() - tail.size());
    OldWriter writer(entry.payload);
    writer.text(outcome);
    finish(entry, {});
    const auto segment = journal::Segment::parse(segment_of({entry}, start));
    auto decisions = *RecordedDecisions::make(segment);
    const auto replayed = decisions.replay(segment.records()[0]);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_TRUE(replayed->same) << "seed " << seed;
    EXPECT_EQ(replayed->record.basis, basis) << "seed " << seed;
  }
  EXPECT_GT(with_ledger, 10);
  start.schema = kRecordSchemaOldest - 1;
  EXPECT_FALSE(RecordedDecisions::make(journal::Segment::parse(segment_of({}, start))));
}

// The numbers alone would let the offer grow when it is made again.
TEST(DecisionRecord, KeepsNegativeMeasurements) {
  int held = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    base::Random random(seed);
    const Revision revision = testing::draw_revision(random);
    auto snapshot = testing::draw_snapshot(random, kStart);
    const auto basis = testing::draw_basis(random, kStart);
    if (!snapshot.metric) continue;
    snapshot.metric->below_zero = true;
    const auto decision = decide(snapshot, basis, revision);
    const auto& safeguards = decision.offer.plan.safeguards;
    held += std::ranges::count(safeguards, model::Reason::kSafeCutsOnly) > 0 ? 1 : 0;
    auto entry = draft(decision, settings_blob(revision));
    finish(entry, {});
    const auto segment = journal::Segment::parse(segment_of({entry}));
    auto decisions = *RecordedDecisions::make(segment);
    const auto replayed = decisions.replay(segment.records()[0]);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_TRUE(replayed->same) << "seed " << seed;
    EXPECT_TRUE(replayed->record.snapshot.metric->below_zero);
  }
  EXPECT_GT(held, 0);
}

TEST(DecisionRecord, KeepsEffectsOfEvictions) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    base::Random random(seed);
    const Revision revision = testing::draw_revision(random);
    auto basis = testing::draw_basis(random, kStart);
    basis.in_force.guard = {true, true};
    basis.kubernetes.sold = {{0, testing::draw_amount(random, 20)}};
    const auto decision = decide(testing::draw_snapshot(random, kStart), basis, revision);
    auto entry = draft(decision, settings_blob(revision));
    finish(entry, {});
    const auto segment = journal::Segment::parse(segment_of({entry}));
    auto decisions = *RecordedDecisions::make(segment);
    const auto replayed = decisions.replay(segment.records()[0]);
    ASSERT_TRUE(replayed) << replayed.error().message;
    EXPECT_TRUE(replayed->same) << "seed " << seed;
    EXPECT_EQ(replayed->record.basis, basis);
    EXPECT_EQ(decisions.as_recorded(*replayed)->offer.stopped, decision.offer.stopped);
  }
}

TEST(DecisionRecord, KeepsOverrides) {
  base::Random random(1);
  const Revision revision = testing::draw_revision(random);
  auto basis = testing::draw_basis(random, kStart);
  basis.in_force.overrides = overrides_at(kStart);
  const auto decision = decide(testing::draw_snapshot(random, kStart), basis, revision);
  ASSERT_TRUE(decision.offer.line);
  EXPECT_EQ(decision.offer.line->cpu.hold, 40);
  EXPECT_EQ(decision.offer.line->memory.hold, 30);
  auto entry = draft(decision, settings_blob(revision));
  finish(entry, {});
  const auto segment = journal::Segment::parse(segment_of({entry}));
  auto decisions = *RecordedDecisions::make(segment);
  const auto replayed = decisions.replay(segment.records()[0]);
  ASSERT_TRUE(replayed);
  EXPECT_TRUE(replayed->same);
  EXPECT_EQ(replayed->record.basis.in_force.overrides, basis.in_force.overrides);
}

// Enumerations grow in the middle: a record tells a reason by its id.
TEST(DecisionRecord, KeepsReasonsOfTheWriterDespiteRenumbering) {
  base::Random random(1);
  const Revision revision = testing::draw_revision(random);
  const auto decision = decide(testing::draw_snapshot(random, kStart), testing::draw_basis(random, kStart), revision);
  auto entry = draft(decision, settings_blob(revision));
  finish(entry, {});
  auto start = start_record();
  start.owner = "TM-NEWER-001\n" + start.owner;  // of a writer with one reason more, in front of all
  const auto segment = journal::Segment::parse(segment_of({entry}, start));
  auto decisions = *RecordedDecisions::make(segment);
  const auto replayed = decisions.replay(segment.records()[0]);
  EXPECT_FALSE(replayed && replayed->same) << "the numbers mean something else there";
  start.schema = kRecordSchema + 1;
  const auto newer = RecordedDecisions::make(journal::Segment::parse(segment_of({entry}, start)));
  ASSERT_FALSE(newer);
  EXPECT_NE(newer.error().message.find("this program reads"), std::string::npos);
}

// Reasons by their ids: their numbers change with every reason that is added.
class IdWriter : public FieldWriter {
 public:
  using FieldWriter::FieldWriter;
  void reason(model::Reason reason) { text(model::reason_id(reason)); }
};

// Another hash with the same version: either a policy gives other outcomes for the same input now (raise kPolicyVersion
// in decision_record.h and put the new hash here), or an outcome has other fields (then kRecordSchema too).
TEST(DecisionRecord, PolicyVersionMatchesTheOutcomes) {
  base::TextHash hash;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    base::Random random(seed);
    const Revision revision = testing::draw_revision(random);
    const auto decision = decide(testing::draw_snapshot(random, kStart), testing::draw_basis(random, kStart), revision);
    std::string bytes;
    IdWriter writer(bytes);
    const DecisionOutcome outcome = outcome_of(decision);
    io(writer, outcome);
    hash.add(bytes);
  }
  EXPECT_EQ(kPolicyVersion, 9);
  EXPECT_EQ(hash.hex(), "5283391416ff47a4");
}

}  // namespace
}  // namespace tidemark::manager
