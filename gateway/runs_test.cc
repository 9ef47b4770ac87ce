#include "gateway/runs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "gateway/output_check.h"
#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using namespace policy::route;
using testing::job;
using testing::World;

constexpr kube::Resource kServices{"", "v1", "services", "Service", true};
const std::map<std::string, std::string> kSafe = {{"spark.tidemark.rerunSafe", "true"}};
const std::map<std::string, std::string> kOnYarn = {{"spark.tidemark.side", "yarn"}};

class RunsTest : public ::testing::Test, public World {
 protected:
  std::int64_t submit(SparkJob wanted, std::string key = "") {
    const auto added = run(runs->add(std::move(wanted), std::move(key)));
    EXPECT_TRUE(added) << (added ? "" : added.error().message);
    return added->record.id;
  }
  std::string pod_name(std::int64_t id) {
    EXPECT_TRUE(
        until([&] { return !record(id).run.attempts.empty() && !record(id).run.attempts.back().handle.empty(); }));
    return record(id).run.attempts.back().handle;
  }
  EndClass result(std::int64_t id) {
    EXPECT_TRUE(reaches(id, Phase::kDone)) << lines;
    const auto end = result_of(record(id).run);
    return end ? end->end_class : EndClass::kLost;
  }
};

TEST_F(RunsTest, RunsAJobOnKubernetes) {
  const auto id = submit(job());
  ASSERT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
  const std::string pod = pod_name(id);
  ASSERT_EQ(pods().size(), 1U);
  EXPECT_TRUE(exists(kServices, pod + "-svc"));
  start_driver(pod);
  ASSERT_TRUE(reaches(id, Phase::kRunning));
  end_driver(pod, 0);
  EXPECT_EQ(result(id), EndClass::kSucceeded);
  EXPECT_EQ(pods().at(0).at("metadata", "finalizers"), nullptr) << "the end is stored: the pod may go";
}

TEST_F(RunsTest, RunsAJobOnYarn) {
  const auto id = submit(job(kOnYarn));
  ASSERT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
  const std::string app = pod_name(id);
  ASSERT_TRUE(rm->apps.contains(app));
  EXPECT_EQ(rm->apps.at(app).body.text_at("application-type"), "SPARK");
  rm->run(app);
  ASSERT_TRUE(reaches(id, Phase::kRunning));
  rm->finish(app, "FINISHED", "SUCCEEDED");
  EXPECT_EQ(result(id), EndClass::kSucceeded);
  EXPECT_TRUE(pods().empty());
}

TEST_F(RunsTest, RulesDecideUntilTheyChangeAndAreNamed) {
  RouteRules rules;
  SideRule& ban = rules.rules.emplace_back();
  ban.label = "rules[0] {}";
  ban.business = "ads";
  ban.side = Side::kYarn;
  ban.ban = true;
  runs->set_rules(rules);
  auto wanted = job({{"spark.tidemark.business", "ads"}, {"spark.tidemark.side", "yarn"}});
  const auto first = submit(wanted);
  ASSERT_TRUE(reaches(first, Phase::kSubmitted)) << lines;
  const Attempt attempt = record(first).run.attempts.back();
  EXPECT_EQ(attempt.side, Side::kKubernetes);
  EXPECT_EQ(attempt.reason, RouteReason::kBannedByRule);
  end();
  begin();
  EXPECT_EQ(record(first).run.attempts.back().rule, "rules[0] {}") << "it is stored";
  const auto second = submit(wanted);
  ASSERT_TRUE(reaches(second, Phase::kSubmitted)) << lines;
  EXPECT_EQ(record(second).run.attempts.back().side, Side::kYarn);
}

TEST_F(RunsTest, RunDoesNotMoveToASideThatARuleBans) {
  RouteRules rules;
  SideRule& ban = rules.rules.emplace_back();
  ban.side = Side::kYarn;
  ban.ban = true;
  runs->set_rules(rules);
  const auto id = submit(job(kSafe));
  const std::string pod = pod_name(id);
  ASSERT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
  start_driver(pod);
  ASSERT_TRUE(reaches(id, Phase::kRunning));
  end_driver(pod, 143, R"("reason":"Evicted",)");
  EXPECT_EQ(result(id), EndClass::kInfrastructure);
  EXPECT_EQ(record(id).run.attempts.size(), 1U);
}

