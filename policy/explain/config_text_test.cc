#include "policy/explain/config_text.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "model/names.h"
#include "policy/sell/overcommit/strategy_origin.h"
#include "policy/settings/nodeslo/origin.h"

namespace tidemark::policy::explain {
namespace {

using model::Label;

const std::array kLabels{Label{"pool", "a"}, Label{std::string(model::kMemoryReclaimRatioLabel), "0.29"},
                         Label{std::string(model::kCpuReclaimRatioLabel), "half"}};

std::string origin_of(const model::PartInForce& part, std::string_view path) {
  constexpr std::array kWords{"default", "cluster", "entry", "pool", "annotation", "label"};
  for (const auto& field : part.fields) {
    if (field.path == path) return field.value + " " + kWords[static_cast<std::size_t>(field.origin)];
  }
  return "none";
}

constexpr std::string_view kColocation = R"({"enable":true,"CPUReclaimThresholdPercent":70,"degradeTimeMinutes":null,
  "nodeConfigs":[{"name":"pool-a","nodeSelector":{"matchLabels":{"pool":"a"}},"memoryReclaimThresholdPercent":80,
  "midReclaimMode":"static","metricAggregatePolicy":{"durations":[]}}]})";

TEST(ColocationInForce, EachValueComesFromTheTopmostLayerThatNamesIt) {
  const auto part = sell::colocation_in_force({true, kColocation}, kLabels, R"({"metricReportIntervalSeconds":30})");
  EXPECT_EQ(part.entry, 0U);
  EXPECT_EQ(part.entry_name, "pool-a");
  EXPECT_EQ(origin_of(part, "enable"), "true cluster");
  EXPECT_EQ(origin_of(part, "degradeTimeMinutes"), "15 default");
  EXPECT_EQ(origin_of(part, "midReclaimMode"), "\"static\" entry");
  EXPECT_EQ(origin_of(part, "metricAggregatePolicy"), R"(["5m0s","10m0s","30m0s"] default)");
  EXPECT_EQ(origin_of(part, "metricReportIntervalSeconds"), "30 annotation");
  EXPECT_EQ(origin_of(part, "memoryReclaimThresholdPercent"), "28 label");
  EXPECT_EQ(origin_of(part, "cpuReclaimThresholdPercent"), "70 cluster");  // its label is no number
  EXPECT_EQ(origin_of(part, "batchCPUThresholdPercent"), "none");
  EXPECT_EQ(part.notes, std::vector<model::Reason>{model::Reason::kConfigNodeLabelUnreadable});
}

TEST(ColocationInForce, IgnoredValuesAreNoSource) {
  const auto bad = sell::colocation_in_force({true, kColocation}, {}, R"({"degradeTimeMinutes":"5"})");
  EXPECT_EQ(origin_of(bad, "degradeTimeMinutes"), "15 default");
  const auto entry = sell::colocation_in_force(
      {true, R"({"nodeConfigs":[{"nodeSelector":{},"degradeTimeMinutes":0,"midUnallocatedPercent":5}]})"}, {},
      std::nullopt);
  EXPECT_EQ(origin_of(entry, "midUnallocatedPercent"), "0 default");
  EXPECT_EQ(entry.notes, std::vector<model::Reason>{model::Reason::kConfigEntryInvalid});
  const auto refused = sell::colocation_in_force({true, "{"}, {}, std::nullopt);
  EXPECT_TRUE(refused.fields.empty());
  EXPECT_FALSE(refused.problem.empty());
}

constexpr std::string_view kSystem = R"({"clusterStrategy":{"minFreeKbytesFactor":100,"totalNetworkBandwidth":"10G"},
  "nodeStrategies":[{"name":"a","nodeSelector":{"matchLabels":{"pool":"a"}},"watermarkScaleFactor":150}]})";

TEST(SloInForce, EachValueComesFromTheTopmostLayerThatNamesIt) {
  const auto part = settings::slo_in_force(model::SloPart::kSystem, {true, kSystem}, kLabels, std::nullopt);
  EXPECT_EQ(origin_of(part, "minFreeKbytesFactor"), "100 cluster");
  EXPECT_EQ(origin_of(part, "watermarkScaleFactor"), "150 entry");
  EXPECT_EQ(origin_of(part, "totalNetworkBandwidth"), "\"0\" entry");  // the trap shows

  const auto own = settings::slo_in_force(model::SloPart::kSystem, {true, kSystem}, kLabels, "12000");
  EXPECT_EQ(origin_of(own, "totalNetworkBandwidth"), "\"12k\" annotation");
  EXPECT_TRUE(settings::slo_in_force(model::SloPart::kSystem, {true, kSystem}, kLabels, "fast").left_out);

  const auto burst = settings::slo_in_force(model::SloPart::kCpuBurst, {true, std::nullopt}, {}, std::nullopt);
  EXPECT_EQ(origin_of(burst, "policy"), "\"none\" default");
  EXPECT_EQ(burst.reason, model::Reason::kConfigDefaults);
}

