// The journal against what disks and deaths do to it.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

#include "base/random.h"
#include "base/text.h"
#include "journal/frame.h"
#include "journal/reader.h"
#include "journal/store.h"
#include "journal/writer.h"
#include "net/testing/loop.h"

namespace tidemark::journal {
namespace {

using namespace std::chrono_literals;

std::string record(std::size_t number, std::size_t size = 40) {
  std::string payload(1, kFirstOfOwner);
  payload += base::cat("record ", number, " ");
  if (payload.size() < size) payload.append(size - payload.size(), 'T');  // full of what begins a mark
  return payload;
}

class Journal : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "journal-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    directory = folder + "/a/b";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  StoreOptions options(std::int64_t bytes_max = kBytesMin) const {
    StoreOptions options;
    options.directory = directory;
    options.bytes_max = bytes_max;
    options.start.program = "test";
    return options;
  }
  std::unique_ptr<Store> open() { return std::move(*Store::open(options())); }
  std::vector<std::string> read_all(Damage& damage) const {
    std::vector<std::string> records;
    const auto reader = *Reader::open(directory);
    for (std::size_t i = 0; i < reader.segments(); ++i) {
      const auto segment = *reader.read(i);
      damage += segment->damage();
      for (const auto each : segment->records()) records.emplace_back(each);
    }
    return records;
  }
  std::vector<std::string> read_all() const {
    Damage damage;
    auto records = read_all(damage);
    EXPECT_TRUE(damage.none()) << describe(damage);
    return records;
  }
  std::string last_segment() const { return segments_in(directory)->back(); }

  std::string folder;
  std::string directory;
};

using JournalConcurrent = Journal;  // with the worker's thread: run under the thread sanitizer too

TEST_F(Journal, WhatIsAppendedIsReadInOrderAcrossProcesses) {
  EXPECT_EQ(open()->append({{record(1), {}}, {record(2), {}}}, {}).kept, 2u);
  EXPECT_EQ(open()->append({{record(3), {}}}, {}).kept, 1u);
  EXPECT_EQ(read_all(), (std::vector<std::string>{record(1), record(2), record(3)}));
  EXPECT_EQ(segments_in(directory)->size(), 2u) << "a segment that was left is never appended to";
}

TEST_F(Journal, OnlyOneProcessWritesToAFolder) {
  const auto first = open();
  const auto second = Store::open(options());
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kConflict);
}

// Killed after any byte of a write: complete records stay, and the partial one is reported.
TEST_F(Journal, SkipsAndReportsPartialRecord) {
  open()->append({{record(1), {}}, {record(2), {}}, {record(3), {}}}, {});
  const std::string path = last_segment();
  std::string whole;
  {
    std::ifstream file(path, std::ios::binary);
    whole.assign(std::istreambuf_iterator<char>(file), {});
  }
  const std::size_t third = whole.size() - kFrameHead - record(3).size();
  for (std::size_t end = third + 1; end < whole.size(); ++end) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, end);
    Damage damage;
    EXPECT_EQ(read_all(damage), (std::vector<std::string>{record(1), record(2)})) << end;
    EXPECT_EQ(damage.torn_bytes, end - third);
    EXPECT_EQ(damage.damaged_bytes, 0u);
    EXPECT_NE(describe(damage).find("cut off"), std::string::npos);
  }
}

TEST_F(Journal, DamageInTheMiddleCostsTheRecordsItTouches) {
  open()->append({{record(1), {}}, {record(2), {}}, {record(3), {}}}, {});
  const std::string path = last_segment();
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  const auto size = static_cast<std::streamoff>(std::filesystem::file_size(path));
  const auto frame = static_cast<std::streamoff>(kFrameHead + record(1).size());
  file.seekp(size - 2 * frame + 20);
  file.put('!');
  file.close();
  Damage damage;
  EXPECT_EQ(read_all(damage), (std::vector<std::string>{record(1), record(3)}));
  EXPECT_EQ(damage.damaged_bytes, static_cast<std::size_t>(frame));
}

TEST_F(Journal, ItStaysWithinItsBytesAndTheOldestGoesFirst) {
  const auto store = open();
  std::size_t number = 0;
  for (int batch = 0; batch < 300; ++batch) {
    std::vector<Entry> entries;
    for (int i = 0; i < 10; ++i) entries.push_back({record(number++, 1000), {}});
    const auto done = store->append(entries, {});
    EXPECT_EQ(done.kept, 10u);
    EXPECT_LE(done.bytes_used, kBytesMin);
  }
  std::int64_t on_disk = 0;
  for (const auto& path : *segments_in(directory))
    on_disk += static_cast<std::int64_t>(std::filesystem::file_size(path));
  EXPECT_EQ(on_disk, store->bytes_used());
  EXPECT_GT(on_disk, kBytesMin * 8 / 10);
  const auto records = read_all();
  EXPECT_EQ(records.back(), record(number - 1, 1000));
  EXPECT_EQ(records.front(), record(number - records.size(), 1000));
}

