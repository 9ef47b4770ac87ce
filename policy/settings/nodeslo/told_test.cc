#include "policy/settings/nodeslo/told.h"

#include <gtest/gtest.h>

namespace tidemark::policy::settings {
namespace {

const base::WallTime kNow = *base::parse_rfc3339("2026-11-21T20:00:00Z");

model::Reclaim of(std::string name, std::int64_t amount, std::int64_t keep) {
  return {std::move(name), {{amount}, {amount}}, {{keep}, {keep}}, "TM-LEDGER-009"};
}
NodeTold told_of(const std::string& text) {
  return text.empty() ? NodeTold() : read_told(*Json::parse(text));
}

TEST(Told, WritesOneTextAndKeepsUnknownParts) {
  EXPECT_EQ(next_told({}, {}, kNow), std::nullopt);
  KnownTold known;
  known.reclaim = std::vector{of("transcode", 12'000, 8'000)};
  const auto first = next_told({}, known, kNow);
  EXPECT_EQ(*first, R"({"schema":1,"reclaim":{"generation":1795291200,"classes":[{"class":"transcode",)"
                    R"("amount":{"kubernetes.io/batch-cpu":"12k","kubernetes.io/batch-memory":"12000"},)"
                    R"("keep":{"kubernetes.io/batch-cpu":"8k","kubernetes.io/batch-memory":"8000"},)"
                    R"("reason":"TM-LEDGER-009"}]}})");
  KnownTold granted;
  granted.grant = model::NodeGrant{{3, kNow}, std::nullopt};
  const auto both = next_told(told_of(*first), granted, kNow);
  EXPECT_EQ(told_of(*both).reclaim, told_of(*first).reclaim);
  EXPECT_EQ(told_of(*both).grant, *granted.grant);
  known.reclaim->clear();
  const auto done = next_told(told_of(*both), known, kNow);
  EXPECT_EQ(told_of(*done), (NodeTold{*granted.grant, NodeReclaim{1'795'291'201, {}}}));
  EXPECT_EQ(next_told(told_of(*done), known, kNow), *done) << "over is told once";
  granted.grant = std::optional<model::NodeGrant>();
  EXPECT_EQ(next_told(told_of(*done), granted, kNow),
            R"({"schema":1,"reclaim":{"generation":1795291201,"classes":[]}})");
}

TEST(Told, TheGenerationGrowsWithEachOtherText) {
  KnownTold known;
  known.reclaim = std::vector{of("transcode", 12'000, 8'000)};
  const NodeTold first = told_of(*next_told({}, known, kNow));
  known.reclaim = std::vector{of("transcode", 4'000, 8'000)};
  EXPECT_EQ(told_of(*next_told(first, known, kNow + std::chrono::hours(1))), first) << "it is being obeyed";
  known.reclaim = std::vector{of("transcode", 12'000, 0)};
  const NodeTold second = told_of(*next_told(first, known, kNow + -std::chrono::hours(1)));
  EXPECT_GT(second.reclaim->generation, first.reclaim->generation) << "with a clock that is set back, too";
}

// Over and asked again, by managers that know nothing but the object, with clocks that go back.
TEST(Told, NoGenerationComesTwice) {
  NodeTold carried;
  std::int64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    KnownTold known;
    known.reclaim.emplace();
    if (i % 2 == 0) known.reclaim->push_back(of("transcode", 12'000, 8'000));
    carried = told_of(*next_told(carried, known, kNow + -std::chrono::minutes(i)));
    ASSERT_TRUE(carried.reclaim);
    ASSERT_GT(carried.reclaim->generation, last) << i;
    last = carried.reclaim->generation;
  }
  // The generation of an invalid request still counts.
  const auto told = told_of(R"({"schema":1,"reclaim":{"generation":9999999999,"classes":[{"class":"a"}]}})");
  KnownTold known;
  known.reclaim = std::vector{of("transcode", 1, 1)};
  EXPECT_EQ(told_of(*next_told(told, known, kNow)).reclaim->generation, 10'000'000'000);
  // A node without any request gets no text.
  known.reclaim->clear();
  EXPECT_EQ(next_told({}, known, kNow), "");
}

TEST(Told, ReaderUnderstandsTheManagersText) {
  KnownTold known;
  known.reclaim = std::vector{of("transcode", 12'000, 8'000), of("", 500, 0)};
  const auto read_told = read_node_reclaim(*Json::parse(*next_told({}, known, kNow)));
  ASSERT_TRUE(read_told) << read_told.error().message;
  EXPECT_EQ(*read_told, (NodeReclaim{1'795'291'200, *known.reclaim}));
  EXPECT_EQ(read_node_reclaim(*Json::parse("{}")).value(), NodeReclaim()) << "nothing is asked for";
}

TEST(Told, ReaderRejectsUnknownText) {
  const auto refused = [](const std::string& text) {
    const auto read_told = read_node_reclaim(*Json::parse(text));
    return read_told ? "it was read_told" : read_told.error().message;
  };
  const auto classes = [&](const std::string& list) {
    return refused(R"({"schema":1,"reclaim":{"generation":1,"classes":[)" + list + "]}}");
  };
  const std::string none = R"({"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"})";
  const std::string one = R"({"class":"a","amount":)" + none + R"(,"keep":)" + none + R"(,"reason":"r"})";
  EXPECT_EQ(classes(one), "it was read_told");
  EXPECT_EQ(classes(one + "," + one), "classes: \"a\" occurs twice");
  EXPECT_NE(classes(R"({"class":"a"})"), "it was read_told");
  EXPECT_EQ(refused(R"({"schema":2,"reclaim":{"generation":1,"classes":[]}})"),
            "written with schema 2; this version reads 1");
  EXPECT_EQ(refused(R"({"schema":1,"reclaim":{"classes":[]}})"), "generation: wanted a whole number");
  EXPECT_EQ(refused(R"({"schema":1,"reclaim":{"generation":1}})"), "classes: missing");
  std::string many;
  for (std::size_t i = 0; i <= model::kReclaimClassesMax; ++i) {
    many += (many.empty() ? "" : ",") + one;
  }
  EXPECT_NE(classes(many).find("at most 64"), std::string::npos);
}

TEST(Told, OmitsUnreadableParts) {
  for (const std::string text :
       {R"({"schema":0,"reclaim":{"generation":1,"classes":[]}})", R"({"schema":1,"reclaim":[]})",
        R"({"schema":1,"reclaim":{"generation":"1","classes":[]}})", R"([])"}) {
    EXPECT_EQ(told_of(text), NodeTold()) << text;
  }
}

TEST(Told, KeepsTextOfANewerVersion) {
  const NodeTold newer = told_of(R"({"schema":2,"reclaim":{"generation":1,"classes":[]}})");
  EXPECT_FALSE(newer.known);
  EXPECT_FALSE(newer.reclaim);
  KnownTold known;
  known.reclaim = std::vector{of("transcode", 12'000, 8'000)};
  known.settings = "";
  known.agent = model::AgentWord();
  EXPECT_EQ(next_told(newer, known, kNow), std::nullopt);
}

TEST(Told, KeepsTheAgentSettingsBesideOtherKeys) {
  KnownTold granted;
  granted.grant = model::NodeGrant{{3, kNow}, std::nullopt};
  const NodeTold before = told_of(*next_told({}, granted, kNow));
  KnownTold known;
  known.agent = model::AgentWord{{model::Mode::kObserve, {}}, {{"spark", 30}}};
  const auto text = next_told(before, known, kNow);
  const std::string word = R"("agent":{"modes":{"default":"observe"},"classes":[)"
                           R"({"name":"spark","order":30,"cpuWeight":100,"restartCostSeconds":0,)"
                           R"("checkpointing":false}]})";
  EXPECT_NE(text->find(word), std::string::npos) << *text;
  const NodeTold both = told_of(*text);
  EXPECT_EQ(both.agent, *known.agent);
  EXPECT_EQ(both.grant, before.grant);
  EXPECT_EQ(next_told(both, granted, kNow), *text) << "what is not known stays";
  known.agent = model::AgentWord();
  EXPECT_EQ(told_of(*next_told(both, known, kNow)).agent, model::AgentWord());
  known.agent = std::optional<model::AgentWord>();
  EXPECT_EQ(told_of(*next_told(both, known, kNow)), before) << "taken away";
  EXPECT_EQ(next_told({}, known, kNow), "") << "nothing is left to tell";
}

TEST(Told, RewritesOrRemovesAnUnreadableText) {
  const NodeTold told = told_of(R"({"schema":1,"settings":{"schema":1},"agent":{"modes":"off"}})");
  EXPECT_EQ(told.agent, std::nullopt);
  KnownTold known;
  known.agent = std::optional<model::AgentWord>();
  EXPECT_EQ(next_told(told, known, kNow), R"({"schema":1,"settings":{"schema":1}})");
  known.agent = model::AgentWord();
  EXPECT_EQ(told_of(*next_told(told, known, kNow)).agent, model::AgentWord());
}

TEST(Told, KeepsNodeSettingsBesideOtherKeys) {
  KnownTold known;
  known.settings = R"({"schema":1})";
  const NodeTold first = told_of(*next_told({}, known, kNow));
  EXPECT_EQ(first.settings, R"({"schema":1})");
  KnownTold asked;
  asked.reclaim = std::vector{of("transcode", 12'000, 8'000)};
  const NodeTold both = told_of(*next_told(first, asked, kNow));
  EXPECT_EQ(both.settings, first.settings);
  EXPECT_TRUE(both.reclaim);
  asked.reclaim->clear();
  known = asked;
  known.settings = "";
  const NodeTold over = told_of(*next_told(both, known, kNow));
  EXPECT_EQ(over.settings, "");
  EXPECT_TRUE(over.reclaim->classes.empty());
}

}  // namespace
}  // namespace tidemark::policy::settings
