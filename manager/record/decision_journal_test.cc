// Which decisions are kept. What a record holds is in decision_record_test.
#include "manager/record/decision_journal.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "journal/reader.h"
#include "manager/testing/random_decision.h"
#include "net/testing/loop.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using model::Reason;

class DecisionJournalConcurrentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "decisions-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    base::Random random(1);
    revision = testing::draw_revision(random);
    snapshot = testing::draw_snapshot(random, clock.wall());
    basis = testing::draw_basis(random, clock.wall());
    journal = std::make_unique<DecisionJournal>(loop, log, metrics, JournalOptions{folder, 16}, "test");
    journal->start();
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  // What a controller does with a decision that changes something; `later` than the one before.
  void decide_and_end(base::Duration later, RecordedResult result, const std::string& error = "") {
    basis.mono = basis.mono + later;
    basis.state = {};
    const auto decision = decide(snapshot, basis, revision);
    auto draft = journal->begin(decision, revision, true);
    ASSERT_TRUE(draft);
    journal->end(std::move(draft), done_of(decision, Reason::kWriteMoved, result, error, 1));
  }
  // Records on disk by now.
  std::size_t kept() {
    const auto drain = [this]() -> net::Task<bool> {
      co_await journal->drain(30s);
      co_return true;
    };
    EXPECT_TRUE(net::testing::run_task(loop, drain()));
    std::size_t count = 0;
    const auto reader = *journal::Reader::open(folder);
    for (std::size_t i = 0; i < reader.segments(); ++i) count += (*reader.read(i))->records().size();
    return count;
  }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::string folder;
  Revision revision;
  model::NodeSnapshot snapshot;
  DecisionBasis basis;
  std::unique_ptr<DecisionJournal> journal;
};

TEST_F(DecisionJournalConcurrentTest, RecordsARepeatedlyRefusedWriteOncePerHour) {
  for (int i = 0; i < 100; ++i) decide_and_end(30s, RecordedResult::kFailed, "forbidden");
  EXPECT_EQ(kept(), 1u);
  decide_and_end(30s, RecordedResult::kFailed, "the server is away");
  EXPECT_EQ(kept(), 2u) << "refused for another reason";
  for (int i = 0; i < 100; ++i) decide_and_end(1min, RecordedResult::kFailed, "the server is away");
  EXPECT_EQ(kept(), 3u);
}

TEST_F(DecisionJournalConcurrentTest, RecordsChangesOfLeadership) {
  journal->leads(false, 1, {});
  EXPECT_EQ(kept(), 0u) << "it never led";
  const base::WallTime then{5h};
  for (int i = 0; i < 3; ++i) journal->leads(true, 2, then);
  for (int i = 0; i < 3; ++i) journal->leads(false, 2, then + 1h);
  EXPECT_EQ(kept(), 2u);
  const auto segment = *(*journal::Reader::open(folder)).read(0);
  EXPECT_EQ(decode_lead(segment->records()[0]), (LeadRecord{then, true, 2}));
  EXPECT_EQ(decode_lead(segment->records()[1]), (LeadRecord{then + 1h, false, 2}));
  EXPECT_EQ(decode_lead(segment->records()[0].substr(0, 3)), std::nullopt);
}

TEST_F(DecisionJournalConcurrentTest, RecordsATermLostAndWonBetweenTwoPasses) {
  journal->leads(true, 2, {});
  journal->leads(true, 4, base::WallTime{1h});
  journal->leads(true, 4, base::WallTime{2h});
  EXPECT_EQ(kept(), 2u);
  const auto segment = *(*journal::Reader::open(folder)).read(0);
  EXPECT_EQ(decode_lead(segment->records()[1]), (LeadRecord{base::WallTime{1h}, true, 4}));
}

TEST_F(DecisionJournalConcurrentTest, RecordsStartAndEndOfReportOutages) {
  journal->unheard({1min, false}, base::WallTime{1h});
  EXPECT_EQ(kept(), 0u) << "nothing was decided before";
  decide_and_end(30s, RecordedResult::kWritten);
  for (int i = 0; i < 3; ++i) journal->unheard({3min + i * 1min, true}, base::WallTime{2h + i * 1min});
  for (int i = 0; i < 3; ++i) journal->unheard({10min, false}, base::WallTime{3h});
  journal->unheard({11min, false}, base::WallTime{4h});
  EXPECT_EQ(kept(), 4u);
  for (int i = 1; i <= 2; ++i) {
    journal->unheard({11min + i * 25s, true}, base::WallTime{5h + i * 1min});
    journal->unheard({11min + i * 25s, false}, base::WallTime{6h + i * 1min});
  }
  EXPECT_EQ(kept(), 4u) << "less than a minute together";
  journal->unheard({12min, true}, base::WallTime{7h});
  EXPECT_EQ(kept(), 5u);
  const auto segment = *(*journal::Reader::open(folder)).read(0);
  const auto& records = segment->records();
  EXPECT_EQ(decode_silence(records[1]), (SilenceRecord{base::WallTime{2h}, 2min, true}));
  EXPECT_EQ(decode_silence(records[2]), (SilenceRecord{base::WallTime{3h}, 7min, false}));
  EXPECT_EQ(decode_silence(records[3]), (SilenceRecord{base::WallTime{4h}, 1min, false})) << "between two looks";
  EXPECT_EQ(decode_silence(records[1].substr(0, 3)), std::nullopt);
  EXPECT_EQ(decode_silence(records[0]), std::nullopt);
}

TEST_F(DecisionJournalConcurrentTest, RecordsWritesAndLaterFailures) {
  decide_and_end(30s, RecordedResult::kFailed, "forbidden");
  for (int i = 0; i < 3; ++i) decide_and_end(30s, RecordedResult::kWritten);
  EXPECT_EQ(kept(), 4u);
  decide_and_end(30s, RecordedResult::kFailed, "forbidden");
  EXPECT_EQ(kept(), 5u);
  snapshot.name = "another";
  decide_and_end(0s, RecordedResult::kFailed, "forbidden");
  EXPECT_EQ(kept(), 6u) << "of another node";
}

}  // namespace
}  // namespace tidemark::manager
