#include "gateway/routes.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/text.h"

namespace tidemark::gateway {
namespace {

using policy::route::RouteRules;
using policy::route::Side;

Result<RouteRules> routes(std::string_view yaml) {
  const auto zone_of = [](const std::string& name) -> Result<model::TimeZone> {
    if (name != "Europe/Berlin") return fail(ErrorKind::kInvalid, "unknown time zone ", base::in_quotes(name));
    return model::TimeZone::from_spans(name, {{.from_s = std::numeric_limits<std::int64_t>::min(), .offset_s = 3600}});
  };
  RouteRules defaults;
  defaults.kubernetes_percent = 30;
  defaults.kubernetes_waiting_max = 7;
  return parse_routes(yaml, defaults, zone_of);
}

TEST(Routes, ReadsShareCapAndRules) {
  const auto rules = routes(R"(schema: 1
kubernetesPercent: 20
ownerKeepsPercent: 10
yarnWaitMax: 15m
rules:
- {business: ads, queue: night, namePrefix: report-, side: kubernetes, ban: true}
- {side: yarn, from: "22:00", to: "07:30", days: [mon, sun], timeZone: Europe/Berlin}
- {side: yarn, from: "00:00", to: "24:00"}
)");
  ASSERT_TRUE(rules) << rules.error().message;
  EXPECT_EQ(rules->kubernetes_percent, 20);
  EXPECT_EQ(rules->kubernetes_waiting_max, 7) << "of the flag";
  EXPECT_EQ(rules->owner_keeps_percent, 10);
  EXPECT_EQ(rules->yarn_wait_max, std::chrono::minutes(15));
  ASSERT_EQ(rules->rules.size(), 3U);
  const auto& ban = rules->rules[0];
  EXPECT_EQ(ban.business, "ads");
  EXPECT_EQ(ban.queue, "night");
  EXPECT_EQ(ban.name_prefix, "report-");
  EXPECT_EQ(ban.side, Side::kKubernetes);
  EXPECT_TRUE(ban.ban);
  EXPECT_FALSE(ban.window);
  EXPECT_EQ(ban.label,
            R"(rules[0] {"business":"ads","queue":"night","namePrefix":"report-","side":"kubernetes","ban":true})");
  const auto& pin = rules->rules[1];
  EXPECT_FALSE(pin.ban);
  ASSERT_TRUE(pin.window);
  EXPECT_EQ(pin.window->from_minute, 22 * 60);
  EXPECT_EQ(pin.window->to_minute, 7 * 60 + 30);
  EXPECT_EQ(pin.window->days.to_string(), "0000011") << "Sunday is the lowest bit";
  EXPECT_EQ(pin.window->zone.name(), "Europe/Berlin");
  ASSERT_TRUE(rules->rules[2].window);
  EXPECT_TRUE(rules->rules[2].window->days.all());
  EXPECT_EQ(rules->rules[2].window->zone.local(0), 0) << "UTC";
}

// Each row: a text after `schema: 1`, and what the error says.
TEST(Routes, ErrorsNameTheirPlace) {
  struct Row {
    std::string_view text;
    std::string_view error;
  };
  constexpr Row kRows[] = {
      {"percent: 3", "top level: unknown key \"percent\""},
      {"kubernetesPercent: 101", "kubernetesPercent: a number from 0 to 100 is expected, found 101"},
      {"kubernetesWaitingMax: 0", "kubernetesWaitingMax: a number from 1 to"},
      {"ownerKeepsPercent: 101", "ownerKeepsPercent: a number from 0 to 100 is expected, found 101"},
      {"yarnWaitMax: 15", "yarnWaitMax: a duration from \"0s\" to \"168h\" is expected, found 15"},
      {"yarnWaitMax: 169h", "yarnWaitMax: a duration from"},
      {"yarnWaitMax: -1m", "yarnWaitMax: a duration from"},
      {"rules: yarn", "rules: a list"},
      {"rules: [yarn]", "rules[0]: an object is expected"},
      {"rules: [{side: yarn}, {side: yarn, que: x}]", "rules[1]: unknown key \"que\""},
      {"rules: [{business: ads}]", "rules[0].side is required"},
      {"rules: [{side: hadoop}]", "rules[0].side: kubernetes or yarn is expected, found \"hadoop\""},
      {"rules: [{side: yarn, business: ''}]", "rules[0].business: a text of at most 255 bytes is expected"},
      {"rules: [{side: yarn, ban: yes}]", "rules[0].ban: true or false is expected"},
      {"rules: [{side: yarn, side: yarn}]", "side"},
      {"rules: [{side: yarn, from: '22:00'}]", "rules[0]: a window needs both from and to"},
      {"rules: [{side: yarn, days: [mon]}]", "rules[0]: a window needs both from and to"},
      {"rules: [{side: yarn, from: '22:00', to: '22:00'}]", "rules[0]: the window is empty"},
      {"rules: [{side: yarn, from: '24:00', to: '07:00'}]", "rules[0]: the window is empty"},
      {"rules: [{side: yarn, from: '9:00', to: '10:00'}]", "rules[0].from: a time from"},
      {"rules: [{side: yarn, from: '09:00', to: '24:01'}]", "rules[0].to: a time from"},
      {"rules: [{side: yarn, from: '09:00', to: '10:60'}]", "rules[0].to: a time from"},
      {"rules: [{side: yarn, from: '09:00', to: '10:00', days: []}]", "rules[0].days: a list of days"},
      {"rules: [{side: yarn, from: '09:00', to: '10:00', days: [monday]}]", "rules[0].days: mon, tue"},
      {"rules: [{side: yarn, from: '09:00', to: '10:00', days: [mon, mon]}]", "rules[0].days: mon is given twice"},
      {"rules: [{side: yarn, from: '09:00', to: '10:00', timeZone: Mars}]", "rules[0].timeZone: unknown time zone"},
  };
  for (const Row& row : kRows) {
    const auto rules = routes(base::cat("schema: 1\n", row.text, "\n"));
    ASSERT_FALSE(rules) << row.text;
    EXPECT_TRUE(rules.error().message.contains(row.error)) << row.text << ": " << rules.error().message;
  }
  EXPECT_FALSE(routes(""));
  EXPECT_FALSE(routes("schema: 2\n"));
}

}  // namespace
}  // namespace tidemark::gateway
