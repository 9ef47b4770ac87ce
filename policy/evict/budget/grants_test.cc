// Grants to nodes: what must hold whatever messages are lost, and how often grants are written.
#include "policy/evict/budget/grants.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/text.h"
#include "policy/settings/nodeslo/told.h"

namespace tidemark::policy::evict {
namespace {

using base::cat;
using model::Reason;
using std::chrono::hours, std::chrono::minutes;

const base::WallTime kGrantsStart = *base::parse_rfc3339("2026-11-21T20:00:00Z");

std::vector<std::string> nodes(int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(cat("n", i));
  return names;
}

TEST(Grants, EachNodeKeepsItsPartUntilExtension) {
  auto done = grant({}, nodes(4), 40, kGrantsStart);
  ASSERT_EQ(done.changes.size(), 4U);
  EXPECT_EQ(done.changes[0], (GrantChange{"n0", Reason::kBudgetGranted}));
  EXPECT_EQ(done.book.at("n0").now, (model::EvictionGrant{10, kGrantsStart + kGrantValid}));
  EXPECT_TRUE(grant(done.book, nodes(4), 40, kGrantsStart + hours(12)).changes.empty());
  done = grant(done.book, nodes(4), 40, kGrantsStart + hours(12) + minutes(1));
  ASSERT_EQ(done.changes.size(), 4U);
  EXPECT_EQ(done.changes[0], (GrantChange{"n0", Reason::kBudgetGrantRenewed}));
  EXPECT_EQ(done.book.at("n0").before, std::nullopt);
}

TEST(Grants, AreWrittenAtMostTwiceADay) {
  GrantBook book;
  std::size_t writes = 0;
  for (int minute = 0; minute < 10 * 24 * 60; minute += 5) {
    auto done = grant(book, nodes(50), 1000, kGrantsStart + minutes(minute));
    book = std::move(done.book);
    writes += done.changes.size();
  }
  EXPECT_LE(writes, 50U * 2 * 10);
}

TEST(Grants, OneMoreNodeDoesNotCutAllOthers) {
  EXPECT_EQ(size_class(0), 1);
  EXPECT_EQ(size_class(5), 5);
  EXPECT_EQ(size_class(9), 10);
  EXPECT_EQ(size_class(10'000), 10'352);
  const auto book = grant({}, nodes(95), 10'000, kGrantsStart).book;
  const auto more = grant(book, nodes(96), 10'000, kGrantsStart + minutes(1));
  EXPECT_LE(more.changes.size(), 1U);
}

TEST(Grants, LimitBelowOnePerNodeHoldsOnceOldGrantsEnd) {
  GrantBook book = grant({}, nodes(200), 100, kGrantsStart).book;
  EXPECT_EQ(held(book, kGrantsStart + minutes(1)), 100);
  for (int minute = 5; minute <= 48 * 60; minute += 5)
    book = grant(book, nodes(200), 50, kGrantsStart + minutes(minute)).book;
  EXPECT_LE(held(book, kGrantsStart + hours(48)), 50);
  EXPECT_GT(held(book, kGrantsStart + hours(48)), 40);
}

TEST(Grants, CutPartIsGrantedAgainOnceTheOldGrantCannotBeInForce) {
  auto book = grant({}, nodes(2), 20, kGrantsStart).book;
  auto done = grant(book, nodes(4), 20, kGrantsStart + hours(1));
  EXPECT_EQ(done.book.at("n0").now.per_hour, 5);
  EXPECT_EQ(done.book.at("n0").before, (model::EvictionGrant{10, kGrantsStart + kGrantValid}));
  EXPECT_FALSE(done.book.contains("n3"));
  EXPECT_EQ(done.changes.back(), (GrantChange{"n3", Reason::kBudgetNoRoom}));
  // Until the end of the previous grant, plus one hour.
  book = done.book;
  done = grant(book, nodes(4), 20, kGrantsStart + hours(24) + minutes(59));
  EXPECT_FALSE(done.book.contains("n3"));
  done = grant(done.book, nodes(4), 20, kGrantsStart + hours(25));
  EXPECT_EQ(done.book.at("n3").now.per_hour, 5);
}

TEST(Grants, LimitBelowNodeCountLeavesSomeNodesTheLocalBudget) {
  const auto done = grant({}, nodes(10), 3, kGrantsStart);
  EXPECT_EQ(done.book.size(), 3U);
  EXPECT_EQ(held(done.book, kGrantsStart), 3);
  EXPECT_TRUE(grant({}, nodes(10), std::nullopt, kGrantsStart).book.empty());
  EXPECT_TRUE(grant({}, nodes(10), 0, kGrantsStart).book.empty());
  EXPECT_TRUE(grant({}, nodes(10), -5, kGrantsStart).book.empty());
}

TEST(Grants, OperatorGetsAQuarterIfItEvictsInThePool) {
  const std::string holder(kOperatorHolder);
  auto done = grant({}, nodes(4), 40, kGrantsStart, true);
  EXPECT_EQ(done.book.at(holder).now, (model::EvictionGrant{10, kGrantsStart + kGrantValid}));
  EXPECT_EQ(done.book.at("n0").now.per_hour, 7) << "the nodes share the rest";
  EXPECT_LE(held(done.book, kGrantsStart), 40);
  EXPECT_TRUE(grant(done.book, nodes(4), 40, kGrantsStart + hours(1), true).changes.empty());
  EXPECT_FALSE(grant({}, nodes(4), 40, kGrantsStart).book.contains(holder)) << "the operator evicts nothing";
  EXPECT_EQ(grant({}, nodes(4), 3, kGrantsStart, true).book.at(holder).now.per_hour, 1) << "one at least";
  EXPECT_FALSE(grant({}, nodes(4), 1, kGrantsStart, true).book.contains(holder)) << "one eviction cannot be split";
}

TEST(Grants, OperatorWaitsUntilOldNodeGrantsCannotBeInForce) {
  const std::string holder(kOperatorHolder);
  auto book = grant({}, nodes(4), 40, kGrantsStart).book;
  auto done = grant(book, nodes(4), 40, kGrantsStart + hours(1), true);
  EXPECT_FALSE(done.book.contains(holder));
  EXPECT_EQ(done.book.at("n0").now.per_hour, 7) << "cut at once";
  done = grant(done.book, nodes(4), 40, kGrantsStart + hours(25), true);
  EXPECT_EQ(done.book.at(holder).now.per_hour, 10);
  // If it does not evict any more, it keeps its grant until the end.
  done = grant(done.book, nodes(4), 40, kGrantsStart + hours(26));
  EXPECT_LE(held(done.book, kGrantsStart + hours(26)), 40);
  EXPECT_TRUE(done.book.contains(holder));
  EXPECT_FALSE(grant(done.book, nodes(4), 40, kGrantsStart + hours(51)).book.contains(holder));
}

// Nodes receive their grants late or never, and use the last one received until its end.
TEST(Grants, NodesNeverExceedThePoolLimitWhateverIsLost) {
  std::mt19937_64 random(11);
  const auto below = [&](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  for (int round = 0; round < 40; ++round) {
    const std::int64_t limit = 1 + below(200);
    GrantBook book;
    std::map<std::string, model::EvictionGrant> heard;
    std::map<std::string, std::vector<model::EvictionGrant>> on_the_way;
    base::WallTime now = kGrantsStart;
    for (int i = 0; i < 300; ++i) {
      now = now + minutes(below(120));
      auto members = nodes(1 + below(30));
      const bool yarn = below(3) > 0;  // the operator is one of the holders, and receives as late
      auto done = grant(book, members, limit, now, yarn);
      EXPECT_EQ(done.book, grant(book, members, limit, now, yarn).book) << "deterministic";
      std::ranges::reverse(members);
      EXPECT_EQ(done.book, grant(book, members, limit, now, yarn).book) << "in any order";
      book = std::move(done.book);
      // Another leader reads it again.
      for (auto& [node, held_by] : book) {
        const auto again = read_grant(*Json::parse(settings::told_json({held_by, std::nullopt})));
        ASSERT_TRUE(again.has_value());
        ASSERT_EQ(*again, held_by);
      }
      for (const auto& change : done.changes) {
        if (change.reason != Reason::kBudgetNoRoom) on_the_way[change.node].push_back(book.at(change.node).now);
      }
      for (auto& [node, grants] : on_the_way) {
        if (grants.empty() || below(3) == 0) continue;  // lost for now
        heard[node] = grants[static_cast<std::size_t>(below(static_cast<int>(grants.size())))];
        if (below(2) == 0) grants.clear();  // else an older one may still come
      }
      std::int64_t together = 0;
      for (const auto& [node, grant] : heard) together += now < grant.until ? grant.per_hour : 0;
      ASSERT_LE(together, limit);
      ASSERT_LE(held(book, now), limit);
    }
  }
}

TEST(Grants, LowerLimitCutsAtOnceAndHolds) {
  auto book = grant({}, nodes(4), 100, kGrantsStart).book;
  auto done = grant(book, nodes(4), 20, kGrantsStart + hours(1));
  for (const auto& [node, grant] : done.book) EXPECT_LE(grant.now.per_hour, 5) << node;
  base::WallTime now = kGrantsStart + hours(1);
  for (int i = 0; i < 60; ++i) {
    now = now + hours(1);
    done = grant(done.book, nodes(4), 20, now);
  }
  EXPECT_LE(held(done.book, now), 20);
  EXPECT_EQ(done.book.at("n0").now.per_hour, 5);
}

TEST(Grants, PublishedGrantIsReadOrRefused) {
  EXPECT_FALSE(read_grant(*Json::parse("{}")).has_value());
  EXPECT_EQ(read_grant(*Json::parse(R"({"schema":2})")).error().kind, ErrorKind::kUnsupported);
  EXPECT_FALSE(read_grant(*Json::parse(R"({"schema":1,"evictions":{"perHour":-1,"until":"2026-11-21T20:00:00Z"}})")));
  EXPECT_FALSE(read_grant(*Json::parse(R"({"schema":1,"evictions":{"perHour":1}})")));
}

}  // namespace
}  // namespace tidemark::policy::evict
