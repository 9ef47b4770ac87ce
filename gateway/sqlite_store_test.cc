#include "gateway/sqlite_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "gateway/testing/world.h"
#include "net/testing/loop.h"

namespace tidemark::gateway {
namespace {

class SqliteStoreTest : public ::testing::Test {
 protected:
  SqliteStoreTest() {
    char made[] = "/tmp/tidemark-store-XXXXXX";
    folder_ = mkdtemp(made);
  }
  ~SqliteStoreTest() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return folder_ + "/runs.db"; }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop_, std::move(task));
  }

  std::string folder_;
  base::SystemClock clock_;
  net::EventLoop loop_{clock_};
};

TEST_F(SqliteStoreTest, KeepsRunsAcrossARestart) {
  Record record;
  record.job = testing::job();
  record.job_hash = hash_of(record.job);
  record.key = "k";
  record.created = clock_.wall();
  std::string instance;
  {
    auto store = *open_sqlite_store(loop_, file(), 1);
    instance = store->instance();
    record = run(store->add(record))->record;
    record.run =
        policy::route::on_routed(policy::route::queue(record.run, record.created),
                                 {policy::route::Side::kYarn, policy::route::RouteReason::kMoved}, record.created);
    record.run = policy::route::on_reserved(record.run, "application_1_1", record.created);
    record.message = "a message";
    ASSERT_TRUE(run(store->put(record)));
    ASSERT_TRUE(run(store->order_cancel(record.id)));
  }
  auto store = *open_sqlite_store(loop_, file(), 2);
  EXPECT_EQ(store->instance(), instance);
  const auto live = run(store->live());
  ASSERT_EQ(live->size(), 1U);
  EXPECT_EQ(live->at(0).run, record.run);
  EXPECT_EQ(live->at(0).message, "a message");
  EXPECT_EQ(hash_of(live->at(0).job), record.job_hash);
  EXPECT_TRUE(live->at(0).cancel);
  EXPECT_TRUE(run(store->add(record))->existed);
}

TEST_F(SqliteStoreTest, RefusesASecondProcess) {
  auto store = *open_sqlite_store(loop_, file(), 1);
  const auto second = open_sqlite_store(loop_, file(), 1);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::kUnavailable) << second.error().message;
}

TEST_F(SqliteStoreTest, RefusesAFileOfAnotherKind) {
  std::ofstream(file()) << std::string(8192, 'x');
  const auto store = open_sqlite_store(loop_, file(), 1);
  ASSERT_FALSE(store);
  EXPECT_TRUE(store.error().message.contains(file())) << store.error().message;
}

TEST_F(SqliteStoreTest, ManyWritesAtOnceAreAllStored) {
  auto store = *open_sqlite_store(loop_, file(), 1);
  constexpr int kMany = 500;
  int stored = 0;
  net::Scope scope(loop_);
  for (int i = 0; i < kMany; ++i) {
    scope.spawn([](Store& to, int& count) -> net::Task<void> {
      Record record;
      record.job = testing::job();
      if (co_await to.add(std::move(record))) ++count;
    }(*store, stored));
  }
  ASSERT_TRUE(net::testing::run_real_until(loop_, [&] { return scope.running() == 0; }));
  EXPECT_EQ(stored, kMany);
  EXPECT_EQ(run(store->page(0, 10, {}))->total, kMany);
}

}  // namespace
}  // namespace tidemark::gateway