// With live signals of both sides.
class RunsWithSignals : public RunsTest {
 protected:
  RunsWithSignals() {
    watch.start();
    queues.start();
    runs->use(&signals);
    watch.follow([this] { runs->wake_for_room(); });
    kube::WriteOptions in;
    EXPECT_TRUE(
        run(client->create(kube::kNodes, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n"}})", in, "", 10s)));
    offer(4000);
  }
  ~RunsWithSignals() override { end(); }
  void offer(int batch_cpu) {
    kube::WriteOptions in;
    in.subresource = "status";
    const std::string amounts =
        base::cat(R"({"kubernetes.io/batch-cpu":")", batch_cpu, R"(","kubernetes.io/batch-memory":"64Gi"})");
    const std::string status = base::cat(R"({"status":{"capacity":)", amounts, R"(,"allocatable":)", amounts,
                                         R"(,"conditions":[{"type":"Ready","status":"True"}]}})");
    EXPECT_TRUE(run(client->patch(kube::kNodes, "n", kube::PatchType::kMerge, status, in, 10s)));
    EXPECT_TRUE(until([&] {
      const auto capacity = watch.capacity();
      return capacity && !capacity->nodes.empty() && capacity->nodes[0].total.cpu.value == batch_cpu;
    }));
  }
  Attempt attempt_of(std::int64_t id) {
    EXPECT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
    return record(id).run.attempts.back();
  }

  base::Registry signal_metrics;
  IdleCapacity watch{loop, *client, log, signal_metrics, base::Random(9), store->instance()};
  YarnQueues queues{loop, hadoop::ApplicationsRest(loop, nullptr, rm->cluster(), "tester"), log, 5ms};
  LiveSignals signals{&watch, &queues, "default"};
};

TEST_F(RunsWithSignals, RunsCountOnCapacityOnce) {
  // A driver and two executors: 3 cores of 4. Its executors request nothing yet.
  const auto first = submit(job());
  const auto second = submit(job());
  EXPECT_EQ(attempt_of(first).side, Side::kKubernetes);
  EXPECT_EQ(attempt_of(second).side, Side::kYarn);
  EXPECT_EQ(attempt_of(second).reason, RouteReason::kKubernetesFull);
  ASSERT_TRUE(run(runs->cancel(first)));
  ASSERT_TRUE(reaches(first, Phase::kCancelled)) << lines;
  ASSERT_TRUE(until([&] { return pods().empty() && watch.requested(first).pods == 0; }));
  EXPECT_EQ(attempt_of(submit(job())).side, Side::kKubernetes);
}

