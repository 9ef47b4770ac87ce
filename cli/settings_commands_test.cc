// The commands against the API server in memory, without a manager: what they show, what they write, what they refuse.
#include "cli/settings_commands.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "operate/testing/api_in_memory.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;
using base::cat;

constexpr std::string_view kMaps = "/api/v1/namespaces/ns/configmaps";

class SettingsCommandsTest : public operate::testing::ApiInMemory {
 protected:
  SettingsCommandsTest() : ApiInMemory("ns") {
    options.config_namespace = "ns";
    options.config_name = "slo";
    change.id = "request-1";
    put("slo", {{"colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":80})"}, {"new-key", "x"}});
    put("tidemark-config", {{"config.yaml", "schema: 1\nmode: enforce\n"}});
  }
  // Revision 1 was everywhere, 2 has a tidemark-config and is on its way or there.
  void store(bool settled) {
    policy::settings::RevisionBook book;
    const policy::settings::SettingsTexts one{
        {{"colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":60})"}}, {}};
    const policy::settings::SettingsTexts two{
        {{"colocation-config", R"({"enable":true,"cpuReclaimThresholdPercent":80})"}, {"new-key", "x"}},
        "schema: 1\nmode: enforce\n"};
    book = policy::settings::with_revision(std::move(book), one, {}, clock.wall());
    book = policy::settings::with_revision(std::move(book), two, {}, clock.wall());
    book[0].completed = true;
    book[1].completed = settled;
    policy::settings::RolloutState state;
    state.layers = {{hash_of(two), policy::settings::kAllNodes, policy::settings::kAllNodes}};
    if (!settled) {
      state.layers = {{hash_of(one), policy::settings::kAllNodes, policy::settings::kAllNodes},
                      {hash_of(two), policy::settings::kAllNodes, ""}};
      state.phase = policy::settings::Phase::kSoak;
    }
    std::map<std::string, std::string> data;
    for (const auto& [key, text] : policy::settings::stored_changes({}, book, state)) data[key] = *text;
    put("tidemark-config-revisions", data);
  }
  void put(std::string_view name, const std::map<std::string, std::string>& data) {
    Json map = Json::object({{"metadata", Json::object({{"name", Json(name)}})}, {"data", Json::object()}});
    for (const auto& [key, text] : data) map["data"][key] = Json(text);
    call("POST", kMaps, map.dump());
  }
  void patch(std::string_view name, const std::map<std::string, std::string>& data) {
    Json map = Json::object({{"data", Json::object()}});
    for (const auto& [key, text] : data) map["data"][key] = Json(text);
    call("PATCH", cat(kMaps, "/", name), map.dump());
  }
  Json data_of(std::string_view name) {
    const auto response = ask("GET", cat(kMaps, "/", name));
    return response.status == 200 ? *Json::parse(response.body)->at("data") : Json();
  }
  std::string text(net::Task<Result<std::string>> task) {
    auto result = net::testing::run_task(loop, clock, std::move(task));
    return result ? *result : cat("error: ", result.error().message);
  }
  std::string text(net::Task<Result<ChangeReport>> task) {
    auto result = net::testing::run_task(loop, clock, std::move(task));
    happened = result ? result->happened : std::nullopt;
    return result ? result->text : cat("error: ", result.error().message);
  }
  bool says(const std::string& whole, std::string_view part) { return whole.find(part) != std::string::npos; }

  operate::SettingsOptions options;
  bool json = false;
  operate::ChangeOptions change;
  std::optional<bool> happened;  // of the last command
};

TEST_F(SettingsCommandsTest, ExplainsMissingStore) {
  const std::string listed = text(list_revisions(loop, client, options, json));
  EXPECT_TRUE(says(listed, "error: there is no ConfigMap ns/tidemark-config-revisions")) << listed;
  std::vector<net::Task<Result<ChangeReport>>> asked;
  asked.push_back(undo_config(loop, client, options, change, 0, json));
  asked.push_back(pause_config(loop, client, options, change, 0s, json));
  for (auto& ask : asked) {
    const std::string told = text(std::move(ask));
    EXPECT_TRUE(says(told, "error: there is no ConfigMap ns/tidemark-config-revisions")) << told;
  }
}

TEST_F(SettingsCommandsTest, ListShowsRevisionsInForce) {
  store(false);
  const std::string told = text(list_revisions(loop, client, options, json));
  EXPECT_TRUE(says(told, "being rolled out: revision 2 (")) << told;
  EXPECT_TRUE(says(told, "all of the canary nodes, none of the others")) << told;
  EXPECT_TRUE(says(told, "nodes without a newer one")) << told;
  json = true;
  const Json out = *Json::parse(text(list_revisions(loop, client, options, json)));
  EXPECT_EQ(out.at("revisions")->as_array().size(), 2U);
  EXPECT_EQ(out.text_at("state", "phase"), "soak");
}

TEST_F(SettingsCommandsTest, WithoutYesAndWithDryRunNothingIsWritten) {
  store(true);
  const std::string told = text(undo_config(loop, client, options, change, 0, json));
  EXPECT_TRUE(says(told, "nothing was changed: say --yes")) << told;
  EXPECT_TRUE(says(told, "-   \"cpuReclaimThresholdPercent\": 80")) << told;
  EXPECT_TRUE(says(told, "+   \"cpuReclaimThresholdPercent\": 60")) << told;
  EXPECT_TRUE(says(told, "slo new-key (goes)")) << told;
  EXPECT_TRUE(says(told, "tidemark-config config.yaml (goes)")) << told;
  change.dry_run = true;
  EXPECT_FALSE(says(text(undo_config(loop, client, options, change, 0, json)), "error"));
  EXPECT_FALSE(says(text(pause_config(loop, client, options, change, 0s, json)), "error"));
  EXPECT_EQ(data_of("tidemark-config-revisions").member("request"), nullptr);
  EXPECT_NE(data_of("slo").member("new-key"), nullptr);
}

TEST_F(SettingsCommandsTest, UndoRestoresBothConfigMapsAndStoresRequest) {
  store(true);
  change.confirmed = true;
  change.reason = "the fleet burns";
  const std::string told = text(undo_config(loop, client, options, change, 0, json));
  EXPECT_TRUE(says(told, "back to revision 1 (")) << told;
  EXPECT_EQ(data_of("slo"),
            *Json::parse(R"({"colocation-config":"{\"enable\":true,\"cpuReclaimThresholdPercent\":60}"})"));
  EXPECT_TRUE(data_of("tidemark-config").is_null()) << "it had none";
  const auto request = policy::settings::decode_request(data_of("tidemark-config-revisions").text_at("request"));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->id, "request-1");
  EXPECT_TRUE(request->at_once);
  EXPECT_TRUE(says(std::string(data_of("tidemark-config-revisions").text_at("request")), "the fleet burns"));

  // And forward again: a ConfigMap that is gone is made.
  change.id = "request-2";
  EXPECT_FALSE(says(text(undo_config(loop, client, options, change, 2, json)), "error"));
  EXPECT_EQ(data_of("tidemark-config").text_at("config.yaml"), "schema: 1\nmode: enforce\n");
  EXPECT_EQ(data_of("slo").text_at("new-key"), "x");
  EXPECT_EQ(happened, std::nullopt) << "no wait was asked for";
  EXPECT_EQ(call("GET", cat(kMaps, "/tidemark-config")).text_at("metadata", "labels", "koordinator.sh/configmap-type"),
            "tidemark-config")
      << "the webhook that checks edits goes by it";
}

// What was refused, or no manager has seen yet, is what there is to undo: the revision in force stays in force.
TEST_F(SettingsCommandsTest, UndoRevertsPendingEditFirst) {
  store(true);
  const Json good = data_of("slo");
  patch("slo", {{"colocation-config", "{not to be read"}});
  change.confirmed = true;
  std::string told = text(undo_config(loop, client, options, change, 0, json));
  EXPECT_TRUE(says(told, "what the ConfigMaps hold was never taken")) << told;
  EXPECT_TRUE(says(told, "back to revision 2 (")) << told;
  EXPECT_EQ(data_of("slo"), good);
  EXPECT_EQ(data_of("tidemark-config").text_at("config.yaml"), "schema: 1\nmode: enforce\n");
  told = text(undo_config(loop, client, options, change, 0, json));
  EXPECT_TRUE(says(told, "back to revision 1 (")) << told;
}

TEST_F(SettingsCommandsTest, ReportsWaitTimeoutSeparately) {
  store(true);
  change.confirmed = true;
  change.wait = 3s;
  std::string told = text(undo_config(loop, client, options, change, 0, json));
  EXPECT_EQ(happened, false);
  EXPECT_TRUE(says(told, "the ConfigMaps are written, but it is not in force after 3s")) << told;

  json = true;
  const Json out = *Json::parse(text(pause_config(loop, client, options, change, 0s, json)));
  EXPECT_EQ(happened, false);
  EXPECT_FALSE(out.at("happened")->as_bool());
}

// The server goes away after the change was written: the report still says that it was written.
TEST_F(SettingsCommandsTest, WaitErrorKeepsReportOfWrites) {
  store(true);
  change.wait = 3s;
  options.limit = 1s;
  bool written = false;
  between.refuses = [&](const net::HttpRequest& request) -> std::optional<Error> {
    if (written) return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
    written = request.method == "PATCH";
    return std::nullopt;
  };
  std::string told = text(pause_config(loop, client, options, change, 0s, json));
  EXPECT_EQ(happened, false) << told;
  EXPECT_TRUE(says(told, "the request is left; whether it is in force could not be seen: ")) << told;
  EXPECT_TRUE(says(told, "the server went away")) << told;

  // It comes back in time, and a manager has taken the request.
  written = false;
  int refused = 0;
  between.refuses = [&](const net::HttpRequest& request) -> std::optional<Error> {
    if (written && ++refused < 20) return Error{ErrorKind::kUnavailable, "the server went away", 0, 0};
    written = request.method == "PATCH";
    return std::nullopt;
  };
  policy::settings::RolloutState state;
  state.layers = {{"1", policy::settings::kAllNodes, policy::settings::kAllNodes}};
  state.request = change.id;
  patch("tidemark-config-revisions", {{"state", policy::settings::encode_state(state)}});
  written = false;
  change.wait = 60s;
  told = text(pause_config(loop, client, options, change, 0s, json));
  EXPECT_EQ(happened, true) << told;
  EXPECT_GE(refused, 20);
}

TEST_F(SettingsCommandsTest, UndoOfRolloutRestoresItsStart) {
  store(false);
  change.dry_run = true;
  EXPECT_TRUE(says(text(undo_config(loop, client, options, change, 0, json)), "back to revision 1 ("));
  const std::string stays = text(undo_config(loop, client, options, change, 2, json));
  EXPECT_TRUE(says(stays, "never in force everywhere")) << stays;
  EXPECT_TRUE(says(stays, "the ConfigMaps hold it already")) << stays;
  const std::string missing = text(undo_config(loop, client, options, change, 7, json));
  EXPECT_TRUE(says(missing, "revision 7 is not kept; there are: 1, 2")) << missing;
}

TEST_F(SettingsCommandsTest, HoldAndResumeAreStoredForManager) {
  store(false);
  change.wait = 3s;
  const std::string told = text(pause_config(loop, client, options, change, 2h, json));
  EXPECT_TRUE(says(told, "the request is left, but it is not in force after 3s: does a manager run?")) << told;
  EXPECT_EQ(happened, false);
  auto request = policy::settings::decode_request(data_of("tidemark-config-revisions").text_at("request"));
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->verb, policy::settings::RolloutRequest::Verb::kHold);
  ASSERT_TRUE(request->until.has_value());

  change.wait = 0s;
  EXPECT_TRUE(says(text(resume_config(loop, client, options, change, true, json)), "say --yes"));
  EXPECT_FALSE(says(text(resume_config(loop, client, options, change, false, json)), "error"));
  json = true;
  change.confirmed = true;
  const Json out = *Json::parse(text(resume_config(loop, client, options, change, true, json)));
  EXPECT_EQ(out.text_at("verb"), "resume");
  request = policy::settings::decode_request(data_of("tidemark-config-revisions").text_at("request"));
  EXPECT_EQ(request->verb, policy::settings::RolloutRequest::Verb::kResume);
  EXPECT_TRUE(request->at_once);
}

}  // namespace
}  // namespace tidemark::cli
