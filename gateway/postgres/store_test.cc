#include "gateway/postgres/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <optional>
#include <set>

#include "gateway/postgres/connection.h"
#include "gateway/testing/store_suite.h"

namespace tidemark::gateway::postgres {
namespace {

using namespace std::chrono_literals;
using policy::route::Phase;
using testing::StoreTest;

// tests/yarn/test_gateway_postgres.py starts a server and sets it.
const char* server() {
  return getenv("TIDEMARK_TEST_POSTGRES");
}

// A schema of its own for each test.
class Schema {
 public:
  Schema() {
    static int made = 0;
    if (server() == nullptr) return;
    name_ = base::cat("test_", ::getpid(), "_", ++made);
    EXPECT_TRUE((*Connection::open(server()))->run(base::cat("CREATE SCHEMA ", name_)));
  }
  ~Schema() {
    if (!name_.empty()) (void)(*Connection::open(where()))->run(base::cat("DROP SCHEMA ", name_, " CASCADE"));
  }
  Schema(const Schema&) = delete;
  Schema& operator=(const Schema&) = delete;
  std::string where() const {
    return base::cat(server(), " options='-c client_min_messages=warning -c search_path=", name_, "'");
  }

 private:
  std::string name_;
};

struct PostgresOpener {
  static bool there() { return server() != nullptr; }
  std::unique_ptr<Store> open(net::EventLoop& loop) {
    const base::Log log{loop.clock(), {.level = base::LogLevel::kInfo, .write = [](std::string_view) {}}};
    return *open_store(loop, log, {.where = schema.where(), .replica = base::cat("r", ++replicas)}, 1);
  }
  Schema schema;
  int replicas = 0;
};

class PostgresStoreTest : public ::testing::Test {
 protected:
  // One gateway as far as the store sees it.
  struct Replica {
    std::unique_ptr<Store> store;
    std::set<std::int64_t> drives;
    std::set<std::int64_t> cancelled;
    int switched = 0;
    int lost = 0;
  };

  void SetUp() override {
    if (server() == nullptr) GTEST_SKIP() << "TIDEMARK_TEST_POSTGRES is not set: there is no server";
  }
  std::unique_ptr<Replica> begin(const std::string& name) {
    auto out = std::make_unique<Replica>();
    auto opened =
        open_store(loop_, log_, {.where = schema_.where(), .replica = name, .lease = 1500ms, .beat = 50ms}, 1);
    EXPECT_TRUE(opened) << opened.error().message;
    out->store = *std::move(opened);
    const auto live = run(out->store->live());
    EXPECT_TRUE(live);
    for (const Record& record : *live) out->drives.insert(record.id);
    out->store->share({.taken =
                           [replica = out.get()](const std::vector<Record>& taken) {
                             for (const Record& record : taken) replica->drives.insert(record.id);
                           },
                       .cancelled = [replica = out.get()](std::int64_t id) { replica->cancelled.insert(id); },
                       .switched = [replica = out.get()] { ++replica->switched; },
                       .lost =
                           [replica = out.get()] {
                             ++replica->lost;
                             replica->drives.clear();
                           }});
    return out;
  }
  Record add(Replica& replica) {
    Record record;
    record.job = testing::job({{std::string(kBusinessConf), "ads"}, {"spark.executor.instances", "3"}});
    record.created = clock_.wall();
    return run(replica.store->add(std::move(record)))->record;
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop_, std::move(task));
  }
  template <class Condition>
  bool until(Condition condition) {
    return net::testing::run_real_until(loop_, std::move(condition), 20s);
  }

  base::SystemClock clock_;
  net::EventLoop loop_{clock_};
  std::string lines_;
  base::Log log_{clock_, {.level = base::LogLevel::kInfo, .write = [this](std::string_view line) { lines_ += line; }}};
  Schema schema_;
};

TEST_F(PostgresStoreTest, RunsOfAReplicaThatIsGoneAreTakenOverOnce) {
  auto first = begin("first");
  const auto second = begin("second");
  const auto third = begin("third");
  std::set<std::int64_t> all;
  for (int i = 0; i < 20; ++i) all.insert(add(*first).id);
  const Record kept = add(*second);
  first.reset();  // as kill -9: its lease ends by itself
  ASSERT_TRUE(until([&] { return second->drives.size() + third->drives.size() >= all.size(); })) << lines_;
  std::set<std::int64_t> both = second->drives;
  both.insert(third->drives.begin(), third->drives.end());
  EXPECT_EQ(both, all);
  EXPECT_EQ(second->drives.size() + third->drives.size(), all.size()) << "none by both";
  EXPECT_FALSE(third->drives.contains(kept.id)) << "its replica lives";
}

TEST_F(PostgresStoreTest, AnOldOwnersWriteIsRefused) {
  auto first = begin("first");
  Record record = add(*first);
  EXPECT_EQ(record.epoch, 1);
  ASSERT_TRUE(run(first->store->put(record)));
  first.reset();  // as kill -9: its lease ends by itself
  const auto second = begin("second");
  ASSERT_TRUE(until([&] { return second->drives.contains(record.id); })) << lines_;
  const auto taken = run(second->store->find(record.id));
  EXPECT_EQ((*taken)->epoch, 2);
  ASSERT_TRUE(run(second->store->put(**taken)));
  const auto late = run(second->store->put(record));
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().kind, ErrorKind::kConflict);
}

