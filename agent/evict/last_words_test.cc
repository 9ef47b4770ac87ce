#include "agent/evict/last_words.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "base/testing/clock.h"
#include "base/text.h"
#include "linux/testing/tree.h"
#include "net/testing/loop.h"

namespace tidemark::agent {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

constexpr std::string_view kEpitaph = "evicted by tidemark: TM-EVICT-001 because, BEMemoryEvict, memory 82 %";

struct LastWordsTest : ::testing::Test {
  LastWordsTest() {
    tree.folder("logs");
    tree.folder("state");
  }

  static Evicted pod(std::string name = "crunch-0") {
    return {"jobs", std::move(name), "u1", std::string(kEpitaph), *base::parse_rfc3339("2026-11-22T20:00:00Z")};
  }
  void log(std::string_view container_and_file, std::string_view text) {
    tree.write(base::cat("logs/jobs_crunch-0_u1/", container_and_file), text);
  }
  Result<LastWordsKept> keep(const Evicted& evicted) {
    return keep_last_words(tree.path("logs"), tree.path("state"), evicted);
  }
  std::string text(std::string_view relative) const {
    std::ifstream in(tree.path(relative), std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), {});
  }
  std::vector<std::string> folders() const {
    std::vector<std::string> out;
    for (const auto& each : fs::directory_iterator(tree.path("state/evicted"))) out.push_back(each.path().filename());
    std::ranges::sort(out);
    return out;
  }
  static std::string with_epitaph(std::string_view words) { return base::cat(words, kEpitaph, "\n"); }

  linux::testing::Tree tree;
};

