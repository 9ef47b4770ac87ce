#include "gateway/spark_application.h"

#include <gtest/gtest.h>

#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using namespace std::chrono_literals;
using testing::Answer;
using testing::World;

constexpr std::string_view kApplicationsPath =
    "/apis/sparkoperator.k8s.io/v1beta2/namespaces/default/sparkapplications";
constexpr std::string_view kPiObject = R"(
apiVersion: sparkoperator.k8s.io/v1beta2
kind: SparkApplication
metadata: {name: pi, namespace: default}
spec:
  type: Scala
  mode: cluster
  sparkVersion: 3.5.0
  image: spark:3.5
  mainClass: org.apache.spark.examples.SparkPiObject
  mainApplicationFile: local:///opt/pi.jar
  arguments: ["10"]
  sparkConf: {spark.eventLog.enabled: "true"}
  hadoopConf: {fs.s3a.endpoint: http://s3}
  restartPolicy: {type: Never}
  deps: {jars: ["local:///a.jar", "local:///b.jar"]}
  batchSchedulerOptions: {queue: night}
  driver:
    cores: 2
    memory: 2g
    labels: {team: a}
    env: [{name: A, value: b}]
  executor: {instances: 3, memory: 4g, coreRequest: 500m}
)";

std::string error_of(const std::string& from, const std::string& to) {
  std::string body(kPiObject);
  body.replace(body.find(from), from.size(), to);
  const auto parsed = parse_spark_application(body, "default");
  return parsed ? "" : parsed.error().message;
}

TEST(SparkApplicationBody, FieldsBecomeProperties) {
  const auto parsed = parse_spark_application(kPiObject, "default");
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->name, "pi");
  EXPECT_EQ(parsed->job.file, "local:///opt/pi.jar");
  EXPECT_EQ(parsed->job.args, std::vector<std::string>{"10"});
  const std::map<std::string, std::string> conf = {
      {"spark.app.name", "pi"},
      {"spark.driver.cores", "2"},
      {"spark.driver.memory", "2g"},
      {"spark.eventLog.enabled", "true"},
      {"spark.executor.instances", "3"},
      {"spark.executor.memory", "4g"},
      {"spark.hadoop.fs.s3a.endpoint", "http://s3"},
      {"spark.jars", "local:///a.jar,local:///b.jar"},
      {"spark.kubernetes.container.image", "spark:3.5"},
      {"spark.kubernetes.driver.label.team", "a"},
      {"spark.kubernetes.driverEnv.A", "b"},
      {"spark.kubernetes.executor.request.cores", "500m"},
      {"spark.kubernetes.namespace", "default"},
      {"spark.yarn.queue", "night"},
  };
  EXPECT_EQ(parsed->job.conf, conf);
}

TEST(SparkApplicationBody, RefusesByName) {
  EXPECT_EQ(error_of("mode: cluster", "mode: client"), "spec.mode: only cluster is supported, found \"client\"");
  EXPECT_EQ(error_of("type: Scala", "type: R"), "spec.type: \"R\" is not supported");
  EXPECT_TRUE(error_of("type: Never", "type: OnFailure").contains("spec.restartPolicy.type: only Never"));
  EXPECT_EQ(error_of("cores: 2", "template: {}"), "spec.driver.template is not supported");
  EXPECT_EQ(error_of("sparkVersion: 3.5.0", "volumes: []"), "spec.volumes is not supported");
  EXPECT_EQ(error_of("value: b", "valueFrom: {}"), "spec.driver.env.valueFrom is not supported");
  EXPECT_TRUE(error_of("name: pi", "name: Pi").contains("metadata.name"));
  EXPECT_TRUE(error_of("namespace: default", "namespace: other").contains("metadata.namespace"));
  EXPECT_TRUE(error_of("kind: SparkApplication", "kind: Pod").contains("kind SparkApplication"));
}

class SparkApplicationsTest : public ::testing::Test, public World {
 protected:
  Answer ask(std::string method, std::string target, std::string body = "") {
    SparkApplications door(*runs);
    return World::ask(door, std::move(method), std::move(target), std::move(body));
  }
  std::string state() {
    return std::string(
        ask("GET", base::cat(kApplicationsPath, "/pi")).body.text_at("status", "applicationState", "state"));
  }
};

TEST_F(SparkApplicationsTest, ObjectGoesThroughTheOperatorsStates) {
  const auto created = ask("POST", std::string(kApplicationsPath), std::string(kPiObject));
  ASSERT_EQ(created.status, 201) << created.body.dump();
  EXPECT_EQ(created.body.text_at("metadata", "name"), "pi");
  ASSERT_TRUE(until([&] { return state() == "SUBMITTED"; })) << lines;
  const std::string pod = record(1).run.attempts[0].handle;
  EXPECT_EQ(ask("GET", base::cat(kApplicationsPath, "/pi")).body.text_at("status", "driverInfo", "podName"), pod);
  start_driver(pod);
  ASSERT_TRUE(until([&] { return state() == "RUNNING"; }));
  end_driver(pod, 0);
  ASSERT_TRUE(until([&] { return state() == "COMPLETED"; }));
}

TEST_F(SparkApplicationsTest, NameIsTakenUntilTheObjectIsDeleted) {
  ASSERT_EQ(ask("POST", std::string(kApplicationsPath), std::string(kPiObject)).status, 201);
  const auto again = ask("POST", std::string(kApplicationsPath), std::string(kPiObject));
  EXPECT_EQ(again.status, 409);
  EXPECT_EQ(again.body.text_at("reason"), "AlreadyExists");
  EXPECT_EQ(ask("DELETE", base::cat(kApplicationsPath, "/pi")).body.text_at("status"), "Success");
  EXPECT_EQ(ask("GET", base::cat(kApplicationsPath, "/pi")).body.text_at("reason"), "NotFound");
  EXPECT_TRUE(reaches(1, policy::route::Phase::kCancelled)) << lines;
  EXPECT_EQ(ask("POST", std::string(kApplicationsPath), std::string(kPiObject)).status, 201);
}

TEST_F(SparkApplicationsTest, ErrorsAreStatusObjects) {
  const auto wrong = ask("POST", std::string(kApplicationsPath), "kind: Pod");
  EXPECT_EQ(wrong.status, 422);
  EXPECT_EQ(wrong.body.text_at("kind"), "Status");
  EXPECT_EQ(wrong.body.text_at("reason"), "Invalid");
  EXPECT_EQ(ask("GET", "/apis/sparkoperator.k8s.io/v1beta2").status, 404);
  EXPECT_EQ(ask("PUT", base::cat(kApplicationsPath, "/pi"), "").status, 404);
}

}  // namespace
}  // namespace tidemark::gateway
