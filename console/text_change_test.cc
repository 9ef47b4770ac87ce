#include "console/text_change.h"

#include <gtest/gtest.h>

#include <string>

#include "base/yaml.h"

namespace tidemark::console {
namespace {

// Each line that a change does not concern stays, with its comment.
constexpr const char* kText = R"(# by the night team
schema: 1
calendars:   # one for each site
- name: nights
  zone: UTC
  entries:
  # agreed with Ann
  - {name: night, cron: "0 22 * * *", for: 8h, cpu: 80}   # until March
  - name: sale
    kind: freeze
    from: 2026-11-10T18:00
    to: 2026-11-12T06:00

pools:
- name: web     # all of them
  nodeSelector: {matchLabels: {role: web}}
- {name: night, nodeSelector: {}}
)";

std::string changed(const TextPlace& at, std::optional<Json> value, const char* text = kText) {
  const auto out = change_text(text, {{at, std::move(value)}});
  if (!out) return out.error().message;
  const auto read = base::parse_yaml(out->text);
  EXPECT_TRUE(read && *read == out->value) << out->text;
  return out->text;
}

std::string with(std::string_view from, std::string_view to) {
  std::string out = kText;
  const auto at = out.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return out.replace(at, from.size(), to);
}

TEST(TextChange, ReplacesAnItemInOneLine) {
  const Json night = Json::object({{"name", "night"}, {"cron", "30 22 * * *"}, {"for", "8h"}, {"cpu", 75}});
  EXPECT_EQ(changed({"calendars", 0u, "entries", 0u}, night),
            with("{name: night, cron: \"0 22 * * *\", for: 8h, cpu: 80}   # until March",
                 "{name: night, cron: \"30 22 * * *\", for: 8h, cpu: 75}"));
}

TEST(TextChange, ReplacesAnItemOfSeveralLines) {
  const Json sale = Json::object({{"name", "sale"}, {"kind", "freeze"}, {"cpu", 0}});
  EXPECT_EQ(changed({"calendars", 0u, "entries", 1u}, sale),
            with("- name: sale\n    kind: freeze\n    from: 2026-11-10T18:00\n    to: 2026-11-12T06:00\n",
                 "- {name: sale, kind: freeze, cpu: 0}\n"));
}

TEST(TextChange, AddsAnItemBehindTheLastAndBeforeTheBlankLine) {
  const Json day = Json::object({{"name", "rest, days"}, {"on", "holidays"}, {"cpu", 60}});
  EXPECT_EQ(changed({"calendars", 0u, "entries", 2u}, day),
            with("06:00\n", "06:00\n  - {name: \"rest, days\", on: holidays, cpu: 60}\n"));
}

TEST(TextChange, AddsTheFirstItemOfAListInOneLine) {
  const Json night = Json::object({{"name", "night"}, {"cron", "0 22 * * 5"}, {"rampUp", "30m"}});
  EXPECT_EQ(changed({"c", 0u, "entries", 0u}, night, "c:  # all\n- name: n\n  entries: []\nd: 1  # last\n"),
            "c:  # all\n- name: n\n  entries:\n  - {name: night, cron: \"0 22 * * 5\", rampUp: 30m}\nd: 1  # last\n");
}

TEST(TextChange, RemovesAnItem) {
  EXPECT_EQ(changed({"calendars", 0u, "entries", 0u}, std::nullopt),
            with("  - {name: night, cron: \"0 22 * * *\", for: 8h, cpu: 80}   # until March\n", ""));
}

TEST(TextChange, AddsAMemberToAMappingAndToTheTop) {
  EXPECT_EQ(changed({"pools", 0u, "calendar"}, Json("nights")),
            with("{matchLabels: {role: web}}\n", "{matchLabels: {role: web}}\n  calendar: nights\n"));
  EXPECT_EQ(changed({"mode"}, Json("observe")), std::string(kText) + "mode: observe\n");
  EXPECT_EQ(changed({"calendars", 0u, "holidays"}, Json::object({{"days", Json::array({"2026-10-01"})}})),
            with("06:00\n", "06:00\n  holidays:\n    days:\n    - 2026-10-01\n"));
}

TEST(TextChange, WritesTheItemAnewIfAMemberIsInItsFirstLine) {
  EXPECT_EQ(changed({"pools", 0u, "name"}, Json("shop")),
            with("- name: web     # all of them\n  nodeSelector: {matchLabels: {role: web}}\n",
                 "- name: shop\n  nodeSelector:\n    matchLabels: {role: web}\n"));
  EXPECT_EQ(changed({"pools", 1u, "calendar"}, Json("none")),
            with("- {name: night, nodeSelector: {}}\n", "- name: night\n  nodeSelector: {}\n  calendar: none\n"));
}

TEST(TextChange, WritesAListAnewThatIsInOneLineOrBecomesEmpty) {
  EXPECT_EQ(changed({"a", 1u}, Json(5), "# first\na: [1, 2]  # two\nb: 3  # last\n"),
            "# first\na:\n- 1\n- 5\nb: 3  # last\n");
  EXPECT_EQ(changed({"a", 0u}, std::nullopt, "a:\n- 1\nb: 3  # last\n"), "a: []\nb: 3  # last\n");
}

TEST(TextChange, KeepsTheMeaningOfAnchors) {
  const std::string text = "base: &base {cpu: 80, memory: 70}\na: *base\nb: *base\n";
  const auto out = change_text(text, {{{"base", "cpu"}, Json(10)}});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->value.at("a", "cpu")->as_int(), 80);
  EXPECT_EQ(*base::parse_yaml(out->text), out->value);
}

TEST(TextChange, ChangesJsonAndAnEmptyText) {
  EXPECT_EQ(changed({"a", 0u}, Json(2), R"({"a":[1],"b":true})"), R"({"a":[2],"b":true})");
  EXPECT_EQ(changed({"schema"}, Json(1), ""), "schema: 1\n");
  EXPECT_EQ(changed({"schema"}, Json(1), "# nothing yet\n"), "# nothing yet\nschema: 1\n");
}

TEST(TextChange, RefusesPlacesThatDoNotExistAndTextThatIsNoYaml) {
  EXPECT_EQ(changed({"calendars", 3u, "entries", 0u}, Json(1)),
            "calendars[3].entries[0]: there is no such place in the text");
  EXPECT_EQ(changed({"calendars", 2u}, Json(1)), "calendars[2]: the list has 1 items");
  EXPECT_EQ(changed({"calendars", 1u}, std::nullopt), "calendars[1]: the list has 1 items");
  EXPECT_EQ(changed({"schema", "deeper"}, Json(1)), "schema.deeper: there is no such place in the text");
  EXPECT_NE(changed({"a"}, Json(1), "a: [1\nb: 2\n").find("line 2"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::console
