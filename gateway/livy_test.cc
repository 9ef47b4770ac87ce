#include "gateway/livy.h"

#include <gtest/gtest.h>

#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::World;

class LivyTest : public ::testing::Test, public World {
 protected:
  Answer ask(std::string method, std::string target, std::string body = "", std::string key = "") {
    Livy door(*runs);
    return World::ask(door, std::move(method), std::move(target), std::move(body), std::move(key));
  }
};

constexpr std::string_view kPi =
    R"({"file":"local:///opt/pi.jar","className":"Pi","args":["3",4],"conf":{"spark.kubernetes.container.image":"i"},)"
    R"("driverMemory":"2g","numExecutors":3,"name":"pi","proxyUser":"ann"})";

TEST_F(LivyTest, BatchGoesThroughLivysStates) {
  const auto posted = ask("POST", "/batches", std::string(kPi));
  ASSERT_EQ(posted.status, 201);
  EXPECT_EQ(posted.headers.get("location"), "/batches/1");
  EXPECT_EQ(posted.body.at("id")->as_int(), 1);
  EXPECT_EQ(posted.body.text_at("state"), "starting");
  EXPECT_EQ(posted.body.text_at("name"), "pi");
  ASSERT_TRUE(reaches(1, policy::route::Phase::kSubmitted)) << lines;
  EXPECT_TRUE(ask("GET", "/batches/1").body.text_at("appId").starts_with("spark-"));
  const std::string pod = record(1).run.attempts[0].handle;
  start_driver(pod);
  ASSERT_TRUE(until([&] { return ask("GET", "/batches/1/state").body.text_at("state") == "running"; }));
  end_driver(pod, 1);
  ASSERT_TRUE(until([&] { return ask("GET", "/batches/1/state").body.text_at("state") == "dead"; }));
  const auto log = ask("GET", "/batches/1/log?size=2");
  EXPECT_EQ(log.body.at("log")->as_array().size(), 2U);
  EXPECT_EQ(log.body.at("from")->as_int(), log.body.at("total")->as_int() - 2);
}

TEST_F(LivyTest, DeleteKillsABatch) {
  ASSERT_EQ(ask("POST", "/batches", std::string(kPi)).status, 201);
  const auto deleted = ask("DELETE", "/batches/1");
  EXPECT_EQ(deleted.status, 200);
  EXPECT_EQ(deleted.body.text_at("msg"), "deleted");
  EXPECT_TRUE(until([&] { return ask("GET", "/batches/1").body.text_at("state") == "killed"; })) << lines;
}

TEST_F(LivyTest, ListHasFromTotalAndSessions) {
  for (int i = 0; i < 3; ++i) ASSERT_EQ(ask("POST", "/batches", std::string(kPi)).status, 201);
  const auto page = ask("GET", "/batches?from=1&size=1");
  EXPECT_EQ(page.body.at("from")->as_int(), 1);
  EXPECT_EQ(page.body.at("total")->as_int(), 3);
  ASSERT_EQ(page.body.at("sessions")->as_array().size(), 1U);
  EXPECT_EQ(page.body.at("sessions")->as_array()[0].at("id")->as_int(), 2);
}

TEST_F(LivyTest, IdempotencyKeyRepeatsABatch) {
  EXPECT_EQ(ask("POST", "/batches", std::string(kPi), "k").body.at("id")->as_int(), 1);
  EXPECT_EQ(ask("POST", "/batches", std::string(kPi), "k").body.at("id")->as_int(), 1);
  EXPECT_EQ(ask("POST", "/batches",
                R"({"file":"local:///x.jar","className":"X","conf":{"spark.kubernetes.container.image":"i"}})", "k")
                .status,
            409);
}

TEST_F(LivyTest, RefusesByName) {
  const auto refused = [&](std::string body) {
    const auto answer = ask("POST", "/batches", std::move(body));
    EXPECT_EQ(answer.status, 400);
    return std::string(answer.body.text_at("msg"));
  };
  EXPECT_EQ(refused("{}"), "Rejected, Reason: file is required");
  EXPECT_TRUE(refused(R"({"file":"hdfs:///x.R"})").contains("R is not supported"));
  EXPECT_TRUE(refused(R"({"file":"/x.jar","className":"X"})").contains("has no scheme"));
  EXPECT_TRUE(refused(R"({"file":"--jars=hdfs:/x.jar","className":"X"})").contains("has no scheme"));
  EXPECT_TRUE(refused(R"({"file":"hdfs:/x.jar","className":"X","jars":[" FILE:/y.jar"]})").contains("is a local file"));
  EXPECT_TRUE(refused(R"({"file":"file:///x.jar","className":"X"})").contains("is a local file"));
  EXPECT_TRUE(refused(R"({"file":"local:///x.jar"})").contains("className is required"));
  EXPECT_TRUE(refused(R"({"file":"local:///x.jar","className":"X","conf":{"spark.submit.deployMode":"client"}})")
                  .contains("only cluster mode"));
  EXPECT_TRUE(refused(R"({"file":"local:///x.jar","className":"X","conf":{"spark.master":"local"}})")
                  .contains("spark.master is not supported"));
  EXPECT_TRUE(refused(R"({"file":"local:///x.jar","className":"X","driverMemory":"big"})")
                  .contains("spark.driver.memory: invalid size"));
  EXPECT_TRUE(refused(R"({"file":"local:///x.jar","className":"X","conf":{"spark.tidemark.rerunSafe":"true",)"
                      R"("spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version":"2"}})")
                  .contains("use version 1"));
  EXPECT_TRUE(
      refused(R"({"file":"local:///x.jar","className":"X","conf":{"spark.tidemark.rerunSafe":"before-commit"}})")
          .contains("needs the paths that the job writes"));
  EXPECT_TRUE(refused(R"({"file":"local:///x.jar","className":"X","conf":{"spark.tidemark.rerunSafe":"before-commit",)"
                      R"("spark.tidemark.outputs":"hdfs:///a, s3a://b/c"}})")
                  .contains("\"s3a://b/c\" is neither"));
  EXPECT_TRUE(refused(R"({"file":"local:///x.jar","className":"X","heartbeat":1})").contains("unknown field"));
  EXPECT_TRUE(refused("[").contains("Rejected"));
}

TEST_F(LivyTest, UnknownBatchIsNotFound) {
  EXPECT_EQ(ask("GET", "/batches/7").status, 404);
  EXPECT_EQ(ask("GET", "/batches/7").body.text_at("msg"), "Session '7' not found.");
  EXPECT_EQ(ask("DELETE", "/batches/x").status, 404);
}

}  // namespace
}  // namespace tidemark::gateway
