// What every store does. A test file instantiates the suite with an opener:
//
//   struct Opener {
//     static bool there();                             false: the tests are skipped
//     std::unique_ptr<Store> open(net::EventLoop&);    the same runs each time
//   };
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "gateway/testing/world.h"
#include "net/testing/loop.h"

namespace tidemark::gateway::testing {

template <class Opener>
class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!Opener::there()) GTEST_SKIP() << "there is no server";
  }
  template <class T>
  T run(net::Task<T> task) {
    return net::testing::run_task(loop_, std::move(task));
  }
  std::unique_ptr<Store> open() { return opener_.open(loop_); }
  Record record_of(const std::string& user, const std::string& key = "") {
    Record record;
    record.job = job({{std::string(kBusinessConf), "ads"}});
    record.job.user = user;
    record.job_hash = hash_of(record.job);
    record.key = key;
    record.created = clock_.wall();
    record.run.since = record.created;
    return record;
  }
  // On YARN, reserved.
  Record reserved(Record record) {
    using namespace policy::route;
    record.run = on_routed(queue(record.run, record.created), {Side::kYarn, RouteReason::kMoved}, record.created);
    record.run = on_reserved(record.run, {"application_1_1"}, record.created);
    return record;
  }

  base::SystemClock clock_;
  net::EventLoop loop_{clock_};
  Opener opener_;
};

TYPED_TEST_SUITE_P(StoreTest);

TYPED_TEST_P(StoreTest, KeepsRunsAcrossARestart) {
  Record record;
  std::string instance;
  {
    const auto store = this->open();
    instance = store->instance();
    record = this->reserved(this->run(store->add(this->record_of("ann", "k")))->record);
    record.message = "a message";
    ASSERT_TRUE(this->run(store->put(record)));
    ASSERT_TRUE(this->run(store->order_cancel(record.id)));
    ASSERT_TRUE(this->run(store->set_no_more_kubernetes(true)));
  }
  const auto store = this->open();
  EXPECT_EQ(store->instance(), instance);
  EXPECT_TRUE(store->no_more_kubernetes());
  const auto found = this->run(store->find(record.id));
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->run, record.run);
  EXPECT_EQ((*found)->message, "a message");
  EXPECT_EQ((*found)->created.since_epoch, record.created.since_epoch);
  EXPECT_EQ(hash_of((*found)->job), record.job_hash);
  EXPECT_TRUE((*found)->cancel);
}

TYPED_TEST_P(StoreTest, AKnownKeyIsTheSameRunUntilItIsDropped) {
  const auto store = this->open();
  const auto first = this->run(store->add(this->record_of("ann", "k")));
  ASSERT_TRUE(first && !first->existed);
  const auto again = this->run(store->add(this->record_of("ann", "k")));
  ASSERT_TRUE(again && again->existed);
  EXPECT_EQ(again->record.id, first->record.id);
  EXPECT_EQ((*this->run(store->find_key("k")))->id, first->record.id);
  ASSERT_TRUE(this->run(store->drop_key(first->record.id)));
  EXPECT_FALSE(*this->run(store->find_key("k")));
  const auto next = this->run(store->add(this->record_of("ann", "k")));
  EXPECT_NE(next->record.id, first->record.id);
  EXPECT_FALSE(this->run(store->add(this->record_of("ann")))->existed) << "runs without a key differ";
  EXPECT_FALSE(this->run(store->add(this->record_of("ann")))->existed);
}

TYPED_TEST_P(StoreTest, AFinalRunIsNotLive) {
  const auto store = this->open();
  Record done = this->run(store->add(this->record_of("ann")))->record;
  const Record other = this->run(store->add(this->record_of("ann")))->record;
  done.run = policy::route::on_cancel(done.run, done.created);
  ASSERT_TRUE(this->run(store->put(done)));
  const auto live = this->run(store->live());
  ASSERT_TRUE(live);
  ASSERT_EQ(live->size(), 1U);
  EXPECT_EQ(live->at(0).id, other.id);
}

TYPED_TEST_P(StoreTest, PagesAreFilteredAndOrdered) {
  const auto store = this->open();
  for (const char* user : {"ann", "bob", "ann", "ann"}) ASSERT_TRUE(this->run(store->add(this->record_of(user))));
  const auto of_ann = this->run(store->page(1, 1, {.user = "ann", .name = ""}));
  ASSERT_TRUE(of_ann) << of_ann.error().message;
  EXPECT_EQ(of_ann->total, 3);
  ASSERT_EQ(of_ann->records.size(), 1U);
  const auto newest = this->run(store->page(0, 10, {.user = "ann", .name = "", .newest_first = true}));
  ASSERT_EQ(newest->records.size(), 3U);
  EXPECT_GT(newest->records[0].id, newest->records[2].id);
  EXPECT_EQ(newest->records[1].id, of_ann->records[0].id);
  Record ended = newest->records[0];
  ended.run = policy::route::on_cancel(ended.run, ended.created);
  ASSERT_TRUE(this->run(store->put(ended)));
  EXPECT_EQ(this->run(store->page(0, 10, {.user = "", .name = "", .state = RunState::kKilled}))->total, 1);
  EXPECT_EQ(this->run(store->page(0, 10, {.user = "", .name = "", .state = RunState::kWaiting}))->total, 3);
  EXPECT_EQ(this->run(store->page(0, 10, {.user = "", .name = ended.job.name}))->total, 4);
  EXPECT_EQ(this->run(store->page(0, 10, {.user = "zoe' OR '1'='1", .name = ""}))->total, 0);
}

TYPED_TEST_P(StoreTest, ManyWritesAtOnceAreAllStored) {
  const auto store = this->open();
  constexpr int kMany = 500;
  int stored = 0;
  net::Scope scope(this->loop_);
  for (int i = 0; i < kMany; ++i) {
    scope.spawn([](Store& to, Record record, int& count) -> net::Task<void> {
      if (co_await to.add(std::move(record))) ++count;
    }(*store, this->record_of("ann"), stored));
  }
  ASSERT_TRUE(net::testing::run_real_until(this->loop_, [&] { return scope.running() == 0; }));
  EXPECT_EQ(stored, kMany);
  EXPECT_EQ(this->run(store->page(0, 10, {}))->total, kMany);
}

REGISTER_TYPED_TEST_SUITE_P(StoreTest, KeepsRunsAcrossARestart, AKnownKeyIsTheSameRunUntilItIsDropped,
                            AFinalRunIsNotLive, PagesAreFilteredAndOrdered, ManyWritesAtOnceAreAllStored);

}  // namespace tidemark::gateway::testing
