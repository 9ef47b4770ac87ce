// Writes around the settings through the API of the console, on an API server in memory, with no manager there.
#include "console/settings_api.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "console/testing/console_in_memory.h"
#include "policy/settings/rollout/rollout.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::console {
namespace {

using base::cat;
using policy::settings::SettingsTexts;

constexpr std::string_view kTexts = "/api/v1/settings/texts";
constexpr std::string_view kSlo = "slo-controller-config";
constexpr std::string_view kTidemark = "tidemark-config";
constexpr std::string_view kColocation = R"({"enable":true,"cpuReclaimThresholdPercent":60})";
constexpr std::string_view kPools = "schema: 1\nmode: enforce\n";

class ConsoleSettings : public testing::ConsoleInMemory {
 protected:
  ConsoleSettings() {
    put(kSlo, {{"colocation-config", kColocation}});
    put(kTidemark, {{"config.yaml", kPools}});
  }

  static Json map_of(const std::map<std::string, std::string_view>& data) {
    Json out = Json::object();
    for (const auto& [key, text] : data) out[key] = Json(text);
    return out;
  }
  void put(std::string_view name, const std::map<std::string, std::string_view>& data) {
    call("POST", std::string(operate::testing::kMaps),
         Json::object({{"metadata", Json::object({{"name", Json(name)}})}, {"data", map_of(data)}}).dump());
  }
  // As `kubectl edit` does.
  void change(std::string_view name, const std::map<std::string, std::string_view>& data) {
    call("PATCH", cat(operate::testing::kMaps, "/", name), Json::object({{"data", map_of(data)}}).dump());
  }
  std::string stored(std::string_view name, std::string_view key) {
    return std::string(call("GET", cat(operate::testing::kMaps, "/", name)).text_at("data", key));
  }
  std::string etag() { return std::string(get(kTexts).headers.get("etag")); }

