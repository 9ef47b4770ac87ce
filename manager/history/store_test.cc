// The learned profiles, stored on the API server in memory under simulated time: over restarts, changes of the leader,
// writes of other programs, and unreadable texts.
#include "manager/history/store.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "kube/memory/local_transport.h"
#include "kube/memory/server.h"
#include "net/testing/loop.h"

namespace tidemark::manager {
namespace {

using namespace std::chrono_literals;
using base::cat;

constexpr std::string_view kHistoryMaps = "/api/v1/namespaces/ns/configmaps";
constexpr std::string_view kMergePatch = "application/merge-patch+json";

// One replica that learns words.
struct Learner {
  Learner(net::EventLoop& loop, const base::Log& log, net::HttpHandler handler, HistoryVersion version = {})
      : clock(loop.clock()),
        transport(loop, std::move(handler), "test"),
        client(
            loop, transport, [] { return std::string(); },
            {.queries_per_second = 1000, .burst = 1000, .user_agent = "test"}, base::Random(1)),
        recorder(loop, client, log, metrics, "test"),
        store({loop,
               client,
               client,
               recorder,
               metrics,
               {[this] { return leads; }, [this] { return epoch; }, [this](std::int64_t seen) { higher = seen; }},
               "ns"},
              {"words", version, 2},
              {[this] { return wanted; }, [] { return base::Duration(5min); },
               [this](const StoredRecord& stored) -> Result<void> {
                 if (stored.record.bytes == "garbage") return fail(ErrorKind::kInvalid, "no word");
                 words.try_emplace(stored.record.name, stored.record.bytes);
                 return {};
               },
               [this] {
                 std::vector<std::string> names;
                 for (const auto& [name, bytes] : words) names.push_back(name);
                 return names;
               },
               [this](const std::string& name) -> std::optional<HistoryRecord> {
                 ++made[clock.monotonic().since_start];
                 const auto word = words.find(name);
                 if (word == words.end()) return std::nullopt;
                 return HistoryRecord{name, word->second, word->second.size()};
               }},
              log),
        running(loop) {
    running.spawn(recorder.run());
    store.start();
  }
  void learn(const std::string& name, std::string bytes) {
    words[name] = std::move(bytes);
    store.changed();
  }
  double metric(std::string_view name) {
    const std::string text = metrics.text();
    const auto at = text.find(cat("\n", name, "{component=\"words\"} "));
    if (at == std::string::npos) return -1;
    const auto begin = text.find("} ", at) + 2;
    return *base::parse_double(text.substr(begin, text.find('\n', begin) - begin));
  }

  const base::Clock& clock;
  std::map<base::Duration, std::size_t> made;  // records, by when
  bool leads = true;
  bool wanted = true;
  std::optional<std::int64_t> epoch = 3;
  std::int64_t higher = 0;
  std::map<std::string, std::string> words;
  base::Registry metrics;
  kube::memory::LocalTransport transport;
  kube::Client client;
  kube::EventRecorder recorder;
  HistoryStore store;
  net::Scope running;
};

class HistoryStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server = std::move(*kube::memory::Server::open(loop, log, {}, nullptr));
    admin = std::make_unique<kube::memory::LocalTransport>(loop, server->handler(), "admin");
    EXPECT_EQ(call("POST", "/api/v1/namespaces", R"({"metadata":{"name":"ns"}})").status, 201);
  }
  net::HttpResponse call(std::string_view method, std::string_view target, std::string body = "",
                         std::string_view type = "application/json") {
    net::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = std::move(body);
    request.headers.set("content-type", type);
    auto response = net::testing::run_task(loop, clock, admin->fetch(std::move(request), 10s));
    return response ? std::move(*response) : net::HttpResponse{};
  }
  Json map_of(std::size_t shard) {
    return *Json::parse(call("GET", cat(kHistoryMaps, "/", history_map_name("words", shard))).body);
  }
  std::string put(const std::string& key, std::string_view text, std::size_t shard) {
    const Json data = Json::object({{"data", Json::object({{key, Json(text)}})}});
    return call("PATCH", cat(kHistoryMaps, "/", history_map_name("words", shard)), data.dump(), kMergePatch).body;
  }
  std::unique_ptr<Learner> learner(HistoryVersion version = {}) {
    return std::make_unique<Learner>(loop, log, server->handler(), version);
  }
  void run_for(base::Duration time) { net::testing::run_for(loop, clock, time); }

  base::testing::Clock clock;
  net::EventLoop loop{clock};
  base::Log log{clock, {base::LogLevel::kError, base::LogFormat::kText, [](std::string_view) {}}};
  std::unique_ptr<kube::memory::Server> server;
  std::unique_ptr<kube::memory::LocalTransport> admin;
};

TEST_F(HistoryStoreTest, SurvivesARestart) {
  auto one = learner();
  run_for(10s);
  one->learn("a", "apple");
  one->learn("b", "");
  run_for(6min);
  EXPECT_EQ(one->metric("tidemark_history_records"), 2);
  one = learner();
  run_for(10s);
  EXPECT_TRUE(one->store.read());
  EXPECT_EQ(one->words, (std::map<std::string, std::string>{{"a", "apple"}, {"b", ""}}));
}

