// The objects of a job, held against those that stock spark-submit 3.5.9 and 4.1.4 created (tests/golden/spark_submit).
#include "gateway/driver_objects.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <tuple>

#include "base/testing/source_dir.h"
#include "base/text.h"
#include "gateway/properties.h"
#include "model/names.h"

namespace tidemark::gateway {
namespace {

Json read_json(const std::string& name) {
  std::ifstream file(base::testing::from_root(base::cat("tests/golden/spark_submit/", name, ".json")));
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  auto json = Json::parse(text);
  if (!json) throw std::runtime_error(name + ": " + json.error().message);
  return *std::move(json);
}

// The command line of a case as a job. The words are those of cases.json only.
SparkJob job_of_arguments(const Json& arguments) {
  static const std::map<std::string, std::string> kDedicated = {{"--driver-memory", "spark.driver.memory"},
                                                                {"--driver-cores", "spark.driver.cores"},
                                                                {"--executor-memory", "spark.executor.memory"},
                                                                {"--executor-cores", "spark.executor.cores"},
                                                                {"--num-executors", "spark.executor.instances"},
                                                                {"--jars", "spark.jars"},
                                                                {"--files", "spark.files"},
                                                                {"--py-files", "spark.submit.pyFiles"},
                                                                {"--name", "spark.app.name"}};
  SparkJob job;
  job.user = "someone";
  job.conf["spark.kubernetes.submission.waitAppCompletion"] = "false";  // of the recording
  const auto& words = arguments.as_array();
  std::size_t at = 0;
  for (; at < words.size() && words[at].as_string().starts_with("--"); at += 2) {
    const std::string& value = words[at + 1].as_string();
    if (words[at].as_string() == "--class") {
      job.class_name = value;
    } else if (words[at].as_string() == "--conf") {
      job.conf[value.substr(0, value.find('='))] = value.substr(value.find('=') + 1);
    } else {
      job.conf[kDedicated.at(words[at].as_string())] = value;
    }
  }
  job.file = words[at].as_string();
  for (++at; at < words.size(); ++at) job.args.push_back(words[at].as_string());
  return *checked(std::move(job));
}

KubernetesOptions options() {
  KubernetesOptions out;
  out.master = "http://127.0.0.1:6443";
  return out;
}

// Replaces names by their roles, so that names apart both sides are equal.
std::string with_roles(std::string text, const std::vector<std::pair<std::string, std::string>>& roles) {
  for (const auto& [name, role] : roles) {
    for (auto at = text.find(name); at != std::string::npos; at = text.find(name, at + role.size())) {
      text.replace(at, name.size(), role);
    }
  }
  return text;
}

std::string text_between(std::string_view text, std::string_view before, std::string_view after) {
  const auto begin = text.find(before);
  if (begin == std::string_view::npos) return "";
  const auto rest = text.substr(begin + before.size());
  return std::string(rest.substr(0, rest.find(after)));
}

// The order of volumes and mounts has no meaning, and in Spark it depends on hashes.
void sort_volumes(Json& pod) {
  const auto by = [](std::string_view key) {
    return [key](const Json& a, const Json& b) { return a.text_at(key) < b.text_at(key); };
  };
  std::ranges::sort(pod["spec"]["volumes"].as_array(), by("name"));
  for (Json& container : pod["spec"]["containers"].as_array()) {
    std::ranges::sort(container["volumeMounts"].as_array(), by("mountPath"));
  }
}

// Version and case.
class DriverObjectsGolden : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(DriverObjectsGolden, EqualStockSparkSubmit) {
  const auto& [version, name] = GetParam();
  const Json golden = read_json(base::cat(version, "/", name));
  const SparkJob job = job_of_arguments(*read_json("cases").at(name));
  KubernetesOptions of_version = options();
  of_version.spark_version = version;
  const DriverNames names = driver_names("store", 7, 1, job, of_version);
  DriverObjects ours = driver_objects(job, names, of_version, 1);
  ours.config_map["metadata"]["ownerReferences"] = owned_by(names.pod, "11111111-2222-3333-4444-555555555555");
  ours.service["metadata"]["ownerReferences"] = owned_by(names.pod, "11111111-2222-3333-4444-555555555555");

