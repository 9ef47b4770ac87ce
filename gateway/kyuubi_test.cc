#include "gateway/kyuubi.h"

#include <gtest/gtest.h>

#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::World;

class KyuubiTest : public ::testing::Test, public World {
 protected:
  Answer ask(std::string method, std::string target, std::string body = "") {
    Kyuubi door(*runs);
    return World::ask(door, std::move(method), std::move(target), std::move(body));
  }
};

constexpr std::string_view kId = "0f6b2c1e-7a35-4a55-9d6c-2b7a3b0f4c11";
constexpr std::string_view kPiBatch =
    R"({"batchType":"SPARK","resource":"local:///opt/pi.jar","className":"Pi","name":"pi","args":["3"],)"
    R"("conf":{"spark.kubernetes.container.image":"i","spark.driver.memory":"2g"}})";
std::string with_id(std::string_view more = "") {
  return base::cat(R"({"batchType":"SPARK","resource":"local:///opt/pi.jar","className":"Pi",)",
                   R"("conf":{"spark.kubernetes.container.image":"i","kyuubi.batch.id":")", kId, "\"", more, "}}");
}

TEST_F(KyuubiTest, BatchGoesThroughKyuubisStates) {
  const auto posted = ask("POST", "/api/v1/batches", std::string(kPiBatch));
  ASSERT_EQ(posted.status, 200) << posted.body.dump();
  const std::string path = base::cat("/api/v1/batches/", posted.body.text_at("id"));
  EXPECT_EQ(posted.body.text_at("id").size(), 36U);
  EXPECT_EQ(posted.body.text_at("state"), "PENDING");
  EXPECT_EQ(posted.body.text_at("batchType"), "SPARK");
  EXPECT_EQ(record(1).job.conf.at("spark.driver.memory"), "2g");
  ASSERT_TRUE(reaches(1, policy::route::Phase::kSubmitted)) << lines;
  const std::string pod = record(1).run.attempts[0].handle;
  start_driver(pod);
  ASSERT_TRUE(until([&] { return ask("GET", path).body.text_at("state") == "RUNNING"; }));
  end_driver(pod, 0);
  ASSERT_TRUE(until([&] { return ask("GET", path).body.text_at("state") == "FINISHED"; }));
  EXPECT_EQ(ask("GET", path).body.text_at("appState"), "FINISHED");
  const auto log = ask("GET", path + "/localLog?from=0&size=2");
  EXPECT_EQ(log.body.at("rowCount")->as_int(), 2);
  const auto deleted = ask("DELETE", path);
  EXPECT_FALSE(deleted.body.at("success")->as_bool()) << "it has ended";
}

TEST_F(KyuubiTest, ClientsIdMakesABatchRepeatable) {
  const auto first = ask("POST", "/api/v1/batches", with_id());
  EXPECT_EQ(first.body.text_at("id"), kId);
  EXPECT_FALSE(record(1).job.conf.contains("kyuubi.batch.id"));
  const auto second = ask("POST", "/api/v1/batches", with_id());
  EXPECT_EQ(second.body.text_at("id"), kId);
  EXPECT_EQ(second.body.text_at("batchInfo", "kyuubi.batch.duplicated"), "true");
  EXPECT_EQ(ask("POST", "/api/v1/batches", with_id(R"(,"spark.driver.memory":"3g")")).status, 409);
  EXPECT_EQ(ask("GET", base::cat("/api/v1/batches/", kId)).body.text_at("id"), kId);
}

TEST_F(KyuubiTest, DeleteCancelsABatch) {
  ask("POST", "/api/v1/batches", with_id());
  const std::string path = base::cat("/api/v1/batches/", kId);
  EXPECT_TRUE(ask("DELETE", path).body.at("success")->as_bool());
  EXPECT_TRUE(until([&] { return ask("GET", path).body.text_at("state") == "CANCELED"; })) << lines;
}

TEST_F(KyuubiTest, ListFiltersByNameUserAndState) {
  ask("POST", "/api/v1/batches", std::string(kPiBatch));
  ask("POST", "/api/v1/batches", with_id());
  ASSERT_TRUE(reaches(2, policy::route::Phase::kSubmitted)) << lines;
  const auto total = [&](std::string_view query) {
    return ask("GET", base::cat("/api/v1/batches?", query)).body.at("total")->as_int();
  };
  EXPECT_EQ(total(""), 2);
  EXPECT_EQ(total("batchName=pi"), 1);
  EXPECT_EQ(total("batchUser=root&batchState=PENDING"), 2);
  EXPECT_EQ(total("batchUser=ann"), 0);
  EXPECT_EQ(total("batchState=FINISHED"), 0);
  EXPECT_EQ(total("batchState=ERROR"), 0);
  EXPECT_EQ(total("batchState=CANCELED"), 0);
  const auto page = ask("GET", "/api/v1/batches?desc=true&size=1");
  EXPECT_EQ(page.body.at("batches")->as_array().at(0).text_at("id"), kId);
}

TEST_F(KyuubiTest, RefusesByName) {
  const auto refused = [&](std::string body) {
    const auto answer = ask("POST", "/api/v1/batches", std::move(body));
    EXPECT_EQ(answer.status, 400);
    return std::string(answer.body.text_at("message"));
  };
  EXPECT_TRUE(refused("{}").contains("batchType: unknown type"));
  EXPECT_EQ(refused(R"({"batchType":"SPARK"})"), "resource is required");
  EXPECT_TRUE(refused(R"({"batchType":"SPARK","resource":"local:///x.jar"})").contains("className is required"));
  EXPECT_TRUE(refused(R"({"batchType":"FLINK","resource":"local:///x.jar"})").contains("unknown type \"flink\""));
  EXPECT_TRUE(
      refused(R"({"batchType":"PYSPARK","resource":"local:///x.jar","className":"X"})").contains("does not fit"));
  EXPECT_TRUE(refused(R"({"batchType":"SPARK","resource":"local:///x.jar","className":"X",)"
                      R"("conf":{"kyuubi.batch.id":"7"}})")
                  .contains("a UUID is expected"));
  EXPECT_TRUE(
      refused(R"({"batchType":"SPARK","resource":"local:///x.jar","className":"X","extraResourcesMap":{"a":1}})")
          .contains("extraResourcesMap is not supported"));
  EXPECT_EQ(ask("GET", "/api/v1/batches?batchType=SPARK").status, 400);
}

TEST_F(KyuubiTest, UnknownBatchIsNotFound) {
  EXPECT_EQ(ask("GET", base::cat("/api/v1/batches/", kId)).status, 404);
  EXPECT_EQ(ask("GET", "/api/v1/batches/7").body.text_at("message"), "Invalid batchId: 7");
}

}  // namespace
}  // namespace tidemark::gateway
