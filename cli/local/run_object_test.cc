#include "cli/local/run_object.h"

#include <gtest/gtest.h>

namespace tidemark::cli {
namespace {

RunOptions options() {
  RunOptions out;
  out.command = {"./train.py", "--epochs", "10"};
  out.name = "train-x";
  out.cpu = "1500m";
  out.memory = "2Gi";
  out.path = "/bin";
  out.home = "/root";
  out.dir = "/work";
  return out;
}

Json made(const RunOptions& from) {
  const auto object = run_object(from);
  EXPECT_TRUE(object) << object.error().message;
  return *Json::parse(object->body);
}

std::string refused(const RunOptions& from) {
  const auto object = run_object(from);
  return object ? "" : object.error().message;
}

// Contract 2: batch-cpu is a plain integer of milli-cores, batch-memory bytes. Contract 11.3: they need the label BE.
TEST(RunObjectTest, BatchWorkIsAJobOfOnePod) {
  EXPECT_EQ(run_object(options())->resource.kind, "Job");
  EXPECT_EQ(made(options()), *Json::parse(R"({"apiVersion":"batch/v1","kind":"Job",
    "metadata":{"name":"train-x","namespace":"default"},
    "spec":{"parallelism":1,"completions":1,"backoffLimit":0,"ttlSecondsAfterFinished":86400,
      "podFailurePolicy":{"rules":[{"action":"Ignore","onPodConditions":[{"type":"DisruptionTarget","status":"True"}]}]},
      "template":{"metadata":{"labels":{"koordinator.sh/qosClass":"BE"}},
        "spec":{"restartPolicy":"Never","priorityClassName":"koord-batch",
          "containers":[{"name":"main","image":"local","command":["./train.py","--epochs","10"],"workingDir":"/work",
            "env":[{"name":"PATH","value":"/bin"},{"name":"HOME","value":"/root"}],
            "resources":{"requests":{"kubernetes.io/batch-cpu":"1500","kubernetes.io/batch-memory":"2147483648"},
                         "limits":{"kubernetes.io/batch-cpu":"1500","kubernetes.io/batch-memory":"2147483648"}}}]}}}})"));
}

TEST(RunObjectTest, OnlineWorkIsAPodThatRestarts) {
  RunOptions from = options();
  from.work_class = model::PriorityClass::kProd;
  EXPECT_EQ(run_object(from)->resource.kind, "Pod");
  const Json pod = made(from);
  EXPECT_EQ(pod.text_at("spec", "restartPolicy"), "Always");
  EXPECT_EQ(pod.text_at("spec", "priorityClassName"), "koord-prod");
  EXPECT_EQ(pod.text_at("metadata", "labels", "koordinator.sh/qosClass"), "LS");
  EXPECT_EQ(*pod.at("spec", "containers")->as_array()[0].at("resources"),
            *Json::parse(R"({"requests":{"cpu":"1500m","memory":"2147483648"},"limits":{"memory":"2147483648"}})"));
}

TEST(RunObjectTest, MidRequestsMidAndFreeRequestsNothing) {
  RunOptions from = options();
  from.work_class = model::PriorityClass::kMid;
  EXPECT_NE(run_object(from)->body.find(R"("kubernetes.io/mid-cpu":"1500")"), std::string::npos);
  from.work_class = model::PriorityClass::kFree;
  EXPECT_EQ(run_object(from)->body.find("resources"), std::string::npos);
  from.says_amounts = true;
  EXPECT_NE(refused(from).find("asks for nothing"), std::string::npos);
}

TEST(RunObjectTest, EnvironmentKeepsDollarSigns) {
  RunOptions from = options();
  from.environment = {"A=1,2=3", "PATH=/mine", "B=$(A) $$ $HOME $"};
  from.command = {"sh", "-c", "echo $$ $(date) $X"};
  const std::string body = run_object(from)->body;
  EXPECT_NE(
      body.find(R"([{"name":"HOME","value":"/root"},{"name":"A","value":"1,2=3"},{"name":"PATH","value":"/mine"},)"
                R"({"name":"B","value":"$$(A) $$$ $HOME $"}])"),
      std::string::npos)
      << body;
  EXPECT_NE(body.find(R"("echo $$$ $$(date) $X")"), std::string::npos) << body;
  from.environment = {"=x"};
  EXPECT_NE(refused(from).find("--env: wanted NAME=VALUE"), std::string::npos);
}

TEST(RunObjectTest, InvalidOptionIsRejectedWithItsFlag) {
  const auto with = [](auto change) {
    RunOptions from = options();
    change(from);
    return refused(from);
  };
  EXPECT_NE(with([](auto& o) { o.name = "Train"; }).find("--name: a name has"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.cpu = "two"; }).find("--cpu: wanted an amount such as 2 or 500m"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.cpu = "0"; }).find("--cpu"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.memory = "4"; }).find("less than 1Mi"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.dir = "here"; }).find("--dir"), std::string::npos);
  EXPECT_NE(with([](auto& o) { o.command.clear(); }).find("command is missing"), std::string::npos);
}

TEST(RunObjectTest, NamesComeFromTheCommand) {
  base::Random random(7);
  for (const auto& [command, stem] :
       std::vector<std::pair<std::string, std::string>>{{"/usr/bin/Make", "make-"},
                                                        {"./train_v2.py", "train-v2-py-"},
                                                        {"[", "run-"},
                                                        {std::string(90, 'a'), std::string(40, 'a') + "-"}}) {
    const std::string name = name_for({command}, random);
    EXPECT_EQ(name.substr(0, name.size() - 6), stem);
    EXPECT_EQ(wrong_name(name), "") << name;
  }
  EXPECT_NE(name_for({"a"}, random), name_for({"a"}, random));
}

}  // namespace
}  // namespace tidemark::cli