TEST(SloInForce, NamesPoolAndNodeLayers) {
  model::SloLayer pool;
  waterline::Problems problems;
  const auto text = Json::parse(R"({"systemStrategy":{"minFreeKbytesFactor":120,"watermarkScaleFactor":170}})");
  pool = settings::read_slo_layer(&*text, "", problems);
  ASSERT_FALSE(problems.any());
  const auto node =
      settings::parse_node_settings(R"({"schema":1,"nodeSlo":{"systemStrategy":{"watermarkScaleFactor":180}}})");
  ASSERT_TRUE(node);
  const auto part = settings::slo_in_force(model::SloPart::kSystem, {true, kSystem}, kLabels, std::nullopt,
                                           std::nullopt, {&pool, &node->slo});
  EXPECT_EQ(origin_of(part, "minFreeKbytesFactor"), "120 pool");
  EXPECT_EQ(origin_of(part, "watermarkScaleFactor"), "180 annotation");
  EXPECT_EQ(origin_of(part, "totalNetworkBandwidth"), "\"0\" entry");
  EXPECT_EQ(part.notes, std::vector<model::Reason>{model::Reason::kSloNodeSettings});
}

// Contract 0: an element of a list is read over the one below it. Here it can be seen.
TEST(SloInForce, BlockShowsLimitsOfTheCluster) {
  const auto part =
      settings::slo_in_force(model::SloPart::kQos, {true, R"({"clusterStrategy":{"beClass":{"blkioQOS":{"blocks":[
      {"name":"sda","ioCfg":{"readIOPS":100}}]}}},"nodeStrategies":[{"nodeSelector":{},"beClass":{"blkioQOS":{"blocks":[
      {"name":"sdb"}]}}}]})"},
                             {}, std::nullopt);
  EXPECT_EQ(origin_of(part, "beClass.blkioQOS.blocks[0].name"), "\"sdb\" entry");
  EXPECT_EQ(origin_of(part, "beClass.blkioQOS.blocks[0].ioCfg.readIOPS"), "100 cluster");
}

ConfigInForce shown() {
  ConfigInForce config;
  config.node = "n1";
  config.config_map = "koordinator-system/slo-controller-config";
  config.revision = "0123456789abcdef";
  config.pool = "a";
  config.notes = {"a roll-out is under way"};
  config.parts = {
      settings::slo_in_force(model::SloPart::kSystem, {true, kSystem}, kLabels, "99M"),
      settings::slo_in_force(model::SloPart::kQos, {true, "{"}, kLabels, std::nullopt),
      settings::slo_in_force(model::SloPart::kHostApplications, {true, std::nullopt}, kLabels, std::nullopt)};
  config.object = ConfigInForce::Object{{"systemStrategy"}};
  return config;
}

TEST(ConfigText, ShowsTheLayerOfEachValue) {
  EXPECT_EQ(render_text(shown()),
            R"(node n1: what ConfigMap koordinator-system/slo-controller-config says for it
settings: 0123456789abcdef, pool a
note: a roll-out is under way

system-config  (NodeSLO spec.systemStrategy)
  this node is matched by nodeStrategies[0] "a"
    minFreeKbytesFactor    100     clusterStrategy
    watermarkScaleFactor   150     nodeStrategies[0] "a"
    totalNetworkBandwidth  "99M"   annotation node.koordinator.sh/network-bandwidth
  note: the node's network-bandwidth annotation is its totalNetworkBandwidth [TM-SLO-001]

resource-qos-config  (NodeSLO spec.resourceQOSStrategy)
  the configuration cannot be read; the last good one stays in force [TM-CONFIG-004]
  resource-qos-config: JSON at byte 1: expected a member name, found the end of the text

host-application-config  (NodeSLO spec.hostApplications)
  the key is absent or empty: defaults are in force [TM-CONFIG-001]
    not in the spec

the node's NodeSLO differs in: systemStrategy
  (the manager has not written it yet, its settings reach the nodes in steps, or it refused the text)
)");
}