TEST_F(RunsWithSignals, DecisionsReplayAfterARestartAndWithOtherRules) {
  const auto id = submit(job({{"spark.executor.instances", "9"}}));
  EXPECT_EQ(attempt_of(id).reason, RouteReason::kKubernetesFull);
  offer(20'000);
  end();
  begin();
  RouteRules rules;
  rules.kubernetes_percent = 0;
  runs->set_rules(rules);
  const auto replayed = run(runs->replay(record(id)));
  ASSERT_EQ(replayed.size(), 1U);
  ASSERT_TRUE(replayed[0]) << replayed[0].error().message;
  EXPECT_TRUE(replayed[0]->same);
  EXPECT_EQ(replayed[0]->now.reason, RouteReason::kKubernetesFull);
  EXPECT_EQ(replayed[0]->signals,
            "needs 10 cores, 14080 MiB, 10 pods; Kubernetes: 4 cores, 65536 MiB idle; no quota of its namespace; "
            "YARN: queue root.default 100 % used, 2 applications and 0 containers pending, wait unknown after 0 runs");
}

TEST_F(RunsWithSignals, RunWaitsForRoomWhileItsQueueIsSlow) {
  for (int runs_before = 0; runs_before < 59; ++runs_before) {
    Record before;
    before.job = job();
    before.run.attempts.emplace_back().side = Side::kYarn;
    before.run.attempts[0].accepted = base::WallTime{0s};
    before.run.attempts[0].running_since = base::WallTime{700s};
    queues.note(before);
  }
  RouteRules rules;
  rules.yarn_wait_max = 10min;
  runs->set_rules(rules);
  ASSERT_TRUE(until([&] { return queues.queue("default").has_value(); }));
  const auto small = submit(job({{"spark.executor.instances", "3"}}));
  const auto large = submit(job({{"spark.executor.instances", "4"}}));
  EXPECT_EQ(attempt_of(small).side, Side::kKubernetes);
  ASSERT_TRUE(until([&] { return record(large).message.contains("TM-ROUTE-032"); })) << lines;
  EXPECT_TRUE(record(large).message.contains("95 % of 59 waits within 700 s")) << record(large).message;
  // It does not take the room of an older run.
  const auto younger = submit(job({{"spark.executor.instances", "1"}}));
  ASSERT_TRUE(until([&] { return record(younger).message.contains("TM-ROUTE-032"); })) << lines;
  offer(9000);
  EXPECT_EQ(attempt_of(large).side, Side::kKubernetes);
  offer(11'000);
  EXPECT_EQ(attempt_of(younger).side, Side::kKubernetes);
}

TEST_F(RunsTest, JobWhoseSidesDifferGetsNoPlaceAtKubernetesUntilAComparisonSucceeds) {
  const auto compare = [this](std::string_view final_status) {
    const auto id = submit(
        job({{"spark.tidemark.side", "yarn"}, {"spark.tidemark.compares", "org.apache.spark.examples.SparkPi"}}));
    ASSERT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
    rm->finish(pod_name(id), "FINISHED", std::string(final_status), "exitCode: 1");
    ASSERT_TRUE(reaches(id, Phase::kDone)) << lines;
  };
  const auto side = [this] {
    const auto id = submit(job());
    EXPECT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
    return record(id).run.attempts.back().side;
  };
  compare("FAILED");
  EXPECT_EQ(side(), Side::kYarn);
  end();
  begin();
  EXPECT_EQ(side(), Side::kYarn) << "it is stored";
  compare("SUCCEEDED");
  EXPECT_EQ(side(), Side::kKubernetes);
}

TEST_F(RunsTest, SameKeyIsTheSameRun) {
  const auto id = submit(job(), "key-1");
  EXPECT_EQ(submit(job(), "key-1"), id);
  const auto other = run(runs->add(job(kSafe), "key-1"));
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kConflict);
  EXPECT_NE(submit(job(), "key-2"), id);
}

TEST_F(RunsTest, EvictedDriverContinuesOnYarnOnceItsRunIsSafe) {
  const auto id = submit(job(kSafe));
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  const std::string pod = pod_name(id);
  start_driver(pod);
  ASSERT_TRUE(reaches(id, Phase::kRunning));
  end_driver(pod, 143,
             R"("conditions":[{"type":"DisruptionTarget","status":"True","reason":"EvictionByEvictionAPI"}],)");
  ASSERT_TRUE(until([&] { return record(id).run.attempts.size() == 2 && record(id).run.phase == Phase::kSubmitted; }))
      << lines;
  const std::string app = pod_name(id);
  rm->run(app);
  rm->finish(app, "FINISHED", "SUCCEEDED");
  EXPECT_EQ(result(id), EndClass::kSucceeded);
  EXPECT_EQ(record(id).run.attempts[0].end->end_class, EndClass::kInfrastructure);
  EXPECT_EQ(rm->starts, 1);
}

TEST_F(RunsTest, MoveWaitsUntilNoExecutorIsLeft) {
  const auto id = submit(job(kSafe));
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  const std::string pod = pod_name(id);
  const Json executor = Json::object(
      {{"apiVersion", "v1"},
       {"kind", "Pod"},
       {"metadata", Json::object({{"name", "exec-1"},
                                  {"finalizers", Json::array({"example.com/busy"})},
                                  {"labels", Json::object({{"spark-role", "executor"},
                                                           {"spark-app-selector", runs->app_id(record(id))}})}})},
       {"spec", Json::object({{"containers", Json::array({Json::object({{"name", "e"}, {"image", "i"}})})}})}});
  kube::WriteOptions in;
  in.ns = "default";
  ASSERT_TRUE(run(client->create(kube::kPods, executor.dump(), in, "", 10s)));
  end_driver(pod, 143, R"("reason":"Evicted",)");
  ASSERT_TRUE(until([&] { return record(id).message.contains("executor"); })) << lines;
  EXPECT_EQ(record(id).run.attempts.size(), 1U);
  ASSERT_TRUE(run(
      client->patch(kube::kPods, "exec-1", kube::PatchType::kMerge, R"({"metadata":{"finalizers":null}})", in, 10s)));
  EXPECT_TRUE(until([&] { return record(id).run.attempts.size() == 2; })) << lines;
}

TEST_F(RunsTest, MissingNamespaceEndsARun) {
  const auto id = submit(job({{"spark.kubernetes.namespace", "nowhere"}, {"spark.tidemark.side", "kubernetes"}}));
  EXPECT_EQ(result(id), EndClass::kUser);
  EXPECT_TRUE(record(id).message.contains("nowhere")) << record(id).message;
}

TEST_F(RunsTest, RunThatIsNotSafeDoesNotMove) {
  const auto id = submit(job());
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  end_driver(pod_name(id), 143, R"("reason":"Evicted",)");
  EXPECT_EQ(result(id), EndClass::kInfrastructure);
  EXPECT_TRUE(rm->apps.empty());
}

// The first attempt left a file of a task below _temporary; its commit puts it into the output.
TEST_F(RunsTest, RunMovesBeforeItsCommitOnly) {
  namespace fs = std::filesystem;
  const OutputCheck outputs(loop, {});
  const auto move = [&](const std::string& file) {
    runs->check_outputs([&](SparkJob job, base::WallTime) { return outputs.begun(std::move(job), base::WallTime{}); });
    const fs::path place = fs::path(folder) / base::cat("out-", file.size());
    fs::create_directories((place / file).parent_path());
    std::ofstream(place / file) << "row";
    const auto id = submit(job({{"spark.tidemark.rerunSafe", "before-commit"},
                                {"spark.tidemark.outputs", base::cat("file://", place.string())}}));
    EXPECT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
    end_driver(pod_name(id), 143, R"("reason":"Evicted",)");
    EXPECT_TRUE(until([&] { return record(id).run.attempts.size() == 2 || record(id).run.phase == Phase::kDone; }));
    return id;
  };
  EXPECT_EQ(record(move("_temporary/0/task_1/part-0")).run.attempts.size(), 2U) << lines;
  const auto begun = move("p=1/part-0");
  EXPECT_EQ(record(begun).run.attempts.size(), 1U);
  EXPECT_TRUE(record(begun).message.starts_with("does not move: it has begun to commit file://")) << lines;
}

TEST_F(RunsTest, RunWaitsToMoveWhileItsOutputsCannotBeRead) {
  bool away = true;
  runs->check_outputs([&](SparkJob, base::WallTime) -> net::Task<Result<std::vector<std::string>>> {
    if (away) co_return fail(ErrorKind::kUnavailable, "no NameNode answers");
    co_return std::vector<std::string>();
  });
  const auto id = submit(job({{"spark.tidemark.rerunSafe", "before-commit"}, {"spark.tidemark.outputs", "hdfs:///o"}}));
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  end_driver(pod_name(id), 143, R"("reason":"Evicted",)");
  ASSERT_TRUE(until([&] { return record(id).message.contains("no NameNode answers"); })) << lines;
  EXPECT_EQ(record(id).run.attempts.size(), 1U);
  away = false;
  EXPECT_TRUE(until([&] { return record(id).run.attempts.size() == 2; })) << lines;
}

TEST_F(RunsTest, CancelRemovesThePodAndALaterOne) {
  const auto id = submit(job());
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  const Json pod = pods().at(0);
  ASSERT_TRUE(run(runs->cancel(id)));
  ASSERT_TRUE(reaches(id, Phase::kCancelled)) << lines;
  EXPECT_TRUE(until([&] { return pods().empty(); }));
  // The creation of the same pod arrives once more.
  Json late = Json::object({{"apiVersion", "v1"}, {"kind", "Pod"}, {"spec", *pod.at("spec")}});
  late["metadata"] = Json::object({{"name", pod.text_at("metadata", "name")},
                                   {"labels", *pod.at("metadata", "labels")},
                                   {"finalizers", *pod.at("metadata", "finalizers")}});
  kube::WriteOptions in;
  in.ns = "default";
  ASSERT_TRUE(run(client->create(kube::kPods, late.dump(), in, "", 10s)));
  EXPECT_TRUE(until([&] { return pods().empty(); })) << lines;
}

// Without the file that it mounts, a driver that is created late never starts.
TEST_F(RunsTest, LateConfigMapOfAStoppedDriverIsRefused) {
  const auto id = submit(job());
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  const std::string name(pods().at(0).at("spec", "volumes")->as_array().back().text_at("configMap", "name"));
  Json late = *Json::parse(*run(client->get(kube::kConfigMaps, "default", name, 10s)));
  late["metadata"] = Json::object({{"name", name}});
  ASSERT_TRUE(run(runs->cancel(id)));
  ASSERT_TRUE(reaches(id, Phase::kCancelled)) << lines;
  kube::WriteOptions in;
  in.ns = "default";
  const auto created = run(client->create(kube::kConfigMaps, late.dump(), in, "", 10s));
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().kind, ErrorKind::kAlreadyExists);
  const Json fence = *Json::parse(*run(client->get(kube::kConfigMaps, "default", name, 10s)));
  EXPECT_EQ(fence.at("data"), nullptr);
}

