#include "gateway/yarn_submission.h"

#include <gtest/gtest.h>

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
  return out;
}

Json submission(const SparkJob& of) {
  return *Json::parse(*yarn_submission(of, "application_1_2", {"a:b"}, yarn_options()));
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
  EXPECT_EQ(not_for_yarn(python, yarn_options()), "Python is not supported on YARN");
  SparkJob remote = job();
  remote.file = "hdfs:///a.jar";
  EXPECT_TRUE(not_for_yarn(remote, yarn_options()).contains("must be on the nodes"));
  EXPECT_TRUE(not_for_yarn(job(), YarnOptions()).contains("spark.yarn.jars"));
}

}  // namespace
}  // namespace tidemark::gateway