TEST_F(Journal, EverySegmentHasTheBlobsItsRecordsRestOn) {
  const auto store = open();
  const auto blob = make_blob(std::string(2000, 'b'));
  for (std::size_t i = 0; i < 200; ++i) store->append({{record(i, 1000), {blob}}}, {});
  const auto reader = *Reader::open(directory);
  ASSERT_GT(reader.segments(), 2u);
  for (std::size_t i = 0; i < reader.segments(); ++i) {
    const auto segment = *reader.read(i);
    EXPECT_TRUE(segment->start());
    EXPECT_EQ(segment->blob(blob->hash), blob->bytes);
    EXPECT_LT(std::filesystem::file_size((*segments_in(directory))[i]), 70'000u) << "once a segment";
  }
}

// A limit on the size of files stands for a disk that is full: what a write leaves behind in both is the same.
TEST_F(Journal, FullDiskLosesWholeRecordsAndReports) {
  const auto store = open();
  store->append({{record(1), {}}}, {});
  const auto size = std::filesystem::file_size(last_segment());
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit full{size + 30, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto done = store->append({{record(2), {}}, {record(3), {}}}, {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(done.kept, 0u);
  EXPECT_EQ(done.lost, 2u);
  EXPECT_NE(done.problem.find("File too large"), std::string::npos) << done.problem;
  EXPECT_EQ(std::filesystem::file_size(last_segment()), size);
  EXPECT_EQ(store->append({{record(4), {}}}, {}).kept, 1u);
  EXPECT_EQ(read_all(), (std::vector<std::string>{record(1), record(4)}));
}

TEST_F(Journal, AFullDiskTakesTheOldestSegmentsFirst) {
  open()->append({{record(1), {}}}, {});
  open()->append({{record(2), {}}}, {});
  const auto store = open();
  store->append({{record(3), {}}}, {});
  struct rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit full{std::filesystem::file_size(last_segment()) + 30, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
  const auto done = store->append({{record(4), {}}}, {});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(done.segments_deleted, 2u);
  EXPECT_EQ(read_all(), (std::vector<std::string>{record(3)})) << "never the one that is written to";
}

TEST_F(Journal, MissingFolderDeletesNoSegment) {
  open()->append({{record(1), {}}}, {});
  open()->append({{record(2), {}}}, {});
  const auto store = open();
  std::filesystem::rename(directory, folder + "/moved");
  const auto done = store->append({{record(3), {}}}, {});
  EXPECT_EQ(done.lost, 1u);
  EXPECT_NE(done.problem.find("No such file"), std::string::npos) << done.problem;
  EXPECT_EQ(done.segments_deleted, 0u);
  std::filesystem::rename(folder + "/moved", directory);
  EXPECT_EQ(store->append({{record(4), {}}}, {}).kept, 1u);
  EXPECT_EQ(read_all(), (std::vector<std::string>{record(1), record(2), record(4)}));
}

TEST_F(JournalConcurrent, AWriterOnALoopKeepsEverythingAndDrains) {
  base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  const base::Log log(clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}});
  {
    Writer writer(loop, log, metrics, options());
    writer.start();
    for (std::size_t i = 0; i < 100; ++i) writer.add({record(i), {}});
    bool drained = false;
    net::Scope scope(loop);
    const auto wait = [&]() -> net::Task<void> {
      drained = co_await writer.drain(30s);
      loop.stop();
    };
    scope.spawn(wait());
    loop.run();
    EXPECT_TRUE(drained);
  }
  EXPECT_EQ(read_all().size(), 100u);
  EXPECT_NE(metrics.text().find("tidemark_journal_records_total 100"), std::string::npos);
}

// The disk has room for the note of what was lost, and not for the record after it.
TEST_F(JournalConcurrent, ReportsLossOnce) {
  base::SystemClock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  const base::Log log(clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}});
  Writer writer(loop, log, metrics, options());
  writer.start();
  const auto write = [&](const std::string& payload, std::optional<std::size_t> room) {
    struct rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
    if (room) {
      const struct rlimit full{std::filesystem::file_size(last_segment()) + *room, before.rlim_max};
      ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &full), 0);
    }
    writer.add({payload, {}});
    EXPECT_TRUE(net::testing::run_real_until(loop, [&] { return net::testing::run_task(loop, writer.drain(30s)); }));
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    std::signal(SIGXFSZ, handler);
  };
  write(record(1), std::nullopt);
  write(record(2, 1000), 20);
  write(record(3, 1000), 200);
  write(record(4), std::nullopt);
  Damage damage;
  EXPECT_EQ(read_all(damage), (std::vector<std::string>{record(1), record(4)}));
  EXPECT_EQ(damage.lost, 2u) << describe(damage);
  EXPECT_NE(metrics.text().find("tidemark_journal_lost_total 2"), std::string::npos) << metrics.text();
  EXPECT_NE(metrics.text().find("tidemark_journal_records_total 2"), std::string::npos) << metrics.text();
}