TEST_F(RunsTest, SecondAttemptHasItsOwnAttemptIdOfTheCommitter) {
  Record record;
  record.job = job(kSafe);
  record.run.attempts.resize(1);
  const std::string key = "spark.hadoop.mapreduce.job.application.attempt.id";
  EXPECT_FALSE(job_of_attempt(record).conf.contains(key));
  record.run.attempts.resize(2);
  EXPECT_EQ(job_of_attempt(record).conf.at(key), "2");
  record.job.conf[key] = "7";
  EXPECT_EQ(job_of_attempt(record).conf.at(key), "7") << "the user's own";
}

TEST_F(RunsTest, NoMoreKubernetesMovesWhatWaitsThere) {
  const auto waits = submit(job());
  const auto has_place = submit(job());
  ASSERT_TRUE(reaches(waits, Phase::kSubmitted));
  ASSERT_TRUE(reaches(has_place, Phase::kSubmitted));
  ASSERT_TRUE(bind(pod_name(has_place)));
  ASSERT_TRUE(run(runs->set_no_more_kubernetes(true)));
  EXPECT_TRUE(until([&] { return record(waits).run.attempts.size() == 2; })) << lines;
  EXPECT_TRUE(record(waits).run.attempts[0].end->never_started) << "so its sink need not be safe";
  EXPECT_TRUE(reaches(has_place, Phase::kAdmitted)) << lines;
  const auto later = submit(job());
  ASSERT_TRUE(reaches(later, Phase::kSubmitted));
  EXPECT_EQ(record(later).run.attempts.back().side, Side::kYarn);
  end();
  begin();
  EXPECT_TRUE(store->no_more_kubernetes()) << "the switch survives a restart";
}

