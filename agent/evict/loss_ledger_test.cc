#include "agent/evict/loss_ledger.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "agent/testing/agent.h"
#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::agent {
namespace {

using testing::read_file;

using namespace std::chrono_literals;

Loss a_loss() {
  Loss loss;
  loss.time = *base::parse_rfc3339("2026-11-22T20:00:00.5Z");
  loss.task = {.source = "kubernetes",
               .cluster = "c1",
               .job = "jobs/Job/crunch",
               .attempt = "a1",
               .task = "u1",
               .user = "ada",
               .business = "ads",
               .work_class = "spark"};
  loss.ns = "jobs";
  loss.name = "crunch-0";
  loss.feature = "BEMemoryEvict";
  loss.reason = "TM-EVICT-001";
  loss.ended = "TM-EVICT-015";
  loss.age = 5400s;
  loss.cpu = model::CpuMilli{1900};
  loss.memory = model::MemoryBytes{2147483648};
  loss.lost_core_seconds = 10260;
  loss.ending = 2350ms;
  return loss;
}

TEST(Loss, IsOneLine) {
  EXPECT_EQ(to_line(a_loss()),
            R"({"schema":1,"time":"2026-11-22T20:00:00.500000Z","source":"kubernetes","cluster":"c1",)"
            R"("job":"jobs/Job/crunch","attempt":"a1","task":"u1","user":"ada","business":"ads","class":"spark",)"
            R"("namespace":"jobs","name":"crunch-0","feature":"BEMemoryEvict","reason":"TM-EVICT-001",)"
            R"("ended":"TM-EVICT-015","age_s":5400,"cpu_milli":1900,"memory_bytes":2147483648,)"
            R"("lost_core_seconds":10260,"ending_ms":2350})");
  Loss loss = a_loss();
  loss.cpu.reset();
  loss.name = "two\nlines \"and\" quotes";
  const std::string line = to_line(loss);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_NE(line.find(R"("cpu_milli":null)"), std::string::npos);
}

struct LossLedgerTest : ::testing::Test {
  std::unique_ptr<LossLedger> make(const std::string& state_dir) {
    return std::make_unique<LossLedger>(loop, log, metrics, state_dir);
  }
  bool drain(LossLedger& ledger) { return net::testing::run_task(loop, ledger.drain(10s)); }

  linux::testing::Tree tree;
  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Registry metrics;
  std::string lines;
  base::Log log{clock, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines += line; }}};
};

TEST_F(LossLedgerTest, LossesSurviveRestart) {
  Loss second = a_loss();
  second.name = "crunch-1";
  for (const Loss& loss : {a_loss(), second}) {
    const auto ledger = make(tree.root());
    ledger->add(loss);
    ASSERT_TRUE(drain(*ledger));
  }
  EXPECT_EQ(read_file(tree.path("losses.jsonl")), base::cat(to_line(a_loss()), "\n", to_line(second), "\n"));
}

TEST_F(LossLedgerTest, ItIsBounded) {
  const auto ledger = make(tree.root());
  Loss loss = a_loss();
  loss.name.assign(20'000, 'x');
  constexpr std::int64_t kMany = 2 * kLossBytesMax / 20'000;
  for (loss.lost_core_seconds = 1; loss.lost_core_seconds <= kMany; ++loss.lost_core_seconds) {
    ledger->add(loss);
    if (loss.lost_core_seconds % 8 == 0) ASSERT_TRUE(drain(*ledger));
  }
  ASSERT_TRUE(drain(*ledger));
  std::uintmax_t bytes = 0;
  for (const auto& file : std::filesystem::directory_iterator(tree.root())) bytes += file.file_size();
  EXPECT_LE(bytes, static_cast<std::uintmax_t>(kLossBytesMax));
  EXPECT_TRUE(read_file(tree.path("losses.jsonl"))
                  .ends_with(base::cat(R"("lost_core_seconds":)", kMany, R"(,"ending_ms":2350})", "\n")));
}

TEST_F(LossLedgerTest, WithoutAFolderNothingIsKept) {
  const auto ledger = make("");
  ledger->add(a_loss());
  EXPECT_TRUE(drain(*ledger));
  const auto gone = make(tree.path("not-there"));
  gone->add(a_loss());
  EXPECT_TRUE(drain(*gone)) << "given up";
  EXPECT_NE(lines.find("what evictions cost is not kept"), std::string::npos) << lines;
}

}  // namespace
}  // namespace tidemark::agent
