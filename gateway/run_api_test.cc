#include "gateway/run_api.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using testing::Answer;
using testing::job;
using testing::World;

class RunApiTest : public ::testing::Test, public World {
 protected:
  std::int64_t submit(SparkJob wanted) {
    const auto added = run(runs->add(std::move(wanted), ""));
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    return added ? added->record.id : 0;
  }
  Answer list(std::string query = "") {
    RunApi api(*runs);
    return World::ask(api, "GET", base::cat("/tidemark/v1/runs", query), "");
  }
};

TEST_F(RunApiTest, ListShowsSideReasonAndTimesOfEachAttempt) {
  const auto id = submit(job({{"spark.tidemark.rerunSafe", "true"}, {"spark.tidemark.business", "ads"}}));
  ASSERT_TRUE(reaches(id, policy::route::Phase::kSubmitted));
  EXPECT_EQ(list().body.at("runs")->as_array()[0].text_at("state"), "waiting");
  const std::string pod = record(id).run.attempts[0].handle;
  start_driver(pod);
  ASSERT_TRUE(reaches(id, policy::route::Phase::kRunning));
  end_driver(pod, 143,
             R"("conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}],)");
  ASSERT_TRUE(until([&] { return record(id).run.attempts.size() == 2; })) << lines;

  const Json body = list().body;
  EXPECT_EQ(body.at("total")->as_int(), 1);
  const Json& run = body.at("runs")->as_array()[0];
  EXPECT_EQ(run.text_at("business"), "ads");
  const auto& attempts = run.at("attempts")->as_array();
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].text_at("side"), "kubernetes");
  EXPECT_GT(attempts[0].at("runningSince")->as_int(), 0);
  EXPECT_GE(attempts[0].at("ended")->as_int(), attempts[0].at("runningSince")->as_int());
  EXPECT_EQ(attempts[0].text_at("end"), "infrastructure");
  EXPECT_TRUE(attempts[1].text_at("why").contains("[TM-"));
  EXPECT_TRUE(attempts[1].member("runningSince")->is_null()) << "unknown, not 0";
}

TEST_F(RunApiTest, ListBeginsWithTheNewestRun) {
  for (int i = 0; i < 3; ++i) submit(job());
  const Json body = list("?from=1&size=1").body;
  EXPECT_EQ(body.at("total")->as_int(), 3);
  EXPECT_EQ(body.at("runs")->as_array().at(0).at("id")->as_int(), 2);
}

}  // namespace
}  // namespace tidemark::gateway