TEST_F(RunsTest, PlaceAtKubernetesGoesToTheOldestRunAtOnce) {
  end();
  options.rules.kubernetes_waiting_max = 2;
  options.retry_first = options.retry_max = 1h;
  begin();
  const std::map<std::string, std::string> pinned = {{"spark.tidemark.side", "kubernetes"}};
  std::vector<std::int64_t> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(submit(job(pinned)));
  for (std::size_t started = 0; started < ids.size(); ++started) {
    ASSERT_TRUE(reaches(ids[started], Phase::kSubmitted)) << lines;
    EXPECT_LE(pods().size(), started + 2);
    start_driver(pod_name(ids[started]));
  }
}

TEST_F(RunsTest, LostReplyOfASubmissionStartsOneApplication) {
  rm->loses_replies = true;
  const auto id = submit(job(kOnYarn));
  ASSERT_TRUE(until([&] { return rm->apps.size() == 1; }));
  ASSERT_TRUE(until([&] { return record(id).message.contains("500"); }));
  EXPECT_EQ(record(id).run.phase, Phase::kReserved);
  rm->loses_replies = false;
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  EXPECT_EQ(rm->apps.size(), 1U);
}

// A gateway was killed during its submission, and the next one submits the same id at the same time.
TEST_F(RunsTest, SubmissionThatIsRefusedAsADuplicateIsAccepted) {
  rm->refuses_duplicate = true;
  const auto id = submit(job(kOnYarn));
  EXPECT_TRUE(reaches(id, Phase::kSubmitted)) << lines;
  EXPECT_EQ(rm->apps.size(), 1U);
}

TEST_F(RunsTest, ResourceManagerThatIsAwayFailsNoRun) {
  const auto id = submit(job(kOnYarn));
  ASSERT_TRUE(reaches(id, Phase::kSubmitted));
  rm->run(pod_name(id));
  ASSERT_TRUE(reaches(id, Phase::kRunning));
  rm->away = true;
  until([] { return false; }, 100ms);
  EXPECT_EQ(record(id).run.phase, Phase::kRunning);
  rm->away = false;
  rm->finish(pod_name(id), "FAILED", "FAILED", "exitCode: 1");
  EXPECT_EQ(result(id), EndClass::kUser);
}