TEST_F(HistoryStoreTest, WritesOnChangeWithinItsRate) {
  auto one = learner();
  run_for(1min);
  EXPECT_EQ(one->metric("tidemark_history_writes_total"), 2) << "both maps, with the epoch";
  for (int i = 0; i < 50; ++i) {
    one->learn("a", cat("apple ", i));
    run_for(10s);
  }
  EXPECT_LE(one->metric("tidemark_history_writes_total"), 2 + 2);
  run_for(10min);
  const double writes = one->metric("tidemark_history_writes_total");
  run_for(5h);
  EXPECT_EQ(one->metric("tidemark_history_writes_total"), writes) << "nothing changed";
  one->words.erase("a");
  one->store.changed();
  run_for(6min);
  EXPECT_EQ(one->metric("tidemark_history_records"), 0);
}

TEST_F(HistoryStoreTest, ReadsNothingWhileUnused) {
  auto one = learner();
  one->wanted = false;
  run_for(1h);
  EXPECT_EQ(call("GET", cat(kHistoryMaps, "/", history_map_name("words", 0))).status, 404);
  one->wanted = true;
  run_for(1min);
  EXPECT_EQ(call("GET", cat(kHistoryMaps, "/", history_map_name("words", 0))).status, 200);
}

TEST_F(HistoryStoreTest, OnlyTheLeaderWritesAndTheNextOneReadsAgain) {
  auto one = learner();
  auto two = learner();
  two->leads = false;
  run_for(10s);
  one->learn("a", "apple");
  two->learn("b", "berry");
  run_for(6min);
  EXPECT_FALSE(two->words.contains("a"));
  EXPECT_EQ(two->metric("tidemark_history_writes_total"), 0);
  one->leads = false;
  two->leads = true;
  two->epoch = 4;
  run_for(1min);
  EXPECT_TRUE(two->words.contains("a"));
  for (std::size_t shard = 0; shard < 2; ++shard) {
    EXPECT_EQ(map_of(shard).text_at("metadata", "annotations", "tidemark.io/capacity-epoch"), "4");
  }
}

// Frozen between its decision and its write, it comes back when another leads.
TEST_F(HistoryStoreTest, FormerLeaderCannotWriteOldState) {
  auto one = learner();
  run_for(10s);
  auto two = learner();
  two->epoch = 4;
  run_for(10s);
  one->learn("a", "old");
  run_for(6min);
  EXPECT_EQ(one->metric("tidemark_history_writes_total"), 2) << "refused: the revision is another";
  run_for(6min);
  EXPECT_EQ(one->higher, 4);
  EXPECT_EQ(map_of(0).text_at("metadata", "annotations", "tidemark.io/capacity-epoch"), "4");
}

TEST_F(HistoryStoreTest, OmitsReportsAndRemovesUnreadableRecords) {
  auto one = learner();
  one->learn("a", "apple");
  run_for(6min);
  put("anything", "at all", 0);
  put(history_key("zzz"), encode_history({"zzz", "garbage", 1}, {}), 1);
  one = learner();
  run_for(1min);
  EXPECT_EQ(one->words.size(), 1U);
  EXPECT_EQ(one->metric("tidemark_history_refused_total"), 2);
  EXPECT_FALSE(map_of(0)["data"].member("anything"));
  EXPECT_FALSE(map_of(1)["data"].member(history_key("zzz")));
  const std::string events = call("GET", "/api/v1/namespaces/ns/events").body;
  EXPECT_NE(events.find("TidemarkHistoryUnreadable"), std::string::npos);
}

TEST_F(HistoryStoreTest, ReadsCurrentAndPreviousSchema) {
  auto one = learner({7, 1});
  one->learn("a", "apple");
  run_for(6min);
  auto next = learner({8, 1});
  next->leads = false;
  run_for(1min);
  EXPECT_TRUE(next->words.contains("a"));
  auto later = learner({9, 1});
  later->leads = false;
  run_for(1min);
  EXPECT_FALSE(later->words.contains("a"));
}

TEST_F(HistoryStoreTest, KeepsDataOfANewerVersion) {
  auto newer = learner({2, 1});
  newer->learn("a", "apple");
  run_for(6min);
  newer.reset();
  auto older = learner({1, 1});
  run_for(10s);
  older->learn("b", "berry");
  run_for(6min);
  EXPECT_FALSE(older->words.contains("a"));
  auto again = learner({2, 1});
  again->leads = false;
  run_for(1min);
  EXPECT_TRUE(again->words.contains("a"));
  EXPECT_TRUE(again->words.contains("b"));
}

TEST_F(HistoryStoreTest, RecreatesADeletedConfigMap) {
  auto one = learner();
  one->learn("a", "apple");
  run_for(6min);
  for (std::size_t shard = 0; shard < 2; ++shard) {
    EXPECT_EQ(call("DELETE", cat(kHistoryMaps, "/", history_map_name("words", shard))).status, 200);
  }
  one->learn("b", "berry");
  one->learn("c", "cherry");
  one->learn("d", "date");
  run_for(15min);
  one = learner();
  run_for(10s);
  EXPECT_EQ(one->words.size(), 4U);
}

TEST_F(HistoryStoreTest, YieldsWhileEncodingManyRecords) {
  auto one = learner();
  run_for(1s);
  constexpr int kWords = 500;
  for (int i = 0; i < kWords; ++i) one->words[cat("word-", i)] = "x";
  one->store.changed();
  run_for(11min);
  EXPECT_EQ(one->metric("tidemark_history_records"), kWords);
  for (const auto& [when, made] : one->made) EXPECT_LE(made, 2 * kHistoryTurn) << "others wait for so long";
}

}  // namespace
}  // namespace tidemark::manager
