// The commands that read a journal, against what stands in it and what became of it on the disk.
#include "cli/look_back.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "journal/frame.h"
#include "manager/record/decision_record.h"
#include "manager/testing/random_decision.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;
using manager::RecordedResult;

constexpr base::MonotonicTime kMono{std::chrono::hours(30)};
constexpr base::WallTime kStart{std::chrono::hours(24 * 365 * 56)};

class LookBackTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "look-back-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    base::Random random(7);
    const auto revision = manager::testing::draw_revision(random);
    const auto settings = manager::settings_blob(revision);
    auto snapshot = manager::testing::draw_snapshot(random, kStart);
    snapshot.name = "n1";
    model::PodView known{.id = {}, .request = {model::CpuMilli{4000}, model::MemoryBytes{4096}}};
    known.warm_up = {250, model::Resources{model::CpuMilli{1500}, model::MemoryBytes{2048}}};
    model::PodView unknown = known;
    unknown.warm_up = {1000, std::nullopt};
    snapshot.pods = {known, unknown};
    journal::Start start;
    start.schema = manager::kRecordSchema;
    start.version = manager::kPolicyVersion;
    start.program = "tidemark test";
    start.identity = "one";
    start.opened = kStart;
    start.owner = manager::reason_table();
    journal::append_frame(bytes, encode(start));
    begun = bytes.size();
    for (int i = 0; i < 3; ++i) {
      auto basis = manager::testing::draw_basis(random, kStart + i * 1min);
      if (i == 2) {  // the last one has the values that only the manager knows
        basis.mono = kMono;
        basis.evicted.kubernetes = kMono + -20s;
        basis.in_force.guard = {true, true};
        basis.state.motion = {};
        basis.kubernetes.withdrawn = basis.yarn.book.withdrawn = false;
      }
      motion = policy::waterline::pool_of(revision.tidemark, basis.node.labels).motion;
      const auto decision = manager::decide(snapshot, basis, revision);
      auto entry = manager::draft(decision, settings);
      manager::finish(entry, manager::done_of(decision, model::Reason::kWriteMoved, RecordedResult::kWritten, "", 1));
      if (i == 0) journal::append_frame(bytes, encode(*settings));
      for (const auto& blob : entry.needs) {
        if (blob != nullptr && blob != settings) journal::append_frame(bytes, encode(*blob));
      }
      last = bytes.size();
      journal::append_frame(bytes, entry.payload);
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  void write(const std::string& segment) {
    std::ofstream(folder + "/0000000000000001.tmj", std::ios::binary) << segment;
  }
  std::string with_damage(std::size_t at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
    return damaged;
  }
  ReplayReport replay() {
    ReplayOptions options;
    options.directory = folder;
    const auto report = replay_journal(options);
    EXPECT_TRUE(report) << report.error().message;
    return report.value_or(ReplayReport());
  }
  std::string explain(base::Duration after) {
    const auto text = explain_node_at({folder, "n1", kStart + after, false});
    return text ? *text : text.error().message;
  }
  static bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

  std::string folder;
  std::string bytes;
  std::size_t begun = 0;       // the first byte behind the start record
  std::size_t last = 0;        // the first byte of the last decision
  model::MotionConfig motion;  // of the last decision's pool
};

TEST_F(LookBackTest, ReplayIsExactIfAllIsReadable) {
  write(bytes);
  const auto report = replay();
  EXPECT_TRUE(report.exact) << report.text;
  EXPECT_TRUE(says(report.text, "3 decisions made again: 3 the same, 0 otherwise, 0 not readable")) << report.text;
}

TEST_F(LookBackTest, DamagedSegmentStartIsNotExact) {
  write(with_damage(begun - 1));
  const auto report = replay();
  EXPECT_FALSE(report.exact) << report.text;
  EXPECT_TRUE(says(report.text, "0 decisions made again: 0 the same, 0 otherwise, 3 not readable")) << report.text;
}

TEST_F(LookBackTest, DamageInTheMiddleIsNotExact) {
  write(with_damage(last - 1));
  const auto report = replay();
  EXPECT_FALSE(report.exact) << report.text;
  EXPECT_TRUE(says(report.text, "2 decisions made again")) << report.text;
  EXPECT_TRUE(says(report.text, "damaged bytes")) << report.text;
}