TEST(ConfigText, ShowsHowTheCalendarMovesAThreshold) {
  waterline::Calendar calendar;
  calendar.name = "night-rise";
  calendar.entries.resize(1);
  calendar.entries[0].name = "night";
  model::LinePlan line;
  line.cpu = {60, 80, 80, model::LinePhase::kOpen, 0, model::Reason::kLineWindow};
  line.memory = {65, 65, 65, model::LinePhase::kBase, std::nullopt, model::Reason::kLineBase};
  ConfigInForce config;
  config.parts = {settings::slo_in_force(model::SloPart::kThreshold,
                                         {true, R"({"clusterStrategy":{"cpuSuppressThresholdPercent":70}})"}, {},
                                         std::nullopt, settings::SloCalendar{calendar, line, {}})};
  const std::string text = render_text(config);
  EXPECT_NE(
      text.find("cpuSuppressThresholdPercent  90                   clusterStrategy; configured 70; calendar "
                "night-rise, entry night: the agent's threshold is moved by as many points as the calendar moves the "
                "water line [TM-SLO-003]\n"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("default; configured 70; calendar night-rise: the calendar leaves the water line at its base"),
            std::string::npos)
      << text;
  const Json part = render_json(config).at("parts")->as_array()[0];
  const Json* suppress = nullptr;
  for (const Json& field : part.at("fields")->as_array()) {
    if (field.text_at("path") == "cpuSuppressThresholdPercent") suppress = &field;
  }
  ASSERT_NE(suppress, nullptr);
  EXPECT_EQ(suppress->at("value")->dump(), "90");
  EXPECT_EQ(suppress->at("configured")->dump(), "70");
  EXPECT_EQ(suppress->text_at("entry"), "night");
  EXPECT_EQ(suppress->text_at("reason", "id"), "TM-SLO-003");
}

TEST(ConfigText, ShowsTheAgentsState) {
  EXPECT_EQ(render_text(shown()).find("\nagent"), std::string::npos) << "without our settings it is told nothing";
  EXPECT_EQ(render_json(shown()).at("agent")->dump(), "null");
  ConfigInForce config = shown();
  config.agent.emplace();
  EXPECT_NE(render_text(config).find(R"(
agent  (NodeSLO spec.extensions.Object.tidemark.agent)
    enforces all its strategies

the node's NodeSLO)"),
            std::string::npos)
      << render_text(config);
  config.agent->modes.otherwise = model::Mode::kObserve;
  config.agent->modes.named[static_cast<std::size_t>(model::Strategy::kCpuSuppress)] = model::Mode::kEnforce;
  config.agent->classes = {{"transcode", 10}, {"spark", 30}};
  EXPECT_NE(render_text(config).find(R"(
agent  (NodeSLO spec.extensions.Object.tidemark.agent)
    batchLimits   observe
    cpuPriority   observe
    classWeights  observe
    oomOrder      observe
    eviction      observe
    classes       transcode, spark

the node's NodeSLO)"),
            std::string::npos)
      << render_text(config);
  EXPECT_EQ(render_json(config).at("agent")->dump(),
            R"({"strategies":{"cpuSuppress":"enforce","batchLimits":"observe","cpuPriority":"observe",)"
            R"("classWeights":"observe","oomOrder":"observe","eviction":"observe"},"classes":["transcode","spark"]})");
  config.agent->modes.reaction = model::Mode::kObserve;
  EXPECT_NE(render_text(config).find("    reaction      observe\n"), std::string::npos) << render_text(config);
  EXPECT_EQ(render_json(config).at("agent", "strategies", "reaction")->dump(), R"("observe")");
}

TEST(ConfigText, RendersJson) {
  const Json json = render_json(shown());
  const Json& system = json.at("parts")->as_array()[0];
  EXPECT_EQ(json.text_at("settings"), "0123456789abcdef");
  EXPECT_EQ(system.text_at("entry", "name"), "a");
  const Json& bandwidth = system.at("fields")->as_array()[2];
  EXPECT_EQ(
      bandwidth.dump(),
      R"({"path":"totalNetworkBandwidth","value":"99M","origin":"annotation","from":"node.koordinator.sh/network-bandwidth"})");
  EXPECT_TRUE(json.at("parts")->as_array()[1].at("problem")->is_string());
  EXPECT_EQ(json.at("nodeSLO", "differs")->dump(), R"(["systemStrategy"])");
}

}  // namespace
}  // namespace tidemark::policy::explain
