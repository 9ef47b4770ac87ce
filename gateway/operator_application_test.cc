#include "gateway/operator_application.h"

#include <gtest/gtest.h>

#include "model/names.h"

namespace tidemark::gateway {
namespace {

SparkJob report_job() {
  SparkJob out;
  out.file = "local:///opt/jobs/report.jar";
  out.class_name = "com.example.Report";
  out.name = "Daily report";
  out.args = {"2026-01-02"};
  out.user = "ann";
  out.conf = {{"spark.executor.memory", "2g"},
              {"spark.tidemark.business", "ads"},
              {"spark.kubernetes.file.upload.path", "file:///etc"}};
  return out;
}

KubernetesOptions report_options() {
  KubernetesOptions out;
  out.image = "spark";
  return out;
}

Json report_object(const SparkJob& of) {
  return application_object(of, driver_names("store", 7, 1, of, report_options()), report_options());
}

std::string conf_in(const Json& object, std::string_view key) {
  const Json* value = object.at("spec", "sparkConf", key);
  return value == nullptr ? "" : std::string(value->as_string());
}

TEST(OperatorApplication, DriverOfTheOperatorHasTheNameOfTheAttempt) {
  const DriverNames names = driver_names("store", 7, 1, report_job(), report_options());
  EXPECT_EQ(application_name(names) + "-driver", names.pod);
  EXPECT_EQ(report_object(report_job()).text_at("metadata", "name"), application_name(names));
}

TEST(OperatorApplication, GatewayOwnsTheAttemptsAndTheUser) {
  const Json made = report_object(report_job());
  EXPECT_EQ(made.text_at("spec", "restartPolicy", "type"), "Never");
  EXPECT_EQ(made.text_at("spec", "proxyUser"), "ann");
  EXPECT_EQ(made.text_at("metadata", "labels", kRunLabel), "store-7");
  EXPECT_EQ(made.at("spec", "timeToLiveSeconds"), nullptr) << "set at the end of the run";
}

TEST(OperatorApplication, DriverIsOfflineWorkAndStartsOnlyWithItsConfigMap) {
  const DriverNames names = driver_names("store", 7, 1, report_job(), report_options());
  const Json made = report_object(report_job());
  const Json* driver = made.at("spec", "driver", "template");
  ASSERT_NE(driver, nullptr);
  EXPECT_EQ(driver->at("metadata", "finalizers")->as_array()[0].as_string(), model::kEndIsReadFinalizer);
  EXPECT_EQ(driver->text_at("spec", "priorityClassName"), "koord-batch");
  const Json& variable = driver->at("spec", "containers")->as_array()[0].at("env")->as_array()[0];
  EXPECT_EQ(variable.text_at("valueFrom", "configMapKeyRef", "name"), names.config_map);
  const std::string key(variable.text_at("valueFrom", "configMapKeyRef", "key"));
  EXPECT_NE(start_object(names).at("data", key), nullptr);
  EXPECT_EQ(conf_in(made, "spark.kubernetes.driver.label.koordinator.sh/qosClass"), "BE");
  EXPECT_EQ(conf_in(made, "spark.kubernetes.driver.label.tidemark.io/business"), "ads");
}

TEST(OperatorApplication, OperatorGetsNeitherOurPropertiesNorAPlaceForUploads) {
  const Json made = report_object(report_job());
  for (const auto& [key, value] : made.at("spec", "sparkConf")->as_object()) {
    EXPECT_FALSE(key.starts_with("spark.tidemark.")) << key;
  }
  EXPECT_EQ(conf_in(made, "spark.kubernetes.file.upload.path"), "");
  EXPECT_EQ(conf_in(made, "spark.executor.memory"), "2g");
}

// Spark's default is two executors, and the operator's is one.
TEST(OperatorApplication, ExecutorsAreAsManyAsSparkWouldTake) {
  EXPECT_EQ(conf_in(report_object(report_job()), "spark.executor.instances"), "2");
  SparkJob given = report_job();
  given.conf["spark.executor.instances"] = "5";
  EXPECT_EQ(conf_in(report_object(given), "spark.executor.instances"), "5");
  SparkJob dynamic = report_job();
  dynamic.conf["spark.dynamicAllocation.enabled"] = "true";
  EXPECT_EQ(conf_in(report_object(dynamic), "spark.executor.instances"), "0");
}

TEST(OperatorApplication, PythonJobHasNoClass) {
  SparkJob python = report_job();
  python.file = "local:///opt/jobs/report.py";
  python.class_name = "";
  const Json made = report_object(python);
  EXPECT_EQ(made.text_at("spec", "type"), "Python");
  EXPECT_EQ(made.at("spec", "mainClass"), nullptr);
}

TEST(OperatorApplication, StateAndErrorOfTheOperatorAreRead) {
  const auto read = decode_application(R"({"metadata":{"name":"a","namespace":"n","uid":"u","resourceVersion":"7",
    "labels":{"tidemark.io/run":"store-7","tidemark.io/attempt":"2"},"finalizers":["x","tidemark.io/end-is-read"]},
    "spec":{"driver":{}},"status":{"applicationState":{"state":"FAILED","errorMessage":"why"},"driverInfo":{}}})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->run, "store-7");
  EXPECT_EQ(read->attempt, 2);
  EXPECT_TRUE(read->has_finalizer);
  EXPECT_FALSE(read->deleted);
  EXPECT_EQ(read->state + " " + read->message, "FAILED why");
  EXPECT_FALSE(decode_application("{}"));
}

}  // namespace
}  // namespace tidemark::gateway
