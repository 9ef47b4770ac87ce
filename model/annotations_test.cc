#include "model/annotations.h"

#include <gtest/gtest.h>

namespace tidemark::model {
namespace {

TEST(Reservation, CpusByNumberReplaceCpuByAmount) {
  EXPECT_EQ(parse_reservation(R"({"resources":{"cpu":"2","memory":"4Gi"}})"), (Resources{{2000}, {4294967296}}));
  EXPECT_EQ(parse_reservation(R"({"resources":{"cpu":"2"},"reservedCPUs":"0-3,8","applyPolicy":"ReservedCPUsOnly"})"),
            (Resources{{5000}, {0}}));
  EXPECT_EQ(parse_reservation(R"({"resources":{"cpu":"2"},"reservedCPUs":""})"), (Resources{{2000}, {0}}));
  EXPECT_EQ(parse_reservation("{}"), Resources());
  EXPECT_EQ(parse_reservation("null"), Resources());
}

TEST(Reservation, RejectsUnreadableText) {
  for (const auto* text :
       {"", "{", "[]", "\"2\"", R"({"resources":[]})", R"({"resources":{"cpu":"two"}})", R"({"reservedCPUs":"3-0"})",
        R"({"reservedCPUs":4})", R"({"reservedCPUs":"0-4294967295"})"}) {
    EXPECT_FALSE(parse_reservation(text).has_value()) << text;
  }
}

TEST(CpuList, CountsEachCpuOnce) {
  EXPECT_EQ(count_cpus("0"), 1);
  EXPECT_EQ(count_cpus("0-3"), 4);
  EXPECT_EQ(count_cpus("0-3,2-5, 7"), 7);
  EXPECT_EQ(count_cpus("65535"), 1);
  for (const auto* text : {"", ",", "a", "1-", "-1", "0-65536", "1-2-3", "0x1"}) {
    EXPECT_FALSE(count_cpus(text).has_value()) << text;
  }
}

TEST(ThirdParty, OnlyBatchAllocationsCarryResources) {
  const auto allocations = parse_third_party_allocations(
      R"({"allocations":[{"name":"hadoop-yarn","priority":"koord-batch","resources":)"
      R"({"kubernetes.io/batch-cpu":"10k","kubernetes.io/batch-memory":"20Gi"}},)"
      R"({"name":"other","priority":"koord-mid","resources":{"kubernetes.io/batch-cpu":"1"}},{"name":"none"}]})");
  ASSERT_TRUE(allocations.has_value());
  ASSERT_EQ(allocations->size(), 3U);
  EXPECT_EQ((*allocations)[0].name, "hadoop-yarn");
  EXPECT_EQ((*allocations)[0].resources, (Resources{{10000}, {21474836480}}));
  EXPECT_EQ((*allocations)[1].resources, Resources());
  EXPECT_EQ((*allocations)[2].priority, PriorityClass::kNone);
}

TEST(ThirdParty, RejectsUnreadableTextAndNamesTheAllocation) {
  EXPECT_TRUE(parse_third_party_allocations("{}")->empty());
  EXPECT_TRUE(parse_third_party_allocations(R"({"allocations":null})")->empty());
  for (const auto* text : {"", "{\"allocations\":{}}", "[]", "{\"allocations\":[1]}"}) {
    EXPECT_FALSE(parse_third_party_allocations(text).has_value()) << text;
  }
  const auto broken = parse_third_party_allocations(
      R"({"allocations":[{"name":"yarn","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"x"}}]})");
  ASSERT_FALSE(broken.has_value());
  EXPECT_NE(broken.error().message.find("yarn"), std::string::npos) << broken.error().message;
}

TEST(Origin, IsWrittenInCanonicalQuantitiesAndReadBack) {
  const Resources origin{{12000}, {10737418240}};
  EXPECT_EQ(format_origin(origin),
            R"({"resources":{"kubernetes.io/batch-cpu":"12k","kubernetes.io/batch-memory":"10Gi"}})");
  EXPECT_EQ(format_origin({{10500}, {60344290509}}),
            R"({"resources":{"kubernetes.io/batch-cpu":"10500","kubernetes.io/batch-memory":"60344290509"}})");
  EXPECT_EQ(format_origin({}), R"({"resources":{"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"}})");
  EXPECT_EQ(parse_origin(format_origin(origin)), origin);
}