// Schedulers, kubelets and a ResourceManager that go on at random, and count the drivers of each run.
class Drivers {
 public:
  Drivers(World& world, std::uint64_t seed) : world_(world), random_(seed) {}

  std::map<std::string, int> starts;  // by run
  int alive_max = 0;

  void go_on() {
    for (const Json& pod : world_.pods()) {
      if (random_() % 2 == 0) go_on(pod);
    }
    for (auto& [id, app] : world_.rm->apps) {
      if (random_() % 4 != 0) continue;
      if (app.state == "ACCEPTED") {
        app.state = "RUNNING";
        started(run_in(app.tags), id);
      } else if (app.state == "RUNNING") {
        world_.rm->finish(id, "FINISHED", "SUCCEEDED");
      }
      if (app.state != "RUNNING") alive_.erase(id);
    }
  }

 private:
  static std::string run_in(const std::vector<std::string>& tags) {
    for (const std::string& tag : tags) {
      if (tag.starts_with("tidemark-run:")) return tag.substr(tag.find(':') + 1);
    }
    return "";
  }
  void started(const std::string& run, const std::string& driver) {
    ++starts[run];
    alive_[driver] = run;
    std::map<std::string, int> alive_by_run;
    for (const auto& [id, of] : alive_) alive_max = std::max(alive_max, ++alive_by_run[of]);
  }
  bool has_properties(const Json& pod) {
    const auto name = pod.at("spec", "volumes")->as_array().back().text_at("configMap", "name");
    const auto bytes = world_.run(world_.client->get(kube::kConfigMaps, "default", name, 10s));
    return bytes && Json::parse(*bytes)->at("data", "spark.properties") != nullptr;
  }

  void go_on(const Json& pod) {
    const std::string name(pod.text_at("metadata", "name"));
    const std::string uid(pod.text_at("metadata", "uid"));
    const std::string label(pod.text_at("metadata", "labels", "tidemark.io/run"));
    const std::string_view phase = pod.text_at("status", "phase");
    const bool deleted = pod.at("metadata", "deletionTimestamp") != nullptr;
    if (pod.text_at("spec", "nodeName").empty()) {
      if (!deleted) world_.bind(name);
    } else if (phase == "Running") {
      if (!deleted && random_() % 2 == 0) return;
      alive_.erase(uid);
      if (deleted) {
        world_.end_driver(name, 143);
      } else if (random_() % 2 == 0) {
        world_.end_driver(name, 0);
      } else {
        world_.end_driver(name, 143, R"("reason":"Evicted",)");
        remove(name);
      }
    } else if (deleted) {
      if (phase == "Pending") world_.end_driver(name, 137);
      remove(name);
    } else if (phase == "Pending" && has_properties(pod)) {
      started(label.substr(label.find('-') + 1), uid);
      world_.start_driver(name);
    }
  }
  // As a kubelet does when the containers are gone.
  void remove(const std::string& name) {
    kube::WriteOptions in;
    in.ns = "default";
    in.grace_period_s = 0;
    (void)world_.run(world_.client->remove(kube::kPods, name, "", in, 10s));
  }

  World& world_;
  std::mt19937_64 random_;
  std::map<std::string, std::string> alive_;  // run by driver
};

