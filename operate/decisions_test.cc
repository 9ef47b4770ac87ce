// Past decisions from files that the real writers wrote: a decision journal and an audit file.
#include "operate/decisions.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "manager/record/decision_journal.h"
#include "manager/testing/random_decision.h"
#include "model/audit_line.h"
#include "model/reason.h"
#include "net/testing/loop.h"

namespace tidemark::operate {
namespace {

using namespace std::chrono_literals;

class DecisionsConcurrentTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "decisions-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    files = {{folder + "/journal"}, {folder + "/audit.jsonl"}};
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  // A journal with `count` decisions about each of two nodes, a minute apart.
  void write_journal(int count) {
    base::Random random(7);
    const manager::Revision revision = manager::testing::draw_revision(random);
    manager::DecisionJournal journal(loop, log, metrics, {folder + "/journal", 16}, "manager-1");
    journal.start();
    for (int i = 0; i < count; ++i) {
      for (const char* node : {"web-1", "web-2"}) {
        model::NodeSnapshot snapshot = manager::testing::draw_snapshot(random, start + i * 1min);
        snapshot.name = node;
        const manager::DecisionBasis basis = manager::testing::draw_basis(random, start + i * 1min);
        const auto decision = manager::decide(snapshot, basis, revision);
        auto draft = journal.begin(decision, revision, true);
        ASSERT_TRUE(draft);
        journal.end(std::move(draft),
                    manager::done_of(decision, model::Reason::kWriteMoved, manager::RecordedResult::kWritten, "", 1));
      }
    }
    const auto drain = [&]() -> net::Task<bool> {
      co_await journal.drain(30s);
      co_return true;
    };
    ASSERT_TRUE(net::testing::run_task(loop, drain()));
  }
  void write_audit(base::Duration after, std::string actor, std::string node, model::Reason reason,
                   model::AuditOutcome outcome = model::AuditOutcome::kDone) {
    model::AuditLine line;
    line.time = start + after;
    line.actor = std::move(actor);
    line.verb = "patch";
    line.kind = "Node";
    line.name = std::move(node);
    line.new_value = R"({"metadata":{"labels":{"tidemark.io/state":"off"}}})";
    line.reason = model::reason_id(reason);
    line.outcome = outcome;
    std::ofstream(files.audits[0], std::ios::app) << model::to_string(line) << "\n";
  }
  DecisionsFound find(DecisionQuery query = {}) { return find_decisions(files, query); }

  base::SystemClock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::string folder;
  DecisionFiles files;
  const base::WallTime start{std::chrono::seconds(1'790'000'000)};
};

TEST_F(DecisionsConcurrentTest, ReadsAJournalNewestFirst) {
  write_journal(5);
  files.audits.clear();
  const DecisionsFound found = find();
  ASSERT_EQ(found.decisions.size(), 10u);
  EXPECT_FALSE(found.more);
  EXPECT_TRUE(found.notes.empty()) << found.notes.front();
  EXPECT_EQ(found.decisions.front().at, start + 4min);
  EXPECT_EQ(found.decisions.back().at, start);
  for (const Decision& each : found.decisions) {
    EXPECT_EQ(each.by, "manager-1");
    EXPECT_EQ(each.action, "written");
    EXPECT_TRUE(each.reason.starts_with("TM-")) << each.reason;
    EXPECT_FALSE(each.text.empty());
    EXPECT_FALSE(each.pool.empty()) << "the pool is that of the settings then";
    EXPECT_EQ(each.object, "Node/" + each.node);
  }
}

TEST_F(DecisionsConcurrentTest, FiltersByNodeTimeReasonAndPool) {
  write_journal(5);
  EXPECT_EQ(find({.node = "web-1"}).decisions.size(), 5u);
  EXPECT_EQ(find({.node = "web-3"}).decisions.size(), 0u);
  EXPECT_EQ(find({.since = start + 3min}).decisions.size(), 4u);
  EXPECT_EQ(find({.until = start + 1min}).decisions.size(), 4u);
  const Decision one = find().decisions.front();
  for (const Decision& each : find({.reason = one.reason}).decisions) EXPECT_EQ(each.reason, one.reason);
  for (const Decision& each : find({.pool = one.pool}).decisions) EXPECT_EQ(each.pool, one.pool);
  EXPECT_FALSE(find({.pool = one.pool}).decisions.empty());
  EXPECT_TRUE(find({.pool = "nowhere"}).decisions.empty());
}

TEST_F(DecisionsConcurrentTest, ReportsThatOlderOnesMatch) {
  write_journal(5);
  const DecisionsFound found = find({.limit = 3});
  EXPECT_EQ(found.decisions.size(), 3u);
  EXPECT_TRUE(found.more);
  EXPECT_EQ(found.decisions.front().at, start + 4min);
}

TEST_F(DecisionsConcurrentTest, MergesWritesOfPersonsFromTheAudit) {
  write_journal(2);
  write_audit(30s, "ann@ops-1", "web-1", model::Reason::kWriteAsked);
  write_audit(2min, "manager m-1", "web-2", model::Reason::kWriteMoved, model::AuditOutcome::kRefused);
  const DecisionsFound all = find({.pools = {{"web-1", "night"}}});
  ASSERT_EQ(all.decisions.size(), 6u);
  EXPECT_EQ(all.decisions[0].outcome, "refused");
  const DecisionsFound of_ann = find({.person = "ann", .pools = {{"web-1", "night"}}});
  ASSERT_EQ(of_ann.decisions.size(), 1u);
  const Decision& order = of_ann.decisions[0];
  EXPECT_EQ(order.source, DecisionSource::kAudit);
  EXPECT_EQ(order.node, "web-1");
  EXPECT_EQ(order.pool, "night") << "an audit does not record the pool: it is that of now";
  EXPECT_EQ(order.action, "patch");
  EXPECT_NE(order.text, "") << "the sentence of the reason";
  EXPECT_NE(order.after.find("tidemark.io/state"), std::string::npos);
}

TEST_F(DecisionsConcurrentTest, ReportsFilesThatCannotBeRead) {
  const DecisionsFound found = find();
  EXPECT_TRUE(found.decisions.empty());
  EXPECT_EQ(found.notes.size(), 2u) << "no journal, no audit";
  std::ofstream(files.audits[0]) << "not a line of an audit\n";
  EXPECT_NE(find().notes.back().find("1 lines are not readable"), std::string::npos) << find().notes.back();
}

TEST(DecisionsCsv, QuotesCellsAndDisarmsFormulas) {
  Decision decision;
  decision.by = "=1+1";
  decision.text = "said \"no\", twice";
  decision.batch_cpu_milli = 4000;
  const std::string csv = decisions_csv({decision});
  EXPECT_TRUE(csv.starts_with("time,source,by,object,")) << csv;
  EXPECT_NE(csv.find(R"("'=1+1")"), std::string::npos) << csv;
  EXPECT_NE(csv.find(R"("said ""no"", twice")"), std::string::npos) << csv;
  EXPECT_NE(csv.find(R"("4000","")"), std::string::npos) << csv;
}

}  // namespace
}  // namespace tidemark::operate