  static Json edit_of(std::string_view colocation, std::string_view pools, bool dry_run = false) {
    Json body = Json::object({{"reason", "a test"}, {"dryRun", Json(dry_run)}, {"texts", Json::object()}});
    body["texts"][kSlo] = map_of({{"colocation-config", colocation}});
    body["texts"][kTidemark] = map_of({{"config.yaml", pools}});
    return body;
  }
  net::HttpResponse edit(const Json& body, std::string_view etag) {
    auto request = request_of("PUT", kTexts, body.dump());
    if (!etag.empty()) request.headers.set("if-match", etag);
    return send(std::move(request));
  }
  net::HttpResponse write(std::string_view path, std::string body) { return post(std::move(body), "", path); }
  void store_revisions(const SettingsTexts& first, const SettingsTexts& now) {
    policy::settings::RevisionBook book;
    for (const auto* texts : {&first, &now}) {
      book = policy::settings::with_revision(std::move(book), *texts, {}, clock.wall());
      book.back().completed = true;
    }
    policy::settings::RolloutState state;
    state.layers = {{hash_of(now), policy::settings::kAllNodes, policy::settings::kAllNodes}};
    std::map<std::string, std::string> texts;
    for (const auto& [key, text] : policy::settings::stored_changes({}, book, state)) texts[key] = *text;
    put("tidemark-config-revisions", {texts.begin(), texts.end()});
  }
};

TEST_F(ConsoleSettings, ShowsPlanThenWritesEdit) {
  node("a");
  serve();
  const std::string base = etag();
  constexpr std::string_view kLess = R"({"enable":false})";
  const auto planned = edit(edit_of(kLess, kPools, true), base);
  ASSERT_EQ(planned.status, 200) << planned.body;
  const Json plan = body_of(planned);
  EXPECT_EQ(plan.member("written")->get_bool(), false);
  EXPECT_EQ(plan.member("changes")->as_array().at(0).text_at("key"), "colocation-config");
  EXPECT_EQ(number(plan, "plan", "all", "nodes"), 1);
  EXPECT_EQ(number(plan, "plan", "all", "changed"), 1);
  EXPECT_EQ(stored(kSlo, "colocation-config"), kColocation);
  EXPECT_EQ(planned.headers.get("etag"), base) << "a plan changes nothing";

  const auto written = edit(edit_of(kLess, kPools), base);
  ASSERT_EQ(written.status, 200) << written.body;
  EXPECT_EQ(body_of(written).member("written")->get_bool(), true);
  EXPECT_EQ(stored(kSlo, "colocation-config"), kLess);
  EXPECT_EQ(written.headers.get("etag"), etag());
  EXPECT_NE(written.headers.get("etag"), base);
}

TEST_F(ConsoleSettings, AnswersThreeVersionsAfterAnotherEdit) {
  serve();
  const std::string base = etag();
  constexpr std::string_view kTheirs = R"({"enable":true,"cpuReclaimThresholdPercent":50})";
  constexpr std::string_view kYours = R"({"enable":true,"cpuReclaimThresholdPercent":70})";
  change(kSlo, {{"colocation-config", kTheirs}});
  for (const bool dry_run : {true, false}) {
    const auto answer = edit(edit_of(kYours, kPools, dry_run), base);
    ASSERT_EQ(answer.status, 412) << answer.body;
    const Json body = body_of(answer);
    EXPECT_EQ(body.text_at("type"), "urn:tidemark:problem:changed");
    EXPECT_EQ(body.text_at("base", kSlo, "colocation-config"), kColocation);
    EXPECT_EQ(body.text_at("theirs", kSlo, "colocation-config"), kTheirs);
    EXPECT_EQ(body.text_at("yours", kSlo, "colocation-config"), kYours);
    EXPECT_EQ(cat("\"", body.text_at("hash"), "\""), etag()) << "the next edit begins with theirs";
  }
  EXPECT_EQ(stored(kSlo, "colocation-config"), kTheirs);
  EXPECT_EQ(edit(edit_of(kYours, kPools), etag()).status, 200);
  EXPECT_EQ(stored(kSlo, "colocation-config"), kYours);
}

TEST_F(ConsoleSettings, ChangeBetweenCheckAndWriteIsNotOverwritten) {
  serve();
  const std::string base = etag();
  // Another program is a moment earlier than the write of this edit.
  net::Scope scope(loop);
  bool changed = false;
  between.refuses = [&](const net::HttpRequest& request) -> std::optional<Error> {
    if (request.method == "PATCH" && !changed) {
      changed = true;
      net::HttpRequest other;
      other.method = "PATCH";
      other.target = cat(operate::testing::kMaps, "/", kTidemark);
      other.headers.set("content-type", "application/merge-patch+json");
      other.body = R"({"data":{"config.yaml":"schema: 1\nmode: observe\n"}})";
      scope.spawn([](kube::memory::LocalTransport& api, net::HttpRequest asked) -> net::Task<void> {
        (void)co_await api.fetch(std::move(asked), std::chrono::seconds(10));
      }(transport, std::move(other)));
    }
    return std::nullopt;
  };
  between.delay = std::chrono::milliseconds(100);
  const auto answer = edit(edit_of(kColocation, "schema: 1\nmode: enforce\npools: []\n"), base);
  ASSERT_EQ(answer.status, 412) << answer.body;
  EXPECT_EQ(body_of(answer).text_at("theirs", kTidemark, "config.yaml"), "schema: 1\nmode: observe\n");
  EXPECT_EQ(stored(kTidemark, "config.yaml"), "schema: 1\nmode: observe\n");
}

TEST_F(ConsoleSettings, ReportsEachErrorWithItsPlaceAndWritesNothing) {
  serve();
  const auto answer = edit(edit_of(R"({"enable":true,"cpuReclaimThresholdPercent":-1,"degradeTimeMinutes":0})",
                                   "schema: 1\nmode: sometimes\npools: [{name: \"\"}]\n"),
                           etag());
  ASSERT_EQ(answer.status, 400) << answer.body;
  const Json body = body_of(answer);
  EXPECT_EQ(body.text_at("type"), "urn:tidemark:problem:invalid-settings");
  std::map<std::string, std::string> places;
  for (const Json& each : body.member("errors")->as_array()) {
    places[cat(each.text_at("configMap"), " ", each.text_at("key"), " ", each.text_at("place"))] =
        each.text_at("detail");
  }
  EXPECT_TRUE(places.contains("slo-controller-config colocation-config cpuReclaimThresholdPercent")) << answer.body;
  EXPECT_TRUE(places.contains("slo-controller-config colocation-config degradeTimeMinutes")) << answer.body;
  EXPECT_TRUE(places.contains("tidemark-config config.yaml mode")) << answer.body;
  EXPECT_GE(places.size(), 4u) << answer.body;
  EXPECT_EQ(stored(kSlo, "colocation-config"), kColocation);
}

TEST_F(ConsoleSettings, MistakeInUnchangedMapDoesNotBlockEditOfTheOther) {
  change(kSlo, {{"colocation-config", R"({"cpuReclaimThresholdPercent":-1})"}});
  serve();
  const auto answer = edit(edit_of(R"({"cpuReclaimThresholdPercent":-1})", "schema: 1\nmode: observe\n"), etag());
  EXPECT_NE(answer.status, 412);
  EXPECT_EQ(answer.body.find("errors"), std::string::npos) << answer.body;
}

TEST_F(ConsoleSettings, EditOfBothMapsIsOneRevisionToTheManager) {
  const SettingsTexts now{{{"colocation-config", std::string(kColocation)}}, std::string(kPools)};
  store_revisions({}, now);
  serve();
  const auto answer = edit(edit_of(R"({"enable":true})", "schema: 1\nmode: observe\n"), etag());
  ASSERT_EQ(answer.status, 200) << answer.body;
  const auto request = policy::settings::decode_request(stored("tidemark-config-revisions", "request"));
  ASSERT_TRUE(request);
  EXPECT_EQ(request->verb, policy::settings::RolloutRequest::Verb::kTake);
  EXPECT_EQ(request->revision, body_of(answer).text_at("hash"));
  EXPECT_FALSE(request->at_once);
}

TEST_F(ConsoleSettings, UndoesToARevision) {
  const SettingsTexts now{{{"colocation-config", std::string(kColocation)}}, std::string(kPools)};
  SettingsTexts first = now;
  first.tidemark = "schema: 1\nmode: observe\n";
  store_revisions(first, now);
  serve();
  const auto shown = write("/api/v1/settings/undo", R"({"to":1,"dryRun":true})");
  ASSERT_EQ(shown.status, 200) << shown.body;
  EXPECT_NE(body_of(shown).member("changes")->as_array().at(0).text_at("diff").find("observe"), std::string::npos);
  EXPECT_EQ(stored(kTidemark, "config.yaml"), kPools);
  const auto undone = write("/api/v1/settings/undo", R"({"to":1,"reason":"too much"})");
  ASSERT_EQ(undone.status, 200) << undone.body;
  EXPECT_EQ(body_of(undone).member("written")->get_bool(), true);
  EXPECT_EQ(stored(kTidemark, "config.yaml"), *first.tidemark);
  EXPECT_EQ(write("/api/v1/settings/undo", R"({"to":9,"reason":"x"})").status, 404);
}

TEST_F(ConsoleSettings, PauseAndResumeLeaveRequests) {
  const SettingsTexts now{{{"colocation-config", std::string(kColocation)}}, std::string(kPools)};
  store_revisions({}, now);
  serve();
  const auto request = [&] {
    return *policy::settings::decode_request(stored("tidemark-config-revisions", "request"));
  };
  EXPECT_EQ(write("/api/v1/settings/pause", R"({"reason":"look first","lastsSeconds":3600})").status, 200);
  EXPECT_EQ(request().verb, policy::settings::RolloutRequest::Verb::kHold);
  EXPECT_TRUE(request().until.has_value());
  EXPECT_EQ(write("/api/v1/settings/resume", R"({"reason":"fine","now":true})").status, 200);
  EXPECT_EQ(request().verb, policy::settings::RolloutRequest::Verb::kResume);
  EXPECT_TRUE(request().at_once);
}

TEST_F(ConsoleSettings, OverridesTheLineAndEndsTheOverride) {
  serve();
  const auto given = write("/api/v1/overrides", R"({"cpuPercent":40,"lastsSeconds":3600,"reason":"a fire drill"})");
  ASSERT_EQ(given.status, 200) << given.body;
  EXPECT_EQ(body_of(given).text_at("effect"), "set");
  EXPECT_EQ(body_of(given).text_at("override", "by"), "ann");
  EXPECT_NE(stored("tidemark-state", "overrides.json").find("a fire drill"), std::string::npos);
  const auto ended = write("/api/v1/overrides", R"({"clear":true,"reason":"over"})");
  ASSERT_EQ(ended.status, 200) << ended.body;
  EXPECT_EQ(stored("tidemark-state", "overrides.json").find("a fire drill"), std::string::npos);
}

TEST_F(ConsoleSettings, RefusesWrongBodiesWithTheField) {
  serve();
  const auto field = [&](std::string_view path, std::string body) {
    const auto answer = write(path, std::move(body));
    EXPECT_EQ(answer.status, 400) << answer.body;
    return std::string(body_of(answer).text_at("field"));
  };
  EXPECT_EQ(field("/api/v1/settings/undo", R"({"to":-1,"reason":"x"})"), "to");
  EXPECT_EQ(field("/api/v1/settings/undo", "{}"), "reason");
  EXPECT_EQ(field("/api/v1/settings/pause", R"({"lastsSeconds":0,"reason":"x"})"), "lastsSeconds");
  EXPECT_EQ(field("/api/v1/settings/resume", R"({"later":true,"reason":"x"})"), "later");
  EXPECT_EQ(field("/api/v1/overrides", R"({"cpuPercent":101,"lastsSeconds":60,"reason":"x"})"), "cpuPercent");
  EXPECT_EQ(field("/api/v1/overrides", R"({"cpuPercent":10,"reason":"x"})"), "lastsSeconds");
  EXPECT_EQ(field("/api/v1/overrides", R"({"clear":true,"memoryPercent":3,"reason":"x"})"), "memoryPercent");
  EXPECT_EQ(field("/api/v1/pools/web/resume", R"({"now":true,"reason":"x"})"), "now");
  EXPECT_EQ(write("/api/v1/pools/web/resume", R"({"reason":"x"})").status, 404) << "no manager stored budgets";

  constexpr std::string_view kChanges = "/api/v1/settings/text-changes";
  EXPECT_EQ(field(kChanges, R"({"text":"a: 1","changes":[{"at":["a"],"value":2},{"at":[]}]})"), "changes[1].at");
  EXPECT_EQ(field(kChanges, R"({"text":"a: 1","changes":[{"at":["a",-1]}]})"), "changes[0].at");
  EXPECT_EQ(field(kChanges, R"({"text":"a: [1","changes":[]})"), "text");
  EXPECT_EQ(field(kChanges, R"({"changes":[]})"), "text");

  const Json good = edit_of(kColocation, kPools);
  EXPECT_EQ(edit(good, "").status, 428);
  EXPECT_EQ(edit(good, "*").status, 428);
  Json other = good;
  other["texts"]["kube-root-ca.crt"] = Json::object();
  EXPECT_EQ(body_of(edit(other, etag())).text_at("field"), "texts.kube-root-ca.crt");
  other = good;
  other["texts"][kTidemark]["more.yaml"] = Json("x");
  EXPECT_EQ(body_of(edit(other, etag())).text_at("field"), "texts.tidemark-config.more.yaml");
}

TEST_F(ConsoleSettings, ChangesATextWithoutStoringIt) {
  serve();
  const auto answer =
      write("/api/v1/settings/text-changes",
            R"({"text":"# ours\nschema: 1\nmode: enforce\n","changes":[{"at":["mode"],"value":"observe"}]})");
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(body_of(answer).text_at("text"), "# ours\nschema: 1\nmode: observe\n");
  EXPECT_EQ(body_of(answer).text_at("value", "mode"), "observe");
  EXPECT_EQ(stored(kTidemark, "config.yaml"), kPools);
}

TEST_F(ConsoleSettings, ShowsTheWeekOfATextThatIsNotStored) {
  serve();
  constexpr std::string_view kCalendar = "/api/v1/calendar";
  const auto preview = [&](std::string_view percent) {
    const std::string text =
        cat("schema: 1\nmode: observe\ncalendar: c\ncalendars:\n- name: c\n  zone: UTC\n  entries:\n"
            "  - {name: night, cron: \"0 22 * * *\", for: 8h, cpu: ",
            percent, "}\n");
    return write(kCalendar, Json::object({{"pool", "default"}, {"text", Json(text)}}).dump());
  };
  const auto answer = preview("80");
  ASSERT_EQ(answer.status, 200) << answer.body;
  const Json week = body_of(answer);
  EXPECT_EQ(week.text_at("calendar"), "c");
  EXPECT_EQ(week.member("entries")->as_array().size(), 1u);
  EXPECT_EQ(body_of(get(cat(kCalendar, "?pool=default"))).text_at("calendar"), "") << "the stored one has none";
  EXPECT_EQ(body_of(preview("180")).text_at("field"), "text");
  EXPECT_EQ(write(kCalendar, R"({"pool":"nowhere","text":"schema: 1\nmode: observe"})").status, 404);
}

TEST_F(ConsoleSettings, WritesNothingWithoutPerson) {
  serve(false);
  EXPECT_EQ(get(kTexts).status, 200);
  EXPECT_EQ(edit(edit_of(R"({"enable":false})", kPools), etag()).status, 403);
  EXPECT_EQ(write("/api/v1/overrides", R"({"cpuPercent":40,"lastsSeconds":60,"reason":"x"})").status, 403);
  EXPECT_EQ(stored(kSlo, "colocation-config"), kColocation);
}

}  // namespace
}  // namespace tidemark::console