// Lost requests, lost answers, requests that arrive late, kill -9 at any moment, evictions, full clusters, cancels.
TEST(LossyGateway, StartsNoDriverTwice) {
  constexpr std::uint64_t kSeeds = 12;
  int starts = 0;
  int moved = 0;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    World world;
    std::mt19937_64 random(seed);
    Drivers drivers(world, seed);
    world.options.admission_limit = std::chrono::milliseconds(random() % 200);
    world.end();
    world.begin();
    world.lossy->lost_percent = 30;
    std::map<std::string, bool> safe;
    for (int i = 0; i < 3; ++i) {
      const bool is_safe = random() % 2 == 0;
      const auto added = world.run(world.runs->add(job(is_safe ? kSafe : std::map<std::string, std::string>()), ""));
      ASSERT_TRUE(added);
      safe[base::cat(added->record.id)] = is_safe;
    }
    const auto all_ended = [&] {
      return std::ranges::all_of(
          safe, [&](const auto& run) { return is_final(world.record(*base::parse_int(run.first)).run.phase); });
    };
    for (int step = 0; step < 400 && !all_ended(); ++step) {
      world.rm->loses_replies = random() % 4 == 0;
      if (random() % 8 == 0) {
        world.end();
        world.begin();
      }
      if (random() % 60 == 0) (void)world.run(world.runs->cancel(static_cast<std::int64_t>(1 + random() % 3)));
      world.until([] { return false; }, std::chrono::milliseconds(random() % 6));
      drivers.go_on();
      if (step == 300) world.lossy->lost_percent = 0;
    }
    EXPECT_TRUE(all_ended()) << world.lines.substr(world.lines.size() > 4000 ? world.lines.size() - 4000 : 0);
    world.until([] { return false; }, 80ms);  // what is late arrives
    for (int i = 0; i < 6; ++i) drivers.go_on();
    EXPECT_LE(drivers.alive_max, 1);
    for (const auto& [run, count] : drivers.starts) {
      EXPECT_LE(count, safe.at(run) ? 2 : 1) << "run " << run;
      starts += count;
    }
    for (const auto& [run, is_safe] : safe) {
      moved += static_cast<int>(world.record(*base::parse_int(run)).run.attempts.size()) - 1;
    }
  }
  EXPECT_GT(starts, static_cast<int>(kSeeds));
  EXPECT_GT(moved, 0) << "the test has moves in it";
}

// kill -9 at each write of a run, before and after it: one driver, and the run ends.
struct Kill {
  int write;
  bool after;
  bool yarn;
};
class KilledGateway : public ::testing::TestWithParam<Kill> {};

TEST_P(KilledGateway, StartsOneDriverAndFinishesTheRun) {
  World world;
  const auto [write, after, yarn] = GetParam();
  world.store->writes_left = write;
  world.store->writes_last = after;
  const auto added = world.run(world.runs->add(job(yarn ? kOnYarn : std::map<std::string, std::string>()), ""));
  ASSERT_TRUE(added);
  // Both sides wait for the gateway, so that it sees each state.
  const auto progress = [&] {
    const Record record = world.record(added->record.id);
    const bool starts = record.run.phase == Phase::kSubmitted;
    if (!starts && record.run.phase != Phase::kRunning) return;
    const std::string handle = record.run.attempts.back().handle;
    if (yarn) {
      std::string& state = world.rm->apps.at(handle).state;
      if (starts && state == "ACCEPTED") world.rm->run(handle);
      if (!starts && state == "RUNNING") world.rm->finish(handle, "FINISHED", "SUCCEEDED");
      return;
    }
    const std::string phase(world.pods().at(0).text_at("status", "phase"));
    if (starts && phase != "Running") world.start_driver(handle);
    if (!starts && phase == "Running") world.end_driver(handle, 0);
  };
  const auto ended = [&] { return world.record(added->record.id).run.phase == Phase::kDone; };
  const auto goes_on = [&](auto condition) {
    for (int i = 0; i < 500 && !condition(); ++i) {
      progress();
      world.until([] { return false; }, 10ms);
    }
    return condition();
  };
  ASSERT_TRUE(goes_on([&] { return world.store->dead; })) << world.lines;
  world.end();
  world.begin();
  EXPECT_TRUE(goes_on(ended)) << world.lines;
  EXPECT_EQ(yarn ? world.rm->starts : static_cast<int>(world.pods_started.size()), 1);
  EXPECT_EQ(yarn ? world.rm->apps.size() : world.pods().size(), 1U);
  EXPECT_EQ(world.record(added->record.id).run.attempts.size(), 1U);
}

std::vector<Kill> kills() {
  std::vector<Kill> out;
  for (const bool yarn : {false, true}) {
    for (const bool after : {false, true}) {
      for (int write = 0; write < 7; ++write) out.push_back({write, after, yarn});
    }
  }
  return out;
}
INSTANTIATE_TEST_SUITE_P(EachWrite, KilledGateway, ::testing::ValuesIn(kills()), [](const auto& each) {
  return base::cat(each.param.yarn ? "Yarn" : "Kubernetes", each.param.after ? "After" : "Before", each.param.write);
});

}  // namespace
}  // namespace tidemark::gateway