  const auto& theirs = golden.as_array();
  const std::string pod(theirs[1].text_at("metadata", "name"));
  const std::string service(theirs[2].text_at("metadata", "name"));
  const std::string config(theirs[0].text_at("metadata", "name"));
  const std::string app(theirs[1].text_at("metadata", "labels", "spark-app-selector"));
  const std::string uuid = text_between(theirs[1].dump(), "/var/data/spark-", "\"");
  std::vector<std::pair<std::string, std::string>> their_roles = {
      {service, "SERVICE"}, {pod, "POD"}, {config, "CONFIG"}, {app, "APP"}};
  if (!uuid.empty()) their_roles.emplace_back(uuid, "UUID");
  const std::vector<std::pair<std::string, std::string>> our_roles = {{names.service, "SERVICE"},
                                                                      {names.pod, "POD"},
                                                                      {names.config_map, "CONFIG"},
                                                                      {names.app_id, "APP"},
                                                                      {names.local_dir, "UUID"}};
  const auto same = [&](const Json& a, const Json& b) {
    const Json x = *Json::parse(with_roles(a.dump(), our_roles)), y = *Json::parse(with_roles(b.dump(), their_roles));
    EXPECT_EQ(x, y) << x.dump_pretty() << "\nstock:\n" << y.dump_pretty();
  };
  Json their_pod = theirs[1];
  for (Json* each : {&ours.pod, &their_pod}) sort_volumes(*each);
  same(ours.pod, their_pod);
  same(ours.service, theirs[2]);

