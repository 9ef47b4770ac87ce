#include "console/order_request.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <string_view>

namespace tidemark::console {
namespace {

using namespace std::chrono_literals;

std::string wrong_field(std::string_view body) {
  const auto parsed = parse_order(body);
  return parsed ? "(accepted)" : parsed.error().field;
}

TEST(OrderRequest, ReadsEveryField) {
  const auto parsed = parse_order(
      R"({"verb":"off","scope":"pool","pool":"web","reason":"kernel update","evict":true,"graceSeconds":5,
          "budgetPerMinute":60,"lastsSeconds":3600,"dryRun":true})");
  ASSERT_TRUE(parsed) << parsed.error().detail;
  EXPECT_EQ(parsed->order.command.wish, policy::state::Wish::kOff);
  EXPECT_EQ(parsed->order.scope, operate::OrderScope::kPool);
  EXPECT_EQ(parsed->order.pool, "web");
  EXPECT_EQ(parsed->order.command.why, "kernel update");
  EXPECT_TRUE(parsed->order.command.evict);
  EXPECT_EQ(parsed->order.command.drain, 0s);
  EXPECT_EQ(parsed->order.command.lasts, 1h);
  EXPECT_TRUE(parsed->order.dry_run);
  EXPECT_EQ(parsed->evict.grace, 5s);
  EXPECT_EQ(parsed->evict.per_minute, 60);
  EXPECT_FALSE(parsed->evict.at_once);
}

TEST(OrderRequest, DrainsFifteenMinutesUnlessSaid) {
  EXPECT_EQ(parse_order(R"({"verb":"off","scope":"cluster","reason":"r"})")->order.command.drain, 15min);
  EXPECT_EQ(parse_order(R"({"verb":"off","scope":"cluster","reason":"r","drainSeconds":0})")->order.command.drain, 0s);
}

TEST(OrderRequest, RefusesAnOrderWithoutReason) {
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster"})"), "reason");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","reason":"  "})"), "reason");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","reason":")" + std::string(513, 'x') + "\"}"), "reason");
}

TEST(OrderRequest, NamesTheWrongField) {
  EXPECT_EQ(wrong_field("[]"), "");
  EXPECT_EQ(wrong_field("{"), "");
  EXPECT_EQ(wrong_field(R"({"verb":"stop","scope":"cluster","reason":"r"})"), "verb");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"zone","reason":"r"})"), "scope");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"node","reason":"r"})"), "nodes");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"node","nodes":["a/b"],"reason":"r"})"), "nodes");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"node","nodes":"a","reason":"r"})"), "nodes");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"pool","reason":"r"})"), "pool");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","pool":"web","reason":"r"})"), "pool");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","only":["gpu"],"reason":"r"})"), "only");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","reason":"r","drainSeconds":-1})"), "drainSeconds");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","reason":"r","lastsSeconds":"1h"})"), "lastsSeconds");
}

TEST(OrderRequest, RefusesFieldsThatDoNotGoTogether) {
  EXPECT_EQ(wrong_field(R"({"verb":"on","scope":"cluster","reason":"r","evict":true})"), "evict");
  EXPECT_EQ(wrong_field(R"({"verb":"on","scope":"cluster","reason":"r","drainSeconds":5})"), "drainSeconds");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","reason":"r","graceSeconds":5})"), "graceSeconds");
  EXPECT_EQ(wrong_field(R"({"verb":"off","scope":"cluster","reason":"r","evict":true,"only":["k8s"]})"), "only");
  EXPECT_EQ(
      wrong_field(R"({"verb":"off","scope":"cluster","reason":"r","evict":true,"atOnce":true,"budgetPerMinute":5})"),
      "budgetPerMinute");
  EXPECT_EQ(wrong_field(R"({"verb":"observe","scope":"cluster","reason":"r","only":["k8s"]})"), "only");
}

TEST(OrderRequest, RefusesAnUnknownFieldAndNamesTheNearest) {
  const auto parsed = parse_order(R"({"verb":"off","scope":"cluster","reason":"r","evicts":true})");
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().field, "evicts");
  EXPECT_NE(parsed.error().detail.find("did you mean evict?"), std::string::npos) << parsed.error().detail;
}

}  // namespace
}  // namespace tidemark::console