TEST_F(JournalConcurrent, UnusableFolderLosesOnlyRecords) {
  std::ofstream(folder + "/a") << "a file in the way";
  base::testing::Clock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  std::string told;
  const base::Log log(clock,
                      {base::LogLevel::kError, base::LogFormat::kText, [&](std::string_view line) { told += line; }});
  Writer writer(loop, log, metrics, options());
  writer.start();
  const std::string large = record(0, 1 << 20);
  for (int i = 0; i < 20; ++i) writer.add({large, {}});
  EXPECT_NE(metrics.text().find("tidemark_journal_lost_total 5"), std::string::npos) << metrics.text();
  EXPECT_NE(told.find("all else goes on"), std::string::npos) << told;
}

// What only this record rests on waits with it; what many share is there anyway.
TEST_F(JournalConcurrent, BoundsWaitingRecordsWithTheirBlobs) {
  std::ofstream(folder + "/a") << "a file in the way";
  base::testing::Clock clock;
  net::EventLoop loop(clock);
  base::Registry metrics;
  const base::Log log(clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}});
  Writer writer(loop, log, metrics, options());
  writer.start();
  const auto shared = make_blob(std::string(1 << 20, 's'));
  for (std::size_t i = 0; i < 100; ++i) writer.add({record(i), {shared, nullptr}});
  EXPECT_NE(metrics.text().find("tidemark_journal_lost_total 0"), std::string::npos) << metrics.text();
  for (std::size_t i = 0; i < 20; ++i) {
    Entry entry{record(i), {shared}};
    entry.needs.push_back(make_blob(std::string(1 << 20, 'o')));
    writer.add(std::move(entry));
  }
  EXPECT_NE(metrics.text().find("tidemark_journal_lost_total 5"), std::string::npos) << metrics.text();
}

TEST(Record, NumbersAndTextsComeBackAndHaveOneForm) {
  std::string bytes;
  Packer packer(bytes);
  const std::int64_t numbers[] = {0, 1, -1, 63, 64, -65, INT64_MAX, INT64_MIN};
  for (const auto number : numbers) packer.number(number);
  packer.natural(UINT64_MAX);
  packer.text("text");
  Unpacker in(bytes);
  for (const auto number : numbers) EXPECT_EQ(in.number(), number);
  EXPECT_EQ(in.natural(), UINT64_MAX);
  EXPECT_EQ(in.text(), "text");
  EXPECT_TRUE(in.at_end());
  for (const std::string_view wrong :
       {std::string_view("\x80\x00", 2), std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10),
        std::string_view("\x80", 1)}) {
    Unpacker other(wrong);
    other.natural();
    EXPECT_FALSE(other.ok());
  }
}

// Any bytes between whole records: each whole record is found.
TEST(Frame, WholeRecordsAreFoundAmongAnyBytes) {
  base::Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes;
    std::vector<std::string> whole;
    for (int i = 0; i < 10; ++i) {
      if (random.below(2) == 0) {
        whole.push_back(record(random.below(1000), random.below(200)));
        append_frame(bytes, whole.back());
      } else {
        std::string frame;
        append_frame(frame, record(random.below(1000), random.below(200)));
        frame.resize(random.below(frame.size()));
        bytes += frame;
        for (auto left = random.below(20); left > 0; --left) bytes += static_cast<char>(random.below(256));
      }
    }
    FrameReader frames(bytes);
    std::vector<std::string> found;
    while (const auto payload = frames.next()) found.emplace_back(*payload);
    EXPECT_EQ(found, whole) << "round " << round;
  }
}

}  // namespace
}  // namespace tidemark::journal
