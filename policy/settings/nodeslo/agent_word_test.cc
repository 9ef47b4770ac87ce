#include "policy/settings/nodeslo/agent_word.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tidemark::policy::settings {
namespace {

using model::Strategy;
using std::chrono::seconds;

std::string written(const model::AgentWord& word) {
  std::string text;
  base::JsonWriter json(text);
  json.begin_object().member("schema", 1);
  write_agent_word(json, word);
  json.end_object();
  return text;
}
Result<std::optional<model::AgentWord>> read(std::string_view agent) {
  return read_agent_word(*Json::parse(base::cat(R"({"schema":1,"agent":)", agent, "}")));
}

TEST(AgentWord, IsWrittenAndReadInOnePlace) {
  model::AgentWord word;
  word.modes.otherwise = model::Mode::kObserve;
  word.modes.named[static_cast<std::size_t>(Strategy::kCpuSuppress)] = model::Mode::kEnforce;
  word.classes = {{"transcode", 10, seconds(300), true, 50}, {"spark", 30, seconds(0), false, 100, 25}};
  const std::string text = written(word);
  EXPECT_EQ(text, R"({"schema":1,"agent":{"modes":{"default":"observe","cpuSuppress":"enforce"},"classes":[)"
                  R"({"name":"transcode","order":10,"cpuWeight":50,"restartCostSeconds":300,"checkpointing":true},)"
                  R"({"name":"spark","order":30,"cpuWeight":100,"memoryLowPercent":25,"restartCostSeconds":0,)"
                  R"("checkpointing":false}]}})");
  const auto back = read_agent_word(*Json::parse(text));
  ASSERT_TRUE(back && *back);
  EXPECT_EQ(**back, word);
  EXPECT_EQ((*back)->modes.of(Strategy::kCpuSuppress), model::Mode::kEnforce);
  EXPECT_EQ((*back)->modes.of(Strategy::kClassWeights), model::Mode::kObserve);

  word.classes[0].restart_cost = std::chrono::milliseconds(1);
  EXPECT_EQ((*read_agent_word(*Json::parse(written(word))))->classes[0].restart_cost, seconds(1));
}

TEST(AgentWord, MissingFieldsHaveDefaults) {
  EXPECT_EQ(**read("{}"), model::AgentWord());
  EXPECT_EQ(model::AgentWord().modes.of(Strategy::kBatchLimits), model::Mode::kEnforce);
  EXPECT_EQ(written({}), R"({"schema":1,"agent":{"modes":{"default":"enforce"}}})");
  EXPECT_EQ((*read(R"({"classes":[{"name":"a","order":0}]})"))->classes.front(), (model::WorkClass{"a", 0}));
  EXPECT_EQ(*read("null"), std::nullopt);
  EXPECT_EQ(*read_agent_word(*Json::parse(R"({"schema":1,"evictions":{}})")), std::nullopt);
}

TEST(AgentWord, WritesTheReactionModeOnlyIfThePoolSetsIt) {
  model::AgentWord word;
  word.modes.reaction = model::Mode::kObserve;
  EXPECT_EQ(written(word), R"({"schema":1,"agent":{"modes":{"default":"enforce","reaction":"observe"}}})");
  EXPECT_EQ(**read_agent_word(*Json::parse(written(word))), word);
  EXPECT_FALSE(read(R"({"modes":{"reaction":"fast"}})").has_value());
}

TEST(AgentWord, WritesEvictionThresholdsSeparately) {
  model::AgentWord word;
  word.evict = {seconds(60), 20, 15, 8};
  word.evict.per_hour = 20;
  word.evict.yarn_by_class = false;
  EXPECT_EQ(written(word), R"({"schema":1,"agent":{"modes":{"default":"enforce"},"evict":{"graceSeconds":60,)"
                           R"("memoryPressurePercent":20,"diskFreePercent":15,"inodesFreePercent":8,"yarn":"preempt",)"
                           R"("perHour":20}}})");
  EXPECT_EQ(**read_agent_word(*Json::parse(written(word))), word);
  for (const char* wrong : {"0", "91", "-1", "\"20\"", "1.5"}) {
    for (const char* key : {"diskFreePercent", "inodesFreePercent"}) {
      EXPECT_FALSE(read(base::cat(R"({"evict":{")", key, R"(":)", wrong, "}}")).has_value()) << key << wrong;
    }
  }
}

TEST(AgentWord, SortsClassesByOrder) {
  const auto word = read(R"({"classes":[{"name":"b","order":30},{"name":"a","order":20}]})");
  ASSERT_TRUE(word && *word);
  EXPECT_EQ((*word)->classes[0].name, "a");
}

TEST(AgentWord, IgnoresFieldsOfANewerManager) {
  const auto word = read(R"({"modes":{"burst":"enforce","default":"observe"},"trial":{"x":1},
      "classes":[{"name":"a","order":1,"memoryWeight":5}]})");
  ASSERT_TRUE(word && *word);
  EXPECT_EQ((*word)->modes.otherwise, model::Mode::kObserve);
  EXPECT_EQ((*word)->classes.size(), 1U);
}

TEST(AgentWord, RejectsTheWholeForOneInvalidField) {
  const std::string a = R"({"name":"a","order":1)";
  std::string many;
  for (int i = 0; i < 65; ++i) many += base::cat(i == 0 ? "" : ",", R"({"name":"c)", i, R"(","order":)", i, "}");
  for (const std::string& agent :
       {std::string("[]"), std::string(R"({"modes":{"default":"shadow"}})"),
        std::string(R"({"modes":{"cpuSuppress":1}})"), std::string(R"({"modes":"observe"})"),
        std::string(R"({"classes":{}})"), std::string(R"({"classes":["a"]})"),
        std::string(R"({"classes":[{"name":"a"}]})"), std::string(R"({"classes":[{"order":1}]})"),
        std::string(R"({"classes":[{"name":"A","order":1}]})"), base::cat(R"({"classes":[)", a, "},", a, "}]}"),
        base::cat(R"({"classes":[)", a, R"(},{"name":"b","order":1}]})"),
        base::cat(R"({"classes":[)", a, R"(,"cpuWeight":0}]})"),
        base::cat(R"({"classes":[)", a, R"(,"cpuWeight":10001}]})"),
        base::cat(R"({"classes":[)", a, R"(,"memoryLowPercent":101}]})"),
        base::cat(R"({"classes":[)", a, R"(,"memoryLowPercent":-1}]})"),
        base::cat(R"({"classes":[)", a, R"(,"restartCostSeconds":-1}]})"),
        base::cat(R"({"classes":[)", a, R"(,"checkpointing":"yes"}]})"), base::cat(R"({"classes":[)", many, "]}")}) {
    const auto word = read(agent);
    ASSERT_FALSE(word.has_value()) << agent;
    EXPECT_EQ(word.error().kind, ErrorKind::kInvalid) << agent;
    EXPECT_TRUE(word.error().message.starts_with("agent")) << word.error().message;
  }
}

TEST(AgentWord, ReadsNothingOfAnotherSchema) {
  for (const char* text : {R"({"schema":2,"agent":{}})", R"({"agent":{}})", R"({"schema":"1"})", "[]", "5"}) {
    const auto word = read_agent_word(*Json::parse(text));
    ASSERT_FALSE(word.has_value()) << text;
    EXPECT_EQ(word.error().kind, ErrorKind::kUnsupported) << text;
  }
}

}  // namespace
}  // namespace tidemark::policy::settings
