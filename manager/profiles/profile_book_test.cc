#include "manager/profiles/profile_book.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/text.h"

namespace tidemark::manager {
namespace {

using base::cat;
using model::Resources;

constexpr base::WallTime kNow{std::chrono::hours(24 * 20'000 + 12)};

std::string workload(int i) {
  return cat("shop/Deployment/web-", i);
}

StoredRecord stored(const ProfileBook& book, std::string_view name, base::WallTime now = kNow) {
  auto record = book.record(name, now);
  return record ? StoredRecord{std::move(*record), kProfileVersion} : StoredRecord();
}

// All of it, in turns of seven; answers whether any was forgotten.
bool swept(ProfileBook& book, base::WallTime now) {
  ProfileBook::Sweep sweep;
  while (!sweep.done) book.sweep(sweep, 7, now);
  return sweep.forgot;
}

TEST(ProfileBook, SweepRemovesTheLeastUsefulBeyondTheBudget) {
  constexpr std::size_t kBytes = 512 * 1024;
  ProfileBook book(kBytes);
  for (int hour = 3; hour >= 0; --hour) {  // the even ones are known of four hours, the odd ones of one
    for (int i = 0; i < 200; ++i) {
      if (i % 2 == 0 || hour == 0)
        book.add(workload(i), Resources{{100 + i}, {1 << 30}}, kNow + -std::chrono::hours(hour));
    }
  }
  EXPECT_LE(book.size(), 200U);
  for (int i = 200; i < 2000; ++i) book.add(workload(i), Resources{{100}, {1 << 30}}, kNow);
  EXPECT_LE(book.bytes(), kBytes + 64 * 1024) << "the hour that runs grows a little beside it";
  EXPECT_GT(book.turned_away(), 0U);
  const std::size_t before = book.size();
  EXPECT_TRUE(swept(book, kNow));
  EXPECT_LT(book.size(), before);
  EXPECT_LE(book.bytes(), kBytes * 15 / 16);
  for (int i = 0; i < 200; i += 2) EXPECT_NE(book.find(workload(i)), nullptr) << i;
  EXPECT_FALSE(swept(book, kNow));
  const std::size_t after = book.size();
  book.add("new/Deployment/one", Resources{{100}, {1 << 30}}, kNow);
  EXPECT_EQ(book.size(), after + 1) << "there is room again";
}

TEST(ProfileBook, ForgetsWorkloadsUnseenForAWeek) {
  ProfileBook book;
  book.add(workload(1), Resources{{100}, {1}}, kNow);
  book.add(workload(2), Resources{{100}, {1}}, kNow + std::chrono::hours(24 * 3));
  EXPECT_FALSE(swept(book, kNow + std::chrono::hours(24 * 6)));
  EXPECT_TRUE(swept(book, kNow + std::chrono::hours(24 * 7)));
  EXPECT_EQ(book.find(workload(1)), nullptr);
  EXPECT_NE(book.find(workload(2)), nullptr);
  EXPECT_TRUE(swept(book, kNow + std::chrono::hours(24 * 30)));
  EXPECT_EQ(book.size(), 0U);
}

TEST(ProfileBook, SweepStepHasTheRequestedLength) {
  ProfileBook book;
  for (int i = 0; i < 1000; ++i) book.add(workload(i), Resources{{100}, {1}}, kNow);
  const base::WallTime later = kNow + std::chrono::hours(24 * 8);
  ProfileBook::Sweep sweep;
  book.sweep(sweep, 10, later);
  EXPECT_EQ(book.size(), 990U);
  EXPECT_FALSE(sweep.done);
  book.add("new/Deployment/one", Resources{{100}, {1}}, later);
  int turns = 1;
  for (; !sweep.done; ++turns) book.sweep(sweep, 10, later);
  EXPECT_EQ(turns, 100);
  EXPECT_EQ(book.size(), 1U) << "what came meanwhile";
}

TEST(ProfileBook, MergesStoredAndSeenProfiles) {
  ProfileBook one;
  one.add(workload(1), Resources{{3000}, {1 << 30}}, kNow + -std::chrono::hours(30));
  ProfileBook two;
  two.add(workload(1), Resources{{100}, {1 << 30}}, kNow);
  ASSERT_TRUE(two.take(stored(one, workload(1)), kNow));
  const auto usage = policy::waterline::usage_of_all_hours(*two.find(workload(1)), kNow);
  ASSERT_TRUE(usage);
  EXPECT_GE(usage->p95.cpu.value, 3000);
  EXPECT_EQ(policy::waterline::hours_seen(*two.find(workload(1)), kNow), 2);
}

TEST(ProfileBook, RefusesInvalidRecords) {
  ProfileBook one;
  one.add(workload(1), Resources{{3000}, {1 << 30}}, kNow);
  auto good = stored(one, workload(1));
  auto other = good;
  other.record.name = "no workload";
  EXPECT_FALSE(ProfileBook().take(other, kNow));
  other = good;
  other.record.bytes = "x";
  EXPECT_FALSE(ProfileBook().take(other, kNow));
  EXPECT_FALSE(ProfileBook().take(good, kNow + -std::chrono::hours(24 * 5)));
  ProfileBook old;
  EXPECT_TRUE(old.take(good, kNow + std::chrono::hours(24 * 8)));
  EXPECT_EQ(old.size(), 0U) << "nothing of it is of the last seven days";
}

}  // namespace
}  // namespace tidemark::manager