  auto our_properties =
      parse_properties(with_roles(ours.config_map["data"]["spark.properties"].as_string(), our_roles));
  auto their_properties =
      parse_properties(with_roles(std::string(theirs[0].text_at("data", "spark.properties")), their_roles));
  for (auto* properties : {&our_properties, &their_properties})
    EXPECT_EQ(properties->erase("spark.app.submitTime"), 1U);
  EXPECT_EQ(our_properties, their_properties);
  Json their_config = theirs[0];
  for (Json* config_map : {&ours.config_map, &their_config})
    (*config_map)["data"].as_object().erase("spark.properties");
  same(ours.config_map, their_config);
}

INSTANTIATE_TEST_SUITE_P(Cases, DriverObjectsGolden,
                         ::testing::Combine(::testing::Values("3.5.9", "4.1.4"),
                                            ::testing::Values("plain", "sized", "python", "mounts")),
                         [](const auto& each) {
                           return base::cat(std::get<1>(each.param), "_", std::get<0>(each.param).substr(0, 1));
                         });

SparkJob small_job() {
  SparkJob job;
  job.file = "local:///a.jar";
  job.class_name = "com.example.Main";
  job.conf["spark.kubernetes.container.image"] = "spark";
  return *checked(std::move(job));
}

TEST(DriverObjects, ProfileMakesThePodOfflineWork) {
  const SparkJob job = small_job();
  const DriverNames names = driver_names("store", 7, 2, job, options());
  DriverObjects objects = driver_objects(job, names, options(), 1);
  add_profile(objects, job, names, options());
  EXPECT_EQ(objects.pod.text_at("metadata", "labels", kRunLabel), "store-7");
  EXPECT_EQ(objects.pod.text_at("metadata", "labels", kAttemptLabel), "2");
  EXPECT_EQ(objects.pod.text_at("metadata", "labels", model::kQosClassLabel), "BE");
  EXPECT_EQ(objects.pod.text_at("spec", "priorityClassName"), "koord-batch");
  EXPECT_EQ(objects.pod["metadata"]["finalizers"].dump(), R"(["tidemark.io/end-is-read"])");
  const Json& resources = objects.pod["spec"]["containers"].as_array()[0]["resources"];
  const Json amounts = Json::object({{model::kBatchCpu, "1k"}, {model::kBatchMemory, "1408Mi"}});
  EXPECT_EQ(resources, Json::object({{"limits", amounts}, {"requests", amounts}})) << resources.dump();
}

TEST(DriverObjects, NamesDependOnStoreRunAndAttemptOnly) {
  const SparkJob job = small_job();
  const DriverNames names = driver_names("store", 7, 1, job, options());
  EXPECT_EQ(names.pod, driver_names("store", 7, 1, job, options()).pod);
  EXPECT_NE(names.pod, driver_names("store", 7, 2, job, options()).pod);
  EXPECT_NE(names.pod, driver_names("store", 8, 1, job, options()).pod);
  EXPECT_NE(names.pod, driver_names("other", 7, 1, job, options()).pod);
}

// A Service's name is a DNS label: at most 63 letters, and it begins with one.
TEST(DriverObjects, NamesOfAnyJobAreValid) {
  for (const std::string& name :
       std::vector<std::string>{"", "7 days", "--x--", "Äpfel", std::string(300, 'a'), std::string(300, '-')}) {
    SparkJob job = small_job();
    job.name = name;
    const DriverNames names = driver_names("store", 7, 1, job, options());
    for (const std::string& made : {names.pod, names.service, names.config_map}) {
      EXPECT_LE(made.size(), 63U) << made;
      EXPECT_TRUE(made[0] >= 'a' && made[0] <= 'z') << made;
      EXPECT_EQ(made.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << made;
    }
  }
}

TEST(DriverObjects, UntranslatedPropertyIsNamed) {
  SparkJob job = small_job();
  EXPECT_EQ(not_for_kubernetes(job, options()), "");
  job.conf["spark.driver.port"] = "0";
  EXPECT_EQ(not_for_kubernetes(job, options()), "spark.driver.port must be a port from 1 to 65535");
  job.conf.erase("spark.driver.port");
  job.conf["spark.kerberos.keytab"] = "x";
  EXPECT_EQ(not_for_kubernetes(job, options()), "spark.kerberos.keytab is not supported");
  job.conf.clear();
  EXPECT_EQ(not_for_kubernetes(job, options()), "spark.kubernetes.container.image is not set");
}

// spark-submit runs beside the gateway's own files.
TEST(DriverObjects, SparkSubmitReadsOnlyTemplatesThatAreUploadedOrInHdfs) {
  KubernetesOptions with_uploads = options();
  with_uploads.uploads_folder = "/mnt/up";
  SparkJob job = small_job();
  EXPECT_EQ(needs_spark_submit(job), "");
  std::string& path = job.conf["spark.kubernetes.executor.podTemplateFile"];
  EXPECT_EQ(needs_spark_submit(job), "spark.kubernetes.executor.podTemplateFile");
  for (const std::string good : {"local:///mnt/up/abc/pod.yaml", "hdfs:///pods/pod.yaml"}) {
    path = good;
    EXPECT_EQ(not_for_kubernetes(job, with_uploads), "") << good;
  }
  for (const std::string bad :
       {"/etc/passwd", "file:///etc/passwd", "local:///etc/passwd", "local:///mnt/up/../../etc/passwd", "http://x/y"}) {
    path = bad;
    EXPECT_TRUE(not_for_kubernetes(job, with_uploads).ends_with("must be an uploaded file or in HDFS")) << bad;
  }
  path = "hdfs:///pods/pod.yaml";
  for (const std::string key : {"spark.jars.packages", "spark.hadoop.fs.hdfs.impl", "spark.yarn.keytab",
                                "spark.hadoop.fs.viewfs.mounttable.default.link./"}) {
    job.conf[key] = "a:b:1";
    EXPECT_TRUE(not_for_kubernetes(job, options()).starts_with(key + " is not supported together with")) << key;
    job.conf.erase(key);
  }
}

}  // namespace
}  // namespace tidemark::gateway