// The same amounts as this program writes them, and in other forms.
TEST(Origin, IsReadInAnyJsonForm) {
  const Resources origin{{10500}, {60344290509}};
  for (
      const std::string text : {
          R"({"resources":{"kubernetes.io/batch-cpu":"10500","kubernetes.io/batch-memory":"60344290509"}})",
          R"({"resources":{"kubernetes.io/batch-memory":"60344290509","kubernetes.io/batch-cpu":"10500"}})",
          R"( {"resources": {"kubernetes.io/batch-cpu": 10500, "kubernetes.io/batch-memory": "60344290509"}})",
          R"({"resources":{"kubernetes.io/batch-cpu":"10.5k","kubernetes.io/batch-memory":"60344290509"}})",
          R"({"resources":{"kubernetes.io/batch-cpu":"0000000000000000010500","kubernetes.io/batch-memory":"60344290509"}})",
          R"({"resources":{"kubernetes.io/batch-cpu":"10500","kubernetes.io/batch-memory":"60344290509","other":"1"}})",
      }) {
    EXPECT_EQ(parse_origin(text), origin) << text;
  }
  for (const std::string text : {
           R"({"resources":{"kubernetes.io/batch-cpu":"10500","kubernetes.io/batch-memory":"60344290509"}}x)",
           R"({"resources":{"kubernetes.io/batch-cpu":"10500","kubernetes.io/batch-memory":"60344290509"})",
           R"({"resources":{"kubernetes.io/batch-cpu":"","kubernetes.io/batch-memory":"60344290509"}})",
           R"({"resources":{"kubernetes.io/batch-cpu":"1x","kubernetes.io/batch-memory":"60344290509"}})",
       }) {
    EXPECT_FALSE(parse_origin(text).has_value()) << text;
  }
}

TEST(NumaNodes, KeepsOrderAndDuplicates) {
  using Nodes = std::vector<std::int32_t>;
  EXPECT_EQ(parse_numa_nodes(
                R"({"cpuset":"0-3","numaNodeResources":[{"node":1,"resources":{"cpu":"4"}},{"node":0},{"node":1}]})"),
            (Nodes{1, 0, 1}));
  EXPECT_EQ(parse_numa_nodes(R"({"cpuset":"0-3"})"), Nodes());
  EXPECT_EQ(parse_numa_nodes(R"({"numaNodeResources":null})"), Nodes());
  EXPECT_EQ(parse_numa_nodes("null"), Nodes());
  EXPECT_EQ(parse_numa_nodes(R"({"numaNodeResources":[{"node":-1},{"node":4096}]})"), (Nodes{-1, 4096}));
  EXPECT_EQ(parse_numa_nodes(R"({"numaNodeResources":[{"resources":{}}]})"), Nodes{0}) << "absent is 0, as in Go";
}

TEST(NumaNodes, RejectsUnreadableText) {
  for (const auto* text : {"", "{", "[]", "5", R"({"cpuset":3})", R"({"numaNodeResources":{}})",
                           R"({"numaNodeResources":[7]})", R"({"numaNodeResources":[{"node":"0"}]})",
                           R"({"numaNodeResources":[{"node":0.5}]})", R"({"numaNodeResources":[{"node":2147483648}]})",
                           R"({"numaNodeResources":[{"node":0,"resources":{"cpu":"four"}}]})"}) {
    EXPECT_FALSE(parse_numa_nodes(text).has_value()) << text;
  }
}

TEST(CpuBasicInfo, TreatsMissingFieldsAsOff) {
  EXPECT_EQ(parse_cpu_basic_info(R"({"cpuModel":"X","hyperThreadEnabled":true,"vendorID":"v"})"),
            (CpuBasicInfo{"X", true, false}));
  EXPECT_EQ(parse_cpu_basic_info("{}"), CpuBasicInfo());
  for (const auto* text : {"", "[]", R"({"cpuModel":1})", R"({"hyperThreadEnabled":"true"})"}) {
    EXPECT_FALSE(parse_cpu_basic_info(text).has_value()) << text;
  }
}

