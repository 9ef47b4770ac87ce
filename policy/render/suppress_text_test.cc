#include "policy/render/suppress_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy {
namespace {

using model::CpuMilli;
using model::Reason;

SuppressPlan suppress_example() {
  SuppressPlan plan;
  plan.reason = Reason::kSuppressSlewed;
  SuppressRoom room;
  room.capacity = {64'000};
  room.line_percent = 65;
  room.line = {41'600};
  room.online_pods = {10'000};
  room.measured_system = {1000};
  room.reserved = {2000};
  room.room = {29'600};
  room.least = CpuMilli{6400};
  plan.room = room;
  plan.policy = SuppressPolicy::kCfsQuota;
  plan.quota_us = 642'000;
  plan.wanted = 2'960'000;
  plan.found = 2000;
  plan.classes = {{"spark", 30, 1, {1000}, {1250}, {900}, true, 125}};
  return plan;
}

TEST(SuppressText, ShowsTheLimitInForceAndItsReason) {
  EXPECT_EQ(suppress_text({}),
            "cpu of offline work: suppression is switched off for this node "
            "[TM-SUPPRESS-001]. No limit is in force.\n");
  EXPECT_EQ(
      suppress_text(suppress_example()),
      "cpu of offline work: more is left under the threshold; the limit rises in steps [TM-SUPPRESS-004]. 64000m × 65 "
      "% = 41600m, less 10000m of online pods, 0m of online host applications and 2000m of the system (measured "
      "1000m, reserved 2000m), leaves 29600m (at least 6400m); offline work uses 0m. It has 642000 us in 100 ms, "
      "before 2000 us in 100 ms, wanted 2960000 us in 100 ms.\n"
      "  spark: 1 task uses 1000m, wants 1250m, has 900m; cut: the least timely class of offline work is suppressed "
      "first [TM-SUPPRESS-009]; satisfied by 12.5 %\n");
  SuppressPlan kept;
  kept.reason = Reason::kSuppressUnknown;
  kept.holds = true;
  kept.policy = SuppressPolicy::kCpuset;
  kept.cpus = {0, 1, 2, 8};
  EXPECT_EQ(suppress_text(kept),
            "cpu of offline work: a required measurement is missing: the limit in force stays [TM-SUPPRESS-006]. "
            "It keeps 4 processors (0-2,8).\n");
}

TEST(SuppressText, RendersJson) {
  EXPECT_EQ(suppress_json(suppress_example()).dump(),
            R"({"reason":{"id":"TM-SUPPRESS-004","text":"more is left under the threshold; the limit rises in steps"},)"
            R"("holds":false,"room":{"capacityMilli":64000,"linePercent":65,"lineMilli":41600,"onlinePodsMilli":10000,)"
            R"("onlineApplicationsMilli":0,"offlineMilli":0,"systemMeasuredMilli":1000,"reservedMilli":2000,)"
            R"("roomMilli":29600,"leastMilli":6400},"policy":"cfsQuota","quotaMicroseconds":642000,"wanted":2960000,)"
            R"("found":2000,"classes":[{"class":"spark","tasks":1,"usedMilli":1000,"wantsMilli":1250,)"
            R"("shareMilli":900,"cut":true,"satisfactionPermille":125}]})");
  SuppressPlan cpus;
  cpus.policy = SuppressPolicy::kCpuset;
  cpus.cpus = {0, 1, 5};
  cpus.candidates = 7;
  EXPECT_EQ(suppress_json(cpus).at("cpus")->as_string(), "0-1,5");
  EXPECT_EQ(*suppress_json(cpus).member("room"), Json(nullptr));
}

}  // namespace
}  // namespace tidemark::policy
