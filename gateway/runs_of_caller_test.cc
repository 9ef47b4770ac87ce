#include "gateway/runs_of_caller.h"

#include <gtest/gtest.h>

#include "gateway/kyuubi.h"
#include "gateway/livy.h"
#include "gateway/spark_application.h"
#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using policy::route::Phase;
using testing::World;

constexpr std::string_view kTwoBusinesses = R"(schema: 1
users:
- {name: ann, business: ads}
- {name: bob, business: ads}
- {name: eve, business: ops, admin: true}
businesses:
- name: ads
  quota: {running: 1, queued: 2, cores: 4}
  fixed: {spark.yarn.queue: ads}
- {name: ops}
)";

class RunsOfCallerTest : public ::testing::Test, public World {
 protected:
  RunsOfCallerTest() {
    runs->limit([this](std::string_view business) { return rules_->quota_of(business); });
  }
  RunsOfCaller as(const std::string& user) {
    return {*runs,
            {&clock, rules_, [this](model::AuditLine line) { audited_.push_back(std::move(line)); }},
            *rules_->by_name(user)};
  }
  // The job as a door hands it over: without a user.
  static SparkJob plain(std::map<std::string, std::string> conf = {}) {
    conf.try_emplace("spark.executor.instances", "1");
    SparkJob out = testing::job(std::move(conf));
    out.user = "";
    return out;
  }
  std::string submit(const std::string& user, SparkJob job = plain(), std::string key = "") {
    const auto added = run(as(user).add(std::move(job), std::move(key)));
    return added ? base::cat(added->record.id) : added.error().message;
  }

  std::shared_ptr<const AccessRules> rules_ = std::make_shared<const AccessRules>(*AccessRules::parse(kTwoBusinesses));
  std::vector<model::AuditLine> audited_;
};

TEST_F(RunsOfCallerTest, ARunBelongsToItsCallerAndTheBusiness) {
  ASSERT_EQ(submit("ann"), "1");
  EXPECT_EQ(record(1).job.user, "ann");
  EXPECT_EQ(record(1).job.conf_or(kBusinessConf, ""), "ads");
  EXPECT_EQ(record(1).job.conf_or("spark.yarn.queue", ""), "ads") << "fixed by the business";
  EXPECT_EQ(submit("ann", plain({{std::string(kBusinessConf), "ops"}})),
            "spark.tidemark.business: user ann belongs to business ads, not to ops");
  EXPECT_TRUE(submit("ann", plain({{"spark.kubernetes.driver.label.tidemark.io/business", "ops"}}))
                  .ends_with("is set by the gateway"));
}

TEST_F(RunsOfCallerTest, OnlyItsUserAndAnAdminSeeAndCancelARun) {
  ASSERT_EQ(submit("ann"), "1");
  const auto seen = run(as("bob").find(1));
  ASSERT_FALSE(seen);
  EXPECT_EQ(seen.error().code, 403);
  EXPECT_FALSE(run(as("bob").cancel(1)));
  EXPECT_FALSE(record(1).cancel);
  EXPECT_EQ(run(as("bob").page(0, 10))->total, 0);
  RunFilter of_ann;
  of_ann.user = "ann";
  EXPECT_EQ(run(as("bob").page(0, 10, of_ann))->total, 0);
  EXPECT_EQ(run(as("ann").page(0, 10))->total, 1);
  EXPECT_EQ(run(as("eve").page(0, 10))->total, 1);
  EXPECT_TRUE(*run(as("ann").find(1)));
  EXPECT_TRUE(run(as("eve").cancel(1)));
  EXPECT_TRUE(reaches(1, Phase::kCancelled));
}

TEST_F(RunsOfCallerTest, OnlyAnAdminSubmitsForOtherUsers) {
  SparkJob job = plain();
  job.user = "bob";
  EXPECT_EQ(submit("ann", job), "user ann may not submit jobs of user bob");
  ASSERT_EQ(submit("eve", job), "1");
  EXPECT_EQ(record(1).job.user, "bob");
  EXPECT_EQ(record(1).job.conf_or(kBusinessConf, ""), "ads");
  job.user = "zoe";
  EXPECT_EQ(submit("eve", job), "user zoe is unknown");
}

TEST_F(RunsOfCallerTest, AKeyOfAnotherUserIsAConflict) {
  ASSERT_EQ(submit("ann", plain(), "k"), "1");
  EXPECT_EQ(submit("ann", plain(), "k"), "1");
  EXPECT_TRUE(submit("bob", plain(), "k").contains("belongs to another"));
}