TEST_F(LastWordsTest, KeepsNewestLogOfEachContainer) {
  log("main/0.log", "the first life\n");
  log("main/10.log", "the last life\n");
  log("main/9.log", "one before\n");
  log("main/10.log.20261122-190000.gz", "rotated");
  log("main/10.log.tmp", "no log");
  log("side/0.log", "beside it");
  const auto kept = keep(pod());
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->containers, 2u);
  EXPECT_EQ(kept->folder, tree.path("state/evicted/20261122T200000Z-jobs-crunch-0"));
  const std::string folder = "state/evicted/20261122T200000Z-jobs-crunch-0/";
  EXPECT_EQ(text(folder + "main.log"), with_epitaph("the last life\n"));
  EXPECT_EQ(text(folder + "side.log"), with_epitaph("beside it\n"));
  struct stat found{};
  ASSERT_EQ(::stat(tree.path(folder).c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0700u) << "logs hold what others may not see";
  ASSERT_EQ(::stat(tree.path(folder + "main.log").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07777, 0600u);
}

// "b" in the namespace "a-c" and "c-b" in "a".
TEST_F(LastWordsTest, KeepsBothPodsWithSameFolderName) {
  tree.write("logs/a_c-b_u1/main/0.log", "the first\n");
  tree.write("logs/a-c_b_u2/main/0.log", "the second\n");
  const base::WallTime at = pod().at;
  ASSERT_TRUE(keep({"a", "c-b", "u1", std::string(kEpitaph), at}));
  const auto second = keep({"a-c", "b", "u2", std::string(kEpitaph), at});
  ASSERT_TRUE(second) << second.error().message;
  const std::string name = "20261122T200000Z-a-c-b";
  EXPECT_EQ(folders(), (std::vector<std::string>{name, name + "-2"}));
  EXPECT_EQ(second->folder, tree.path("state/evicted/" + name + "-2"));
  EXPECT_EQ(text("state/evicted/" + name + "/main.log"), with_epitaph("the first\n"));
  EXPECT_EQ(text("state/evicted/" + name + "-2/main.log"), with_epitaph("the second\n"));
}

TEST_F(LastWordsTest, KeepsEndOfLongLog) {
  std::string lines;
  for (int i = 0; lines.size() < 3 * kLastWordsBytes; ++i) lines += base::cat("line ", i, "\n");
  log("main/0.log", lines);
  ASSERT_TRUE(keep(pod()));
  const std::string kept = text("state/evicted/20261122T200000Z-jobs-crunch-0/main.log");
  const std::string words = kept.substr(0, kept.size() - with_epitaph("").size());
  EXPECT_TRUE(kept.ends_with(with_epitaph("")));
  EXPECT_TRUE(lines.ends_with(words));
  EXPECT_TRUE(words.starts_with("line ")) << "a whole line";
  EXPECT_LE(words.size(), kLastWordsBytes);
  EXPECT_GT(words.size(), kLastWordsBytes - 20);
  // One line without an end is kept as it is.
  log("main/0.log", std::string(2 * kLastWordsBytes, 'x'));
  Evicted later = pod();
  later.at = later.at + 1s;
  ASSERT_TRUE(keep(later));
  EXPECT_EQ(text("state/evicted/20261122T200001Z-jobs-crunch-0/main.log"),
            with_epitaph(std::string(kLastWordsBytes, 'x') + "\n"));
}

TEST_F(LastWordsTest, AnEmptyLogHasItsEpitaph) {
  log("main/0.log", "");
  ASSERT_TRUE(keep(pod()));
  EXPECT_EQ(text("state/evicted/20261122T200000Z-jobs-crunch-0/main.log"), with_epitaph(""));
}

TEST_F(LastWordsTest, DoesNotFollowLinks) {
  tree.write("secret/0.log", "a secret\n");
  log("main/0.log", "mine\n");
  fs::create_symlink(tree.path("secret/0.log"), tree.path("logs/jobs_crunch-0_u1/main/1.log"));
  fs::create_directory_symlink(tree.path("secret"), tree.path("logs/jobs_crunch-0_u1/side"));
  log("fifo/x", "");
  ASSERT_EQ(::mkfifo(tree.path("logs/jobs_crunch-0_u1/fifo/0.log").c_str(), 0600), 0);
  log("folder/0.log/x", "");
  const auto kept = keep(pod());
  ASSERT_TRUE(kept) << kept.error().message;
  EXPECT_EQ(kept->containers, 0u) << "the newest of main is a link, and no other one is its last";
  EXPECT_FALSE(fs::exists(tree.path("state/evicted")));

  fs::create_directory_symlink(tree.path("logs/jobs_crunch-0_u1"), tree.path("logs/jobs_crunch-1_u1"));
  EXPECT_FALSE(keep(pod("crunch-1")));
}

TEST_F(LastWordsTest, RefusesNamesThatArePaths) {
  tree.write("secret/main/0.log", "a secret\n");
  tree.write("logs/jobs_x/main/0.log", "x\n");
  for (const char* name : {"", ".", "..", "x/../../secret", "/"}) {
    const auto kept = keep(pod(name));
    ASSERT_FALSE(kept) << name;
    EXPECT_EQ(kept.error().kind, ErrorKind::kInvalid);
  }
  Evicted other = pod();
  other.uid = "../../secret";
  EXPECT_FALSE(keep(other));
  EXPECT_FALSE(fs::exists(tree.path("state/evicted")));
}

TEST_F(LastWordsTest, APodWithoutLogsLeavesNothing) {
  EXPECT_EQ(keep(pod()).value().containers, 0u);
  EXPECT_FALSE(fs::exists(tree.path("state/evicted")));
  EXPECT_EQ(keep_last_words(tree.path("not-there"), tree.path("state"), pod()).value().containers, 0u);
  log("main/0.log", "x\n");
  EXPECT_FALSE(keep_last_words(tree.path("logs"), tree.path("not-there"), pod()));
}

TEST_F(LastWordsTest, ContainersAreBounded) {
  for (std::size_t i = 0; i < kLastWordsContainersMax + 5; ++i) log(base::cat("c", 100 + i, "/0.log"), "x\n");
  EXPECT_EQ(keep(pod()).value().containers, kLastWordsContainersMax);
}

TEST_F(LastWordsTest, ALongNameIsCut) {
  Evicted evicted = pod(std::string(200, 'n'));
  evicted.ns = std::string(40, 's');
  tree.write(base::cat("logs/", evicted.ns, "_", evicted.name, "_u1/main/0.log"), "x\n");
  EXPECT_EQ(keep(evicted).value().containers, 1u);
}

TEST_F(LastWordsTest, RemovesOldestIfTooMany) {
  log("main/0.log", "x\n");
  Evicted evicted = pod();
  for (std::size_t i = 0; i < kLastWordsFoldersMax; ++i) {
    ASSERT_EQ(keep(evicted).value().gone, 0u);
    evicted.at = evicted.at + 1s;
  }
  EXPECT_EQ(folders().size(), kLastWordsFoldersMax);
  EXPECT_EQ(keep(evicted).value().gone, 1u);
  EXPECT_EQ(folders().size(), kLastWordsFoldersMax);
  EXPECT_EQ(folders().front(), "20261122T200001Z-jobs-crunch-0");
  EXPECT_EQ(folders().back(), "20261122T200320Z-jobs-crunch-0");
}

TEST_F(LastWordsTest, RemovesOldestIfTooLarge) {
  log("main/0.log", "x\n");
  for (int i = 1; i <= 4; ++i) {
    const std::string file = base::cat("state/evicted/2026010", i, "T000000Z-a-b/main.log");
    tree.write(file, "");
    fs::resize_file(tree.path(file), kLastWordsBytesMax / 4);
  }
  EXPECT_EQ(keep(pod()).value().gone, 1u);
  EXPECT_EQ(folders(), (std::vector<std::string>{"20260102T000000Z-a-b", "20260103T000000Z-a-b", "20260104T000000Z-a-b",
                                                 "20261122T200000Z-jobs-crunch-0"}));
}

TEST_F(LastWordsTest, EpitaphGivesReason) {
  EXPECT_EQ(epitaph(model::Reason::kEvictMemoryLine, policy::evict::EvictFeature::kBeMemory, "memory 82 %\nof it"),
            base::cat("evicted by tidemark: ", model::reason_id(model::Reason::kEvictMemoryLine), " ",
                      model::reason_sentence(model::Reason::kEvictMemoryLine), ", BEMemoryEvict, memory 82 % of it"));
}

TEST_F(LastWordsTest, SavesOnWorkerBeforeEvictionRequest) {
  base::testing::Clock clock;
  net::EventLoop loop(clock);
  std::string lines;
  const base::Log told{clock, {.level = base::LogLevel::kInfo, .write = [&](std::string_view line) { lines += line; }}};
  net::WorkerPool files(1, 4);
  LastWords words(loop, files, told, tree.path("logs"), tree.path("state"));
  LastWords nowhere(loop, files, told, tree.path("logs"), "");
  log("main/0.log", "x\n");
  const auto keep = [&](LastWords& in, model::TaskKind kind) {
    auto task = std::make_unique<model::Task>();
    task->kind = kind;
    task->ns = "jobs";
    task->name = "crunch-0";
    task->identity.task = "u1";
    auto keeping = in.keep(*task, std::string(kEpitaph));
    task.reset();
    return net::testing::run_task(loop, std::move(keeping));
  };
  EXPECT_FALSE(keep(nowhere, model::TaskKind::kPod));
  EXPECT_FALSE(keep(words, model::TaskKind::kCopilotTask));
  EXPECT_FALSE(fs::exists(tree.path("state/evicted")));
  EXPECT_TRUE(keep(words, model::TaskKind::kPod));
  EXPECT_EQ(folders().size(), 1u);
  fs::remove_all(tree.path("state"));
  EXPECT_FALSE(keep(words, model::TaskKind::kPod));
  EXPECT_NE(lines.find("cannot keep the last lines of an evicted pod"), std::string::npos) << lines;
}

}  // namespace
}  // namespace tidemark::agent