TEST_F(PostgresStoreTest, ACancelAndTheSwitchReachTheReplicaThatDrivesTheRun) {
  const auto first = begin("first");
  const auto second = begin("second");
  const Record record = add(*first);
  ASSERT_TRUE(run(second->store->order_cancel(record.id)));
  EXPECT_TRUE(until([&] { return first->cancelled.contains(record.id); }));
  ASSERT_TRUE(run(second->store->set_no_more_kubernetes(true)));
  EXPECT_TRUE(until([&] { return first->switched == 1; }));
  EXPECT_TRUE(first->store->no_more_kubernetes());
  EXPECT_FALSE(second->cancelled.contains(record.id));
}

TEST_F(PostgresStoreTest, QuotasCountTheRunsOfOtherReplicas) {
  const auto first = begin("first");
  const auto second = begin("second");
  Record record = add(*first);
  add(*first);
  record.run =
      policy::route::on_routed(policy::route::queue(record.run, record.created),
                               {policy::route::Side::kYarn, policy::route::RouteReason::kMoved}, record.created);
  ASSERT_TRUE(run(first->store->put(record)));
  EXPECT_TRUE(until([&] { return second->store->use_elsewhere("ads").cores == 4; }));
  EXPECT_EQ(second->store->use_elsewhere("ads").running, 1);
  EXPECT_EQ(second->store->use_elsewhere("ads").queued, 1);
  EXPECT_EQ(first->store->use_elsewhere("ads").running, 0);
}

// Neither replica has heard of the other's runs yet.
TEST_F(PostgresStoreTest, QuotasAreExactAcrossReplicas) {
  const auto first = begin("first");
  const auto second = begin("second");
  const auto limited = [this](Replica& replica) {
    Record record;
    record.job = testing::job({{std::string(kBusinessConf), "ads"}, {"spark.executor.instances", "3"}});
    record.created = clock_.wall();
    record.quota = {.running = 1, .queued = 2, .cores = {}};
    return run(replica.store->add(std::move(record)));
  };
  const auto routed = [](Record record) {
    record.quota = {.running = 1, .queued = 2, .cores = {}};
    record.run =
        policy::route::on_routed(policy::route::queue(record.run, record.created),
                                 {policy::route::Side::kYarn, policy::route::RouteReason::kMoved}, record.created);
    return record;
  };
  const auto one = limited(*first);
  const auto two = limited(*second);
  ASSERT_TRUE(one);
  ASSERT_TRUE(two);
  const auto three = limited(*first);
  ASSERT_FALSE(three);
  EXPECT_EQ(three.error().code, 429);
  ASSERT_TRUE(run(first->store->put(routed(one->record))));
  EXPECT_TRUE(limited(*second)) << "one of two has a side";
  const auto refused = run(second->store->put(routed(two->record)));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, 429);
  EXPECT_TRUE(run(first->store->put(routed(one->record)))) << "it does not count against itself";
  Record done = routed(one->record);
  done.run.phase = Phase::kCancelled;
  done.quota = {};
  ASSERT_TRUE(run(first->store->put(done)));
  EXPECT_TRUE(run(second->store->put(routed(two->record))));
}

TEST_F(PostgresStoreTest, ALostConnectionDropsTheRunsAndReadsThemAgain) {
  const auto replica = begin("first");
  const Record record = add(*replica);
  replica->drives.insert(record.id);
  const auto admin = *Connection::open(server());
  ASSERT_TRUE(
      admin->run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = "
                 "'tidemark-gateway' AND pid <> pg_backend_pid()"));
  ASSERT_TRUE(until([&] { return replica->lost == 1; })) << lines_;
  ASSERT_TRUE(until([&] { return replica->drives.contains(record.id); })) << lines_;
  EXPECT_TRUE(run(replica->store->put(record))) << "the epoch is the same: no other replica took it";
}

}  // namespace
}  // namespace tidemark::gateway::postgres

namespace tidemark::gateway::testing {

INSTANTIATE_TYPED_TEST_SUITE_P(Postgres, StoreTest, postgres::PostgresOpener);

}  // namespace tidemark::gateway::testing