TEST_F(RunsOfCallerTest, ARepeatedRequestMeetsItsRunAfterAChangeOfTheRules) {
  ASSERT_EQ(submit("ann", plain(), "k"), "1");
  std::string changed(kTwoBusinesses);
  changed.replace(changed.find("queue: ads"), 10, "queue: new");
  rules_ = std::make_shared<const AccessRules>(*AccessRules::parse(changed));
  EXPECT_EQ(submit("ann", plain(), "k"), "1");
  EXPECT_EQ(submit("ann", plain({{"spark.executor.memory", "2g"}}), "k"),
            "the idempotency key belongs to another job, run 1");
}

TEST_F(RunsOfCallerTest, RunsBeyondTheQuotaWaitAndThenAreRefused) {
  ASSERT_EQ(submit("ann"), "1");
  ASSERT_TRUE(reaches(1, Phase::kSubmitted));
  ASSERT_EQ(submit("bob"), "2");
  ASSERT_EQ(submit("ann"), "3");
  ASSERT_TRUE(until([&] { return record(2).message.contains("[TM-ROUTE-027]: business ads, 1 of 1 run"); }))
      << record(2).message;
  EXPECT_EQ(submit("ann"), "exceeded quota: 2 runs of business ads wait, and at most 2 may wait");
  EXPECT_EQ(submit("eve"), "4") << "another business";
  EXPECT_EQ(record(2).run.phase, Phase::kQueued);
  ASSERT_TRUE(run(as("ann").cancel(1)));
  ASSERT_TRUE(reaches(2, Phase::kSubmitted)) << "the oldest run goes first";
  EXPECT_EQ(record(3).run.phase, Phase::kQueued);
}

TEST_F(RunsOfCallerTest, AKnownKeyIsNoNewRunForTheQuota) {
  ASSERT_EQ(submit("ann"), "1");
  ASSERT_TRUE(reaches(1, Phase::kSubmitted));
  ASSERT_EQ(submit("ann", plain(), "k"), "2");
  ASSERT_EQ(submit("ann"), "3");
  EXPECT_EQ(submit("ann", plain(), "k"), "2");
}

TEST_F(RunsOfCallerTest, AJobThatNeverFitsIsRefused) {
  EXPECT_EQ(submit("ann", plain({{"spark.executor.instances", "4"}})),
            "exceeded quota: the job may use 5 cores, and business ads has 4");
  EXPECT_TRUE(submit("ann", plain({{"spark.dynamicAllocation.enabled", "true"}}))
                  .starts_with("spark.dynamicAllocation.maxExecutors is required"));
}

TEST_F(RunsOfCallerTest, AFullQuotaHasTheFormOfEachDoor) {
  const auto post = [&](auto door, const char* path, std::string body) { return ask(door, "POST", path, body); };
  const std::string conf = R"("conf":{"spark.kubernetes.container.image":"i","spark.executor.instances":"9"})";
  const auto livy = post(Livy(as("ann")), "/batches", R"({"file":"local:///a.jar","className":"A",)" + conf + "}");
  EXPECT_EQ(livy.status, 400);
  EXPECT_TRUE(livy.body.text_at("msg").starts_with("Rejected, Reason: exceeded quota")) << livy.body.dump();
  const auto kyuubi = post(Kyuubi(as("ann")), "/api/v1/batches",
                           R"({"batchType":"SPARK","resource":"local:///a.jar","className":"A",)" + conf + "}");
  EXPECT_EQ(kyuubi.status, 429);
  EXPECT_TRUE(kyuubi.body.text_at("message").starts_with("exceeded quota"));
  const auto object = post(
      SparkApplications(as("ann")), "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications",
      R"({"apiVersion":"sparkoperator.k8s.io/v1beta2","kind":"SparkApplication","metadata":{"name":"a"},)"
      R"("spec":{"mainApplicationFile":"local:///a.jar","mainClass":"A","image":"i","executor":{"instances":9}}})");
  EXPECT_EQ(object.status, 403) << object.body.dump();
  EXPECT_EQ(object.body.text_at("reason"), "Forbidden");
}

TEST_F(RunsOfCallerTest, TheAuditTellsWhoDidWhatWithWhichRun) {
  ASSERT_EQ(submit("ann"), "1");
  (void)run(as("bob").find(1));
  (void)run(as("bob").cancel(1));
  (void)run(as("ann").set_no_more_kubernetes(true));
  ASSERT_TRUE(run(as("ann").cancel(1)));
  std::vector<std::string> lines_of_audit;
  for (const auto& each : audited_) {
    lines_of_audit.push_back(base::cat(each.actor, " ", each.verb, " ", each.name, " ",
                                       each.outcome == model::AuditOutcome::kDone ? "done" : "refused"));
  }
  EXPECT_EQ(lines_of_audit,
            (std::vector<std::string>{"ann submit 1 done", "bob get 1 refused", "bob cancel 1 refused",
                                      "ann switch-on no-more-kubernetes refused", "ann cancel 1 done"}));
  EXPECT_FALSE(store->no_more_kubernetes());
}

}  // namespace
}  // namespace tidemark::gateway
