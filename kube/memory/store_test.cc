#include "kube/memory/store.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "base/testing/clock.h"
#include "base/text.h"

namespace tidemark::kube::memory {
namespace {

using base::cat;

class StoreTest : public ::testing::Test {
 protected:
  ObjectPtr object(std::string name, std::int64_t revision, std::string value = "1") {
    return make_object(
        kind_, Json::object({{"kind", "Thing"},
                             {"apiVersion", "v1"},
                             {"metadata",
                              Json::object({{"name", name}, {"uid", "u-" + name}, {"resourceVersion", cat(revision)}})},
                             {"value", value}}));
  }
  Answer<Store::TicketPtr> put(Store& store, const std::string& name, const std::string& value = "1") {
    return store.stage(0, name, store.latest(0, name), object(name, store.next_revision(), value));
  }
  Answer<Store::TicketPtr> erase(Store& store, const std::string& name) {
    return store.stage(0, name, store.latest(0, name), object(name, store.next_revision()), true);
  }

  base::testing::Clock clock_;
  net::EventLoop loop_{clock_};
  Kind kind_;
};

// A log whose answers a test gives.
struct HeldLog {
  explicit HeldLog(net::EventLoop& loop) : asked(loop), answered(loop) {}
  net::Event asked;
  net::Event answered;
  Result<void> answer;
  std::vector<std::vector<LogRecord>> batches;
  StoreConfig config() {
    StoreConfig out;
    out.log = [this](std::vector<LogRecord> records) -> net::Task<Result<void>> {
      batches.push_back(std::move(records));
      co_await answered.wait();
      answered.clear();
      co_return answer;
    };
    return out;
  }
};

TEST_F(StoreTest, WriteIsVisibleOnlyAfterTheLogHasIt) {
  HeldLog log(loop_);
  Store store(loop_, log.config());
  store.open("things");
  const auto watch = store.watch(0, {}, -1, false);
  ASSERT_TRUE(watch);
  const auto first = put(store, "a");
  ASSERT_TRUE(first);
  loop_.run_ready();
  EXPECT_EQ(store.find(0, "a"), nullptr);
  EXPECT_NE(store.latest(0, "a"), nullptr);
  EXPECT_FALSE((*watch)->next());
  put(store, "b");
  put(store, "c");
  log.answered.set();
  loop_.run_ready();
  EXPECT_TRUE((*first)->done.is_set());
  EXPECT_NE(store.find(0, "a"), nullptr);
  EXPECT_TRUE((*watch)->next());
  ASSERT_EQ(log.batches.size(), 2u);
  EXPECT_EQ(log.batches[1].size(), 2u);  // what came meanwhile goes together
}

TEST_F(StoreTest, WriteRefusedByTheLogHasNoEffect) {
  HeldLog log(loop_);
  Store store(loop_, log.config());
  store.open("things");
  const auto first = put(store, "a");
  loop_.run_ready();
  const auto second = put(store, "a", "2");  // built on the one that will fail
  log.answer = fail(ErrorKind::kExhausted, "the disk is full");
  log.answered.set();
  loop_.run_ready();
  ASSERT_TRUE((*first)->error);
  EXPECT_EQ((*first)->error->code, 507);
  ASSERT_TRUE((*second)->error);
  EXPECT_EQ(store.latest(0, "a"), nullptr);
  log.answer = {};
  const auto third = put(store, "a", "3");
  log.answered.set();
  loop_.run_ready();
  EXPECT_FALSE((*third)->error);
  EXPECT_EQ(store.find(0, "a")->json().text_at("value"), "3");
}

TEST_F(StoreTest, ListAtARevisionIsTheStateOfThatRevision) {
  Store store(loop_, {});
  store.open("things");
  std::map<std::int64_t, std::string> states;
  std::uint64_t random = 7;
  for (int i = 0; i < 300; ++i) {
    random = random * 6364136223846793005ULL + 1442695040888963407ULL;
    const std::string name = cat("n", (random >> 33) % 12);
    if ((random >> 40) % 3 == 0 && store.find(0, name) != nullptr)
      ASSERT_TRUE(erase(store, name));
    else
      ASSERT_TRUE(put(store, name, cat(i)));
    std::string state;
    for (const auto& [key, held] : store.objects(0)) state += cat(key, "=", held->revision, " ");
    states[store.revision()] = state;
  }
  for (const auto& [revision, state] : states) {
    std::string rebuilt;
    std::string after;
    for (;;) {
      const auto page = store.list(0, {}, revision, after, 3);
      ASSERT_TRUE(page);
      for (const ObjectPtr& held : page->items) rebuilt += cat(held->name, "=", held->revision, " ");
      after = page->next_key;
      if (after.empty()) break;
    }
    EXPECT_EQ(rebuilt, state) << revision;
  }
}

TEST_F(StoreTest, HistoryIsBoundedAtTheExpenseOfTheBusyKind) {
  StoreConfig config;
  config.history_bytes_max = 20'000;
  Store store(loop_, config);
  store.open("quiet");
  const int busy = store.open("busy");
  ASSERT_TRUE(put(store, "a"));
  const std::int64_t old = store.revision();
  ASSERT_TRUE(put(store, "b"));
  for (int i = 0; i < 500; ++i)
    ASSERT_TRUE(
        store.stage(busy, "x", store.latest(busy, "x"), object("x", store.next_revision(), std::string(500, 'x'))));
  EXPECT_TRUE(store.watch(0, {}, old, false));
  EXPECT_EQ(store.watch(busy, {}, old, false).error().code, 410);
}

TEST_F(StoreTest, ObjectsHaveABudget) {
  StoreConfig config;
  config.objects_bytes_max = 10'000;
  Store store(loop_, config);
  store.open("things");
  ASSERT_TRUE(put(store, "a", std::string(5000, 'x')));
  const auto refused = put(store, "b", std::string(5000, 'x'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 507);
  EXPECT_TRUE(put(store, "a", "small"));
  EXPECT_TRUE(put(store, "b", std::string(5000, 'x')));
}

// The shape that the server is made for: each of many watchers wants one object, and a write looks only at those it
// concerns.
TEST_F(StoreTest, ManyWatchersOfOneObjectEach) {
  Store store(loop_, {});
  store.open("things");
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 1980; ++i) {
    Filter filter;
    Filter::Term term;
    term.on = Filter::Term::On::kName;
    term.value = cat("n", i);
    filter.terms.push_back(term);
    watches.push_back(std::move(*store.watch(0, filter, -1, false)));
  }
  for (int i = 0; i < 20; ++i) watches.push_back(std::move(*store.watch(0, {}, -1, false)));
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(put(store, cat("n", i % 1980)));
  std::size_t seen = 0;
  for (const auto& watch : watches)
    while (watch->next()) ++seen;
  EXPECT_EQ(seen, 2000u + 20u * 2000u);
  watches.clear();
  EXPECT_EQ(store.watchers(), 0u);
  EXPECT_TRUE(put(store, "n1"));
}

// The queues of two thousand watchers have a common limit: they keep old states that are not needed elsewhere.
TEST_F(StoreTest, TotalOfWatcherQueuesIsBounded) {
  StoreConfig config;
  config.history_bytes_max = 50'000;
  config.watch_queues_bytes_max = 300'000;
  Store store(loop_, config);
  store.open("things");
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 100; ++i) {
    Filter filter;
    filter.name = cat("n", i);
    watches.push_back(std::move(*store.watch(0, filter, -1, false)));
  }
  const std::string value(1000, 'x');
  std::size_t most = 0;
  for (int round = 0; round < 20; ++round) {
    for (int i = 0; i < 100; ++i) {
      ASSERT_TRUE(put(store, cat("n", i), value));
      if (i >= 50)
        while (watches[static_cast<std::size_t>(i)]->next()) continue;
      most = std::max(most, store.watch_queues_bytes());
    }
  }
  EXPECT_LE(most, config.watch_queues_bytes_max);
  EXPECT_GT(most, config.watch_queues_bytes_max - 10'000);
  int closed = 0;
  for (std::size_t i = 0; i < 50; ++i) closed += watches[i]->overflowed() ? 1 : 0;
  EXPECT_GT(closed, 25) << "those who do not read";
  for (std::size_t i = 50; i < 100; ++i) EXPECT_FALSE(watches[i]->overflowed()) << i << " reads";
  watches.clear();
  EXPECT_EQ(store.watch_queues_bytes(), 0u);
}

TEST_F(StoreTest, ChangeQueuedForManyWatchersIsHeldOnce) {
  StoreConfig config;
  config.watch_queues_bytes_max = 300'000;
  Store store(loop_, config);
  store.open("things");
  std::vector<std::unique_ptr<Watch>> watches;
  for (int i = 0; i < 500; ++i) watches.push_back(std::move(*store.watch(0, {}, -1, false)));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(store, "a", std::string(1000, 'x')));
  for (const auto& watch : watches) {
    ASSERT_FALSE(watch->overflowed());
    for (int i = 0; i < 50; ++i) ASSERT_TRUE(watch->next());
  }
  EXPECT_EQ(store.watch_queues_bytes(), 0u);
}

TEST_F(StoreTest, HistoryCountsAReplacedLargeState) {
  StoreConfig config;
  config.history_bytes_max = 100'000;
  Store store(loop_, config);
  store.open("things");
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(store, cat("n", i), std::string(20'000, 'x')));
  const std::int64_t full = store.revision();
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(put(store, cat("n", i), "small"));
  EXPECT_LE(store.history_bytes(), config.history_bytes_max);
  EXPECT_EQ(store.list(0, {}, full, "", 0).error().code, 410) << "a million bytes of old states fit in no 100,000";
}

}  // namespace
}  // namespace tidemark::kube::memory
