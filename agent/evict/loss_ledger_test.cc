#include "agent/evict/loss_ledger.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <string>

#include "base/json.h"
#include "base/random.h"
#include "base/testing/clock.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::agent {
namespace {

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
  EXPECT_EQ(parse_loss(line).value(), loss);
}

TEST(Loss, ReadsBackWhatWasWritten) {
  base::Random random(7);
  for (int round = 0; round < 300; ++round) {
    Loss loss = a_loss();
    loss.time.since_epoch = std::chrono::microseconds(random.below(4'000'000'000'000'000));
    loss.age = std::chrono::seconds(random.below(1'000'000'000));
    loss.ending = std::chrono::milliseconds(random.below(1'000'000'000));
    loss.lost_core_seconds = static_cast<std::int64_t>(random.below(std::numeric_limits<std::int64_t>::max()));
    if (random.below(2) == 0) loss.cpu.reset();
    if (random.below(2) == 0) loss.memory = model::MemoryBytes{static_cast<std::int64_t>(random.below(1 << 30))};
    EXPECT_EQ(parse_loss(to_line(loss)).value(), loss);
  }
}

TEST(Loss, RefusesInvalidLoss) {
  for (const char* line :
       {"", "{}", "[]", "null", R"({"schema":1})", R"({"schema":2,"time":"2026-11-22T20:00:00Z"})",
        R"({"schema":1,"time":"yesterday"})", R"({"schema":1,"time":"2026-11-22T20:00:00Z","age_s":-1})",
        R"({"schema":1,"time":"2026-11-22T20:00:00Z","age_s":"x"})",
        R"({"schema":1,"time":"2026-11-22T20:00:00Z","age_s":9223372036854775807})",
        R"({"schema":1,"time":"2026-11-22T20:00:00Z","ending_ms":9223372036854775807})",
        R"({"schema":1,"time":"2026-11-22T20:00:00Z","cpu_milli":-5})", R"({"schema":1,"lost":3})",
        R"({"schema":1,"time":"2026-11-22T20:00:00Z"} x)"}) {
    EXPECT_FALSE(parse_loss(line)) << line;
  }
  EXPECT_FALSE(parse_loss(
      base::cat(R"({"schema":1,"time":"2026-11-22T20:00:00Z","name":")", std::string(kLossLineMax, 'x'), R"("})")));
  EXPECT_EQ(parse_loss(R"({"schema":9})").error().kind, ErrorKind::kUnsupported);
  EXPECT_TRUE(parse_loss(R"({"schema":1,"time":"2026-11-22T20:00:00Z","later":[{}]})")) << "what is not known";
}

// Whatever a disk makes of it: nothing is taken that was not there, and nothing but the broken line is missing.
TEST(Loss, CountsAndSkipsBrokenLines) {
  const std::string line = to_line(a_loss());
  const Losses read = parse_losses(base::cat(line, "\n{\"schema\":1,\"lost\":3}\n\n", line.substr(0, 40), "\n", line,
                                             "\n\xff\xfe\n", line.substr(0, 80)));
  EXPECT_EQ(read.losses.size(), 2u);
  EXPECT_EQ(read.broken, 3u);
  EXPECT_EQ(read.lost, 3u);

  const std::string good = base::cat(line, "\n", line, "\n", line, "\n");
  base::Random random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    for (std::uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      const std::size_t at = random.below(text.size());
      switch (random.below(3)) {
        case 0:
          text[at] = static_cast<char>(random.below(256));
          break;
        case 1:
          text.erase(at, 1 + random.below(50));
          break;
        default:
          text.insert(at, 1, static_cast<char>(random.below(256)));
      }
      if (text.empty()) break;
    }
    const Losses damaged = parse_losses(text);
    EXPECT_LE(damaged.losses.size() + damaged.broken, 7u);
    for (const Loss& loss : damaged.losses) EXPECT_GE(loss.age.count(), 0);
  }
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
  const auto read = read_losses(tree.root());
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->losses, (std::vector<Loss>{a_loss(), second}));
  EXPECT_EQ(read->broken + read->lost, 0u);
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
  const auto read = read_losses(tree.root());
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_FALSE(read->losses.empty());
  EXPECT_EQ(read->losses.back().lost_core_seconds, kMany);
  for (std::size_t i = 1; i < read->losses.size(); ++i) {
    ASSERT_EQ(read->losses[i].lost_core_seconds, read->losses[i - 1].lost_core_seconds + 1) << "in their order";
  }
}

TEST_F(LossLedgerTest, WithoutAFolderNothingIsKept) {
  const auto ledger = make("");
  ledger->add(a_loss());
  EXPECT_TRUE(drain(*ledger));
  const auto gone = make(tree.path("not-there"));
  gone->add(a_loss());
  EXPECT_TRUE(drain(*gone)) << "given up";
  EXPECT_NE(lines.find("what evictions cost is not kept"), std::string::npos) << lines;
  EXPECT_TRUE(read_losses(tree.path("not-there"))->losses.empty());
}

}  // namespace
}  // namespace tidemark::agent