TEST(Annotations, ReadsTheYarnBook) {
  YarnBook book;
  book.generation = 7;
  book.confirmed = {CpuMilli{12'000}, MemoryBytes{std::int64_t{40} << 30}};
  book.sold = {{"spark", {CpuMilli{3'500}, MemoryBytes{std::int64_t{3} << 30}}}, {"", {CpuMilli{1}, MemoryBytes{1}}}};
  book.waiting = "spark";
  EXPECT_EQ(
      format_yarn_book(book),
      R"({"schema":1,"generation":7,"confirmed":{"kubernetes.io/batch-cpu":"12k","kubernetes.io/batch-memory":"40Gi"},)"
      R"("sold":[{"class":"spark","resources":{"kubernetes.io/batch-cpu":"3500","kubernetes.io/batch-memory":"3Gi"}},)"
      R"({"class":"","resources":{"kubernetes.io/batch-cpu":"1","kubernetes.io/batch-memory":"1"}}],"waiting":"spark"})");
  EXPECT_EQ(parse_yarn_book(format_yarn_book(book)), book);
  const YarnBook away{0, {CpuMilli{5}, MemoryBytes{6}}, std::nullopt, std::nullopt};
  EXPECT_EQ(parse_yarn_book(format_yarn_book(away)), away);
  const YarnOffer offer{8, book.confirmed, {CpuMilli{20'000}, MemoryBytes{std::int64_t{50} << 30}}};
  EXPECT_EQ(
      format_yarn_offer(offer),
      R"({"schema":1,"generation":8,"resources":{"kubernetes.io/batch-cpu":"12k","kubernetes.io/batch-memory":"40Gi"},)"
      R"("upTo":{"kubernetes.io/batch-cpu":"20k","kubernetes.io/batch-memory":"50Gi"}})");
  EXPECT_EQ(parse_yarn_offer(format_yarn_offer(offer)), offer);
}

TEST(Annotations, ReadsYarnWaitingAndReclaim) {
  YarnBook book;
  book.waiting = "spark";
  book.waiting_for = {CpuMilli{3'500}, MemoryBytes{1 << 20}};
  EXPECT_EQ(parse_yarn_book(format_yarn_book(book)), book);
  const auto alone = parse_yarn_book(R"({"schema":1,"generation":1,"confirmed":{},"waitingFor":{}})");
  ASSERT_FALSE(alone);
  EXPECT_EQ(alone.error().message, "waitingFor: there is no `waiting` beside it");
  YarnOffer offer;
  offer.generation = 8;
  offer.reclaim = {
      {"transcode", {CpuMilli{4'800}, MemoryBytes{1 << 20}}, {CpuMilli{7'200}, MemoryBytes{0}}, "TM-LEDGER-009"}};
  offer.drain_by = *base::parse_rfc3339("2026-03-01T06:00:00Z");
  const std::string text = format_yarn_offer(offer);
  EXPECT_TRUE(text.ends_with(
      R"("reclaim":[{"class":"transcode","amount":{"kubernetes.io/batch-cpu":"4800","kubernetes.io/batch-memory":"1Mi"},)"
      R"("keep":{"kubernetes.io/batch-cpu":"7200","kubernetes.io/batch-memory":"0"},"reason":"TM-LEDGER-009"}],)"
      R"("drainBy":"2026-03-01T06:00:00.000000Z"})"))
      << text;
  EXPECT_EQ(parse_yarn_offer(text), offer);
  const auto wrong = [](std::string_view members) {
    return parse_yarn_offer(base::cat(R"({"schema":1,"generation":1,"resources":{},"upTo":{},)", members, "}"))
        .error()
        .message;
  };
  EXPECT_EQ(wrong(R"("reclaim":[{"class":"a","amount":{},"reason":"b"}])"), "keep: missing");
  EXPECT_EQ(wrong(R"("drainBy":"soon")"), "drainBy: wanted a time like 2026-03-01T02:00:00Z");
}

TEST(Annotations, ReadsYarnManagers) {
  const std::vector<YarnManager> managers = {
      {"c", "rm1", "rm-1:8033", "active", *base::parse_rfc3339("2026-03-01T06:00:00Z")},
      {"d", "", "rm:8033", "away", *base::parse_rfc3339("2026-03-01T07:00:00Z")}};
  const std::string text = format_yarn_managers(managers);
  EXPECT_TRUE(text.starts_with(
      R"({"schema":1,"managers":[{"cluster":"c","id":"rm1","address":"rm-1:8033","state":"active","since":"2026-)"))
      << text;
  EXPECT_EQ(parse_yarn_managers(text), managers);
  EXPECT_FALSE(parse_yarn_managers(R"({"schema":1})"));
  EXPECT_FALSE(parse_yarn_managers(R"({"schema":2,"managers":[]})"));
  EXPECT_FALSE(parse_yarn_managers(R"({"schema":1,"managers":[{"cluster":"c"}]})"));
}

TEST(Annotations, ReadsQueues) {
  const std::vector<ManagerQueue> queues = {{"overcommit", 3, *base::parse_rfc3339("2026-03-01T06:00:00Z")},
                                            {"nodeslo", 0, std::nullopt}};
  EXPECT_EQ(parse_queues(format_queues(queues)), queues);
  EXPECT_FALSE(parse_queues(R"({"schema":1,"queues":[{"name":"a"}]})"));
}

TEST(Annotations, RejectsUnknownYarnBookAndNamesThePlace) {
  const auto refused = [](std::string_view text) {
    const auto book = parse_yarn_book(text);
    return book ? std::string("taken") : book.error().message;
  };
  EXPECT_EQ(refused("[]"), "wanted an object, found \"[]\"");
  EXPECT_EQ(refused("{}"), "schema: wanted 1, found none");
  EXPECT_EQ(refused(R"({"schema":2,"confirmed":{}})"), "schema: wanted 1, found 2");
  EXPECT_EQ(refused(R"({"schema":1,"generation":-1})"), "generation: wanted a whole number, found \"-1\"");
  EXPECT_EQ(refused(R"({"schema":1,"generation":1})"), "confirmed: missing");
  EXPECT_EQ(refused(R"({"schema":1,"generation":1,"confirmed":{"cpu":"1"}})"), "confirmed: \"cpu\": unknown field");
  EXPECT_EQ(refused(R"({"schema":1,"generation":1,"confirmed":{"kubernetes.io/batch-cpu":"-1"}})"),
            "confirmed: negative amount");
  EXPECT_EQ(refused(R"({"schema":1,"generation":1,"confirmed":{},"sold":[{"class":"a"}]})"),
            "sold of class \"a\": resources: missing");
  EXPECT_EQ(refused(R"({"schema":1,"generation":1,"confirmed":{},"wait":"a"})"), "\"wait\": unknown field");
}

}  // namespace
}  // namespace tidemark::model
