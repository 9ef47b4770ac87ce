// NodeSLO specs equal to the peer's: eight nodes whose specs its manager wrote on a real API server.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/testing/source_dir.h"
#include "policy/settings/nodeslo/nodeslo.h"

namespace tidemark::policy::settings {
namespace {

Json read_json(const std::string& name) {
  std::ifstream file(base::testing::from_root("tests/golden/nodeslo/" + name));
  std::stringstream text;
  text << file.rdbuf();
  auto json = Json::parse(text.str());
  EXPECT_TRUE(json.has_value()) << name;
  return json.value_or(Json());
}

TEST(GoldenNodeSlo, EverySpecEqualsKoordinators) {
  const Json recorded = read_json("case.json");
  const Json expected = read_json("expected.json");
  SloConfig config;
  for (const SloPartInfo& info : slo_parts()) {
    model::ConfigSource source;
    if (const Json* text = recorded.at("config", info.key)) source.text = text->get_string();
    auto step = next_slo_part(info.part, source);
    ASSERT_TRUE(step.next.has_value()) << step.problem;
    config.parts[static_cast<std::size_t>(info.part)] = std::move(*step.next);
  }
  ASSERT_EQ(recorded.at("nodes")->as_array().size(), 8U);
  for (const Json& node : recorded.at("nodes")->as_array()) {
    const auto name = node.text_at("name");
    std::vector<model::Label> labels;
    for (const auto& [key, value] : node.at("labels")->as_object()) labels.push_back({key, value.as_string()});
    const SloSpec spec = slo_for(config, labels, std::nullopt);
    const Json* wanted = expected.at(name);
    ASSERT_NE(wanted, nullptr) << name;
    EXPECT_EQ(*Json::parse(slo_spec_json(spec)), *wanted) << name << "\n" << slo_spec_json(spec);
    // The peer's object is found right as it is: taking over writes nothing.
    EXPECT_EQ(slo_patch(spec, slo_fingerprint_of_object(wanted->dump()), "1"), "") << name;
  }
}

}  // namespace
}  // namespace tidemark::policy::settings