TEST_F(LookBackTest, ShowsAllKeptInputs) {
  write(bytes);
  const std::string text = explain(5min);
  EXPECT_TRUE(says(text, "\nfrom\n  Node n1")) << text;
  EXPECT_TRUE(says(text, "as recorded")) << text;
  const auto json = explain_node_at({folder, "n1", kStart + 5min, true});
  ASSERT_TRUE(json);
  const Json told = *Json::parse(*json);
  const auto& sources = told.member("sources")->as_array();
  ASSERT_GE(sources.size(), 4u);
  EXPECT_EQ(sources[0].text_at("object"), "Node n1");
  EXPECT_TRUE(sources[0].member("recorded")->as_bool());
  EXPECT_EQ(sources[0].text_at("revision"), "4711");
  EXPECT_EQ(sources[1].text_at("object"), "NodeMetric n1");
  EXPECT_EQ(sources[1].text_at("revision"), "4712");
  EXPECT_TRUE(says(text, "revision 4711, as recorded")) << text;
  for (const Json& source : sources) {
    if (source.text_at("object") == "pods of n1") EXPECT_NE(source.member("count"), nullptr);
  }
}

TEST_F(LookBackTest, ShowsStateThatOnlyManagerHad) {
  write(bytes);
  const auto json = explain_node_at({folder, "n1", kStart + 5min, true});
  ASSERT_TRUE(json);
  const Json told = *Json::parse(*json);
  EXPECT_TRUE(told.at("evictions", "stopped")->as_bool());
  EXPECT_TRUE(told.at("evictions", "overReportGivenUp")->as_bool());
  EXPECT_EQ(told.at("evictions", "last", "secondsAgo")->get_int().value_or(-1), 20);
  EXPECT_EQ(told.text_at("evictions", "last", "toldBy"), "as the manager saw it");
  EXPECT_EQ(told.text_at("revision", "here"), "unknown");
  const auto& young = told.member("youngPods")->as_array();
  ASSERT_EQ(young.size(), 2U);
  EXPECT_TRUE(young[0].member("pod")->is_null()) << "a record has no names of pods";
  EXPECT_EQ(young[0].at("expected", "cpu")->get_int().value_or(0), 1500);
  EXPECT_EQ(young[1].text_at("reason", "id"), "TM-SAFE-010");
  const std::string text = explain(5min);
  EXPECT_TRUE(says(text, "a pod: 250 ‰ of its ramp left, requests 4000m and 4096 (4.0 KiB), about to use 1500m and "))
      << text;
  EXPECT_TRUE(says(text, "histories of workloads")) << text;
  EXPECT_TRUE(says(text, "evictions of the pool: sells nothing new")) << text;
}

// The record is of 2 minutes after the beginning, and its manager's clock is another than ours.
TEST_F(LookBackTest, UsesLastDecisionUnlessAnotherManagerLedSince) {
  write(bytes);
  const auto seen = remembered_of(folder, "n1", kStart + 5min);
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->now, kMono + 3min);
  EXPECT_EQ(seen->evicted.kubernetes, kMono + -20s);
  EXPECT_EQ(seen->decided, kStart + 2min);
  EXPECT_EQ(seen->who, "one at 2025-12-18T00:02:00Z");
  EXPECT_FALSE(remembered_of(folder, "n2", kStart + 5min));
  EXPECT_TRUE(says(remembered_of(folder, "n1", kStart + 3h).error().message, "may not have led"));
  journal::append_frame(bytes, encode(manager::LeadRecord{kStart + 4min, false, 3}));
  write(bytes);
  EXPECT_TRUE(remembered_of(folder, "n1", kStart + 3min));
  EXPECT_TRUE(says(remembered_of(folder, "n1", kStart + 5min).error().message, "no longer led from"));
}

