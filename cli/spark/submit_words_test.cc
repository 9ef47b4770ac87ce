#include "cli/spark/submit_words.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark::cli {
namespace {

Result<SubmitWords> parse(const std::vector<std::string>& words, const std::string& file = "") {
  return parse_submit_words(words, [file](const std::string&) -> Result<std::string> { return file; });
}
std::string error_of(const std::vector<std::string>& words) {
  const auto parsed = parse(words);
  return parsed ? "" : parsed.error().message;
}

TEST(SubmitWords, BothFormsOfAnOptionAndArguments) {
  const auto parsed = parse({"--master", "yarn", "--deploy-mode=cluster", "--class=a.B", "-c", "k=v=w", "-v", "--name",
                             "n", "local:///a.jar", "--name", "x", "-y"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->body, Json::object({{"file", "local:///a.jar"},
                                        {"className", "a.B"},
                                        {"args", Json::array({"--name", "x", "-y"})},
                                        {"conf", Json::object({{"k", "v=w"}, {"spark.app.name", "n"}})}}))
      << parsed->body.dump();
}

TEST(SubmitWords, DedicatedOptionWinsOverConfAndConfOverTheFile) {
  const auto parsed = parse({"--executor-memory", "3g", "--conf", "spark.executor.memory=2g", "--conf", "a=1", "--conf",
                             "a=2", "--properties-file", "f", "x.jar"},
                            "# comment\na 0\nb = c d\nspark.executor.memory: 1g\n");
  ASSERT_TRUE(parsed);
  const Json& conf = *parsed->body.at("conf");
  EXPECT_EQ(conf.text_at("spark.executor.memory"), "3g");
  EXPECT_EQ(conf.text_at("a"), "2");
  EXPECT_EQ(conf.text_at("b"), "c d");
}

TEST(SubmitWords, ErrorsAreThoseOfSparkSubmit) {
  EXPECT_EQ(error_of({"--bogus", "x.jar"}), "Error: Unrecognized option: --bogus");
  EXPECT_EQ(error_of({"--name"}), "Error: Missing argument for option '--name'.");
  EXPECT_EQ(error_of({"--name", "n"}), "Error: Must specify a primary resource (JAR or Python file)");
  EXPECT_EQ(error_of({"--deploy-mode", "client", "x.jar"}),
            "Error: --deploy-mode client is not supported: only cluster");
  EXPECT_EQ(error_of({"--master", "local[2]", "x.jar"}), "Error: --master local[2] is not supported: yarn or k8s://…");
  EXPECT_EQ(error_of({"--kill", "x"}), "Error: --kill is not supported");
  EXPECT_EQ(error_of({"--conf", "k", "x.jar"}), "Error: Spark config without '=': k");
}

TEST(SubmitWords, FilesOfThisMachineAreUploaded) {
  Json body = *Json::parse(
      R"({"file":"jobs/a.py","conf":{"spark.jars":"/x.jar,hdfs://nn/y.jar","spark.archives":"file:///e.zip#env",)"
      R"("spark.files":"local:///z","spark.app.name":"a"}})");
  std::string uploaded;
  const auto upload = [&uploaded](const std::string& path) -> Result<std::string> {
    uploaded += path + " ";
    return "hdfs://nn/up" + path.substr(path.rfind('/'));
  };
  ASSERT_TRUE(replace_local_files(body, upload));
  EXPECT_EQ(uploaded, "jobs/a.py /x.jar /e.zip ");
  EXPECT_EQ(body.text_at("file"), "hdfs://nn/up/a.py");
  EXPECT_EQ(body.text_at("conf", "spark.jars"), "hdfs://nn/up/x.jar,hdfs://nn/y.jar");
  EXPECT_EQ(body.text_at("conf", "spark.archives"), "hdfs://nn/up/e.zip#env");
  EXPECT_EQ(body.text_at("conf", "spark.files"), "local:///z");
}

}  // namespace
}  // namespace tidemark::cli
