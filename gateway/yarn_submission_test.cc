#include "gateway/yarn_submission.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/json.h"
#include "base/text.h"
#include "gateway/properties.h"
#include "gateway/testing/world.h"

namespace tidemark::gateway {
namespace {

using testing::job;

YarnOptions yarn_options() {
  YarnOptions out;
  out.hadoop = {{"fs.defaultFS", "hdfs://nn:8020"}, {"yarn.resourcemanager.hostname", "rm"}};
  out.spark_jars = "local:/opt/spark/jars/*";
  out.python = "/opt/spark/python/lib/pyspark.zip";
  return out;
}

Json submission(const SparkJob& of) {
  return *Json::parse(hadoop::submission_json(*yarn_submission(of, "application_1_2", {"a:b"}, yarn_options())));
}

std::map<std::string, std::string> shipped_properties(const Json& body) {
  const std::string command(body.text_at("am-container-spec", "commands", "command"));
  const auto begin = command.find("echo ") + 5;
  return parse_properties(*base::base64_decode(command.substr(begin, command.find(' ', begin) - begin)));
}

// Each row: a property of the job, and the field or property of the application that carries it.
TEST(YarnSubmission, TranslatesTheConfOfAJob) {
  const Json body = submission(job({{"spark.driver.memory", "2g"},
                                    {"spark.driver.cores", "3"},
                                    {"spark.driver.memoryOverhead", "500m"},
                                    {"spark.yarn.queue", "night"},
                                    {"spark.yarn.priority", "5"},
                                    {"spark.jars", "local:///x.jar"},
                                    {"spark.tidemark.business", "ads"},
                                    {"spark.yarn.appMasterEnv.MODE", "n"}}));
  EXPECT_EQ(body.text_at("application-id"), "application_1_2");
  EXPECT_EQ(body.at("resource", "memory")->as_int(), 2548);
  EXPECT_EQ(body.at("resource", "vCores")->as_int(), 3);
  EXPECT_EQ(body.text_at("queue"), "night");
  EXPECT_EQ(body.at("priority")->as_int(), 5);
  EXPECT_EQ(body.at("max-app-attempts")->as_int(), 1);
  const auto properties = shipped_properties(body);
  EXPECT_EQ(properties.at("spark.master"), "yarn");
  EXPECT_EQ(properties.at("spark.yarn.maxAppAttempts"), "1");
  EXPECT_EQ(properties.at("spark.yarn.user.jar"), "local:///opt/spark/examples.jar");
  EXPECT_EQ(properties.at("spark.yarn.secondary.jars"), "local:///x.jar");
  EXPECT_EQ(properties.at("spark.hadoop.fs.defaultFS"), "hdfs://nn:8020");
  EXPECT_FALSE(properties.contains("spark.jars"));
  EXPECT_FALSE(properties.contains("spark.tidemark.business"));
  EXPECT_FALSE(properties.contains("spark.kubernetes.container.image"));
  const std::string environment = body.at("am-container-spec", "environment", "entry")->dump();
  EXPECT_TRUE(environment.contains(R"({"key":"MODE","value":"n"})"));
  EXPECT_TRUE(environment.contains("hdfs://nn:8020/user/ann/.sparkStaging/application_1_2"));
  EXPECT_TRUE(environment.contains("{{PWD}}<CPS>/opt/spark/jars/*"));
}

TEST(YarnSubmission, ArgumentsSurviveTwoShells) {
  SparkJob odd = job();
  odd.args = {"a b", "$HOME", "it's", "\"q\"", "`x`", "\\"};
  const Json body = submission(odd);
  const std::string command(body.text_at("am-container-spec", "commands", "command"));
  EXPECT_TRUE(command.contains(R"(--arg 'a b' --arg '\$HOME' --arg 'it'\\''s' --arg '\"q\"' --arg '\`x\`' --arg '\\')"))
      << command;
}

struct Placed {
  std::string link;
  std::string url;
  bool archive;
};
std::vector<Placed> placed(const SparkJob& of) {
  std::vector<Placed> out;
  for (const auto& each : yarn_resources(of)) out.push_back({each.link, each.url, each.archive});
  return out;
}

// Each row: a property of the job, and the file that YARN copies to a container for it.
TEST(YarnSubmission, FilesInHdfsBecomeFilesOfTheContainer) {
  struct Row {
    std::string key;
    std::string value;
    std::vector<Placed> files;
  };
  const std::vector<Row> rows = {
      {"spark.jars", "hdfs://nn/a.jar,local:///b.jar", {{"a.jar", "hdfs://nn/a.jar", false}}},
      {"spark.files", "hdfs://nn/c.txt#d", {{"d", "hdfs://nn/c.txt#d", false}}},
      {"spark.archives", "hdfs://nn/e.zip#f", {{"f", "hdfs://nn/e.zip#f", true}}},
      {"spark.submit.pyFiles",
       "hdfs://nn/m.py,hdfs://nn/n.zip",
       {{"__pyfiles__/m.py", "hdfs://nn/m.py", false}, {"n.zip", "hdfs://nn/n.zip", false}}},
  };
  for (const Row& row : rows) {
    const auto files = placed(job({{row.key, row.value}}));
    ASSERT_EQ(files.size(), row.files.size()) << row.key;
    for (std::size_t i = 0; i < files.size(); ++i) {
      EXPECT_EQ(files[i].link, row.files[i].link);
      EXPECT_EQ(files[i].url, row.files[i].url);
      EXPECT_EQ(files[i].archive, row.files[i].archive);
    }
  }
  SparkJob jar = job();
  jar.file = "hdfs://nn/a.jar";
  EXPECT_EQ(placed(jar).at(0).link, "__app__.jar") << "where Spark looks for the jar of the job";
}

TEST(YarnSubmission, ResourcesTravelWithSizeAndTimeToTheMasterAndToExecutors) {
  SparkJob jar = job({{"spark.jars", "hdfs://nn/x.jar"}});
  jar.file = "hdfs://nn/a.jar";
  auto resources = yarn_resources(jar);
  for (auto& each : resources) {
    each.bytes = 7;
    each.modified_ms = 1'700'000'000'000;
  }
  const Json body =
      *Json::parse(hadoop::submission_json(*yarn_submission(jar, "application_1_2", {}, yarn_options(), resources)));
  EXPECT_EQ(body.at("am-container-spec", "local-resources", "entry")->as_array().at(0).dump(),
            R"({"key":"__app__.jar","value":{"resource":"hdfs://nn/a.jar","type":"FILE","visibility":"PRIVATE",)"
            R"("size":7,"timestamp":1700000000000}})");
  const auto properties = shipped_properties(body);
  EXPECT_EQ(properties.at("spark.yarn.secondary.jars"), "x.jar");
  const std::string command(body.text_at("am-container-spec", "commands", "command"));
  const auto begin = command.find("&& echo ", command.find("spark.properties")) + 8;
  const auto cache = parse_properties(*base::base64_decode(command.substr(begin, command.find(' ', begin) - begin)));
  EXPECT_EQ(cache.at("spark.yarn.cache.filenames"), "hdfs://nn/a.jar#__app__.jar,hdfs://nn/x.jar#x.jar");
  EXPECT_EQ(cache.at("spark.yarn.cache.sizes"), "7,7");
  EXPECT_EQ(cache.at("spark.yarn.cache.types"), "FILE,FILE");
}

TEST(YarnSubmission, PythonRunsThroughSparksRunner) {
  SparkJob python = job({{"spark.submit.pyFiles", "hdfs://nn/m.py,hdfs://nn/n.zip"}});
  python.file = "hdfs://nn/a.py";
  python.class_name.clear();
  const Json body = submission(python);
  const std::string command(body.text_at("am-container-spec", "commands", "command"));
  EXPECT_TRUE(command.contains("--class org.apache.spark.deploy.PythonRunner --primary-py-file 'a.py' --arg '10'"))
      << command;
  const std::string path = "/opt/spark/python/lib/pyspark.zip<CPS>{{PWD}}/n.zip<CPS>{{PWD}}/__pyfiles__";
  const auto properties = shipped_properties(body);
  EXPECT_EQ(properties.at("spark.executorEnv.PYTHONPATH"), path);
  EXPECT_EQ(properties.at("spark.yarn.isPython"), "true");
  EXPECT_FALSE(properties.contains("spark.yarn.user.jar"));
  EXPECT_TRUE(body.at("am-container-spec", "environment", "entry")->dump().contains(path));
}

TEST(YarnSubmission, JobThatIsTooLongIsRefused) {
  SparkJob large = job();
  large.args.assign(2000, std::string(100, 'x'));
  const auto body = yarn_submission(large, "application_1_2", {}, yarn_options());
  ASSERT_FALSE(body);
  EXPECT_EQ(body.error().kind, ErrorKind::kInvalid);
}

TEST(YarnSubmission, NamesWhatYarnCannotRun) {
  EXPECT_EQ(not_for_yarn(job(), yarn_options()), "");
  SparkJob python = job();
  python.file = "local:///a.py";
  EXPECT_EQ(not_for_yarn(python, YarnOptions()), "Python needs --spark-yarn-python");
  EXPECT_EQ(not_for_yarn(python, yarn_options()), "");
  SparkJob remote = job();
  remote.file = "s3a://b/a.jar";
  EXPECT_TRUE(not_for_yarn(remote, yarn_options()).contains("must be on the nodes"));
  EXPECT_TRUE(not_for_yarn(job({{"spark.files", "local:///x"}}), yarn_options()).contains("spark.files"));
  EXPECT_TRUE(not_for_yarn(job({{"spark.jars.packages", "a:b:1"}}), yarn_options()).contains("spark.jars.packages"));
  EXPECT_TRUE(not_for_yarn(job(), YarnOptions()).contains("spark.yarn.jars"));
}

}  // namespace
}  // namespace tidemark::gateway