// The manager subtracts such time from its memory (policy/sell), and so does the reader.
TEST_F(LookBackTest, ManagerOutageIsNotNodeSilence) {
  const auto recorded = bytes;
  const auto unheard = [&](std::vector<manager::SilenceRecord> records, base::Duration after) {
    bytes = recorded;
    for (const auto& record : records) journal::append_frame(bytes, encode(record));
    write(bytes);
    const auto seen = remembered_of(folder, "n1", kStart + after);
    EXPECT_TRUE(seen);
    return seen ? seen->unheard : -1s;
  };
  EXPECT_EQ(unheard({}, 50min), 0s);
  // The decision is of the second minute.
  const manager::SilenceRecord begins{kStart + 4min, 1min, true}, ends{kStart + 14min, 10min, false};
  EXPECT_EQ(unheard({begins, ends}, 50min), 11min);
  EXPECT_EQ(unheard({begins, ends, {kStart + 20min, 2min, false}}, 50min), 13min);
  EXPECT_EQ(unheard({begins, ends}, 9min), 6min) << "as it was known then";
  EXPECT_EQ(unheard({begins}, 50min), 47min) << "it goes on";
  EXPECT_EQ(unheard({{kStart + 1min, 1min, true}, ends}, 50min), 9min) << "the decision knew of a minute of it";
  EXPECT_EQ(unheard({{kStart + 1min, 1min, true}}, 50min), 48min);
  EXPECT_EQ(unheard({{kStart + 1min, 1min, false}}, 50min), 0s);
  EXPECT_EQ(unheard({ends}, 50min), 10min);
  EXPECT_EQ(unheard({{kStart + 3min, 10min, false}}, 50min), 1min) << "the rest was before the decision";
  EXPECT_EQ(unheard({{kStart + 3min, -10min, false}, {kStart + 4min, base::Duration::max(), false}}, 50min), 1min);
  unheard({}, 50min);
  const auto plain = *remembered_of(folder, "n1", kStart + 50min);
  unheard({begins, ends}, 50min);
  const auto state = remembered_of(folder, "n1", kStart + 50min)->state;
  EXPECT_NE(state, plain.state);
  EXPECT_EQ(state, policy::sell::without_unheard(plain.state, 11min, motion, plain.now));
  journal::append_frame(bytes, std::string(1, manager::kSilenceRecord + 1) + "of a newer program");
  write(bytes);
  EXPECT_TRUE(replay().exact);
}

TEST_F(LookBackTest, SilenceEndsWithItsProcess) {
  journal::append_frame(bytes, encode(manager::SilenceRecord{kStart + 4min, 1min, true}));
  write(bytes);
  const auto next = [&](const char* identity) {
    journal::Start start;
    start.schema = manager::kRecordSchema;
    start.version = manager::kPolicyVersion;
    start.identity = identity;
    start.opened = kStart + 10min;
    start.owner = manager::reason_table();
    std::string segment;
    journal::append_frame(segment, encode(start));
    std::ofstream(folder + "/0000000000000002.tmj", std::ios::binary) << segment;
    const auto seen = remembered_of(folder, "n1", kStart + 50min);
    return seen ? seen->unheard : -1s;
  };
  EXPECT_EQ(next("one"), 47min) << "it is only another file";
  EXPECT_EQ(next("two"), 1min);
}

// Another process leads: what stands in this one's journal is long replaced.
TEST_F(LookBackTest, ReportsLongSilence) {
  write(bytes);
  EXPECT_FALSE(says(explain(1h), "nothing was recorded")) << explain(1h);
  const std::string late = explain(3h);
  EXPECT_TRUE(says(late, "nothing was recorded about the node in the 2h58m0s after that")) << late;
  EXPECT_TRUE(says(late, "may not have led")) << late;
}

TEST_F(LookBackTest, ReportsLostLeadership) {
  journal::append_frame(bytes, encode(manager::LeadRecord{kStart + 10min, false, 3}));
  journal::append_frame(bytes, encode(manager::LeadRecord{kStart + 30min, true, 5}));
  write(bytes);
  EXPECT_FALSE(says(explain(5min), "no longer led")) << explain(5min);
  EXPECT_TRUE(says(explain(20min), "no longer led from 2025-12-18T00:10:00Z on (epoch 3)")) << explain(20min);
  EXPECT_FALSE(says(explain(40min), "no longer led")) << explain(40min);
  const auto report = replay();
  EXPECT_TRUE(report.exact) << report.text;
  EXPECT_TRUE(says(report.text, "3 decisions made again")) << report.text;
}

}  // namespace
}  // namespace tidemark::cli
