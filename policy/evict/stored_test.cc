// The next agent reads what this one knew, and does not act on the state of another boot.
#include "policy/evict/stored.h"

#include <gtest/gtest.h>

#include <chrono>
#include <limits>
#include <string>

#include "base/text.h"

namespace tidemark::policy::evict {
namespace {

using namespace std::chrono_literals;
using base::MonotonicTime;

constexpr MonotonicTime kNow{3h};

Leaving leaving(std::string task, EvictStage stage) {
  Leaving out;
  out.task = std::move(task);
  out.stage = stage;
  out.feature = EvictFeature::kBeMemory;
  out.reason = model::Reason::kEvictMemoryLine;
  out.asked = out.since = kNow + -20s;
  out.deadline = kNow + 10s;
  return out;
}

TEST(StoredEvictions, RoundTrips) {
  EvictState state;
  state.hour = {kNow + -40min, kNow + -20s};
  state.cpu_not_before = kNow;
  state.memory_not_before = kNow + 4s;
  state.pressure_not_before = kNow + 15s;
  state.disk_not_before = kNow + 60s;
  state.leaving = {leaving("kubernetes/a", EvictStage::kLeaving), leaving("kubernetes/b", EvictStage::kForbidden),
                   leaving("kubernetes/c", EvictStage::kSpared), leaving("yarn/d", EvictStage::kKilled)};
  state.leaving[0].counted = kNow + -20s;
  state.leaving[0].ends = base::WallTime{1'763'841'600s};
  state.leaving[0].lost_core_seconds = 600;
  state.leaving[3].killed = state.leaving[3].unreachable = true;
  EXPECT_EQ(decode_evictions(encode_evictions(state, "b1"), "b1").value(), state);
}

TEST(StoredEvictions, UnansweredTaskCountsAndIsAskedAgain) {
  EvictState state;
  state.hour = {kNow};
  state.leaving = {leaving("kubernetes/a", EvictStage::kAsked)};
  const EvictState read = decode_evictions(encode_evictions(state, "b1"), "b1").value();
  EXPECT_EQ(read.hour, state.hour);
  ASSERT_EQ(read.leaving.size(), 1U);
  EXPECT_EQ(read.leaving[0].stage, EvictStage::kForbidden);
  EXPECT_TRUE(read.leaving[0].unreachable) << "an answer may still come: that it is listed as ending";
  EXPECT_GE(kNow - read.leaving[0].since, kForbiddenPause) << "it may be asked at once";
  EXPECT_EQ(decode_evictions(encode_evictions(read, "b1"), "b1").value(), read);
}

TEST(StoredEvictions, IgnoresEvictionsOfAnotherBoot) {
  EvictState state;
  state.hour = {kNow};
  const auto read = decode_evictions(encode_evictions(state, "b1"), "b2");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(decode_evictions(encode_evictions(state, ""), "")) << "the boot is unknown";
}

TEST(StoredEvictions, RefusesInvalidTextAndNamesTheFault) {
  const auto refused = [](std::string_view text) {
    const auto read = decode_evictions(text, "b1");
    return read ? "it was read" : read.error().message;
  };
  EXPECT_NE(refused(R"({"schema":2,"boot":"b1"})").find("schema 2"), std::string::npos);
  EXPECT_NE(refused(R"({"schema":1,"boot":"b1","hour":[-1]})").find("negative time"), std::string::npos);
  EXPECT_NE(refused("{").find("byte"), std::string::npos);
  const auto with = [&](std::string_view one) {
    return refused(base::cat(R"({"schema":1,"boot":"b1","leaving":[)", one, "]}"));
  };
  EXPECT_NE(with(R"({"task":"","stage":"leaving","feature":"BECPUEvict","reason":"TM-EVICT-001"})").find("no name"),
            std::string::npos);
  EXPECT_NE(with(R"({"task":"a","stage":"told","feature":"BECPUEvict","reason":"TM-EVICT-001"})").find("no stage"),
            std::string::npos);
  EXPECT_NE(with(R"({"task":"a","stage":"leaving","feature":"Any","reason":"TM-EVICT-001"})").find("no feature"),
            std::string::npos);
  EXPECT_NE(with(R"({"task":"a","stage":"leaving","feature":"BECPUEvict","reason":"TM-X"})").find("no reason"),
            std::string::npos);
  const std::string one = R"({"task":"a","stage":"leaving","feature":"BECPUEvict","reason":"TM-EVICT-001"})";
  EXPECT_NE(with(one + "," + one).find("twice"), std::string::npos);
}

TEST(StoredEvictions, RefusesTooManyEntries) {
  const auto many = [](std::size_t count, std::string_view each) {
    std::string out;
    for (std::size_t i = 0; i < count; ++i) out += base::cat(i == 0 ? "" : ",", each);
    return out;
  };
  EXPECT_TRUE(decode_evictions(base::cat(R"({"schema":1,"boot":"b1","hour":[)", many(1024, "5"), "]}"), "b1"));
  EXPECT_FALSE(decode_evictions(base::cat(R"({"schema":1,"boot":"b1","hour":[)", many(1025, "5"), "]}"), "b1"));
  EXPECT_FALSE(decode_evictions(std::string(kEvictStoredBytesMax + 1, ' '), "b1"));
}

TEST(StoredEvictions, StartingAgentPauses) {
  EvictState state;
  EXPECT_EQ(evict_state_after(state, kNow).cpu_not_before, kNow + kCpuEvictPause);
  state.cpu_not_before = kNow + 1h;
  EXPECT_EQ(evict_state_after(state, kNow).cpu_not_before, kNow + 1h) << "evict() cuts what is too long";
}

TEST(StoredEvictions, ContinuesFromAnyTimes) {
  const std::string most = std::to_string(std::numeric_limits<std::int64_t>::max());
  const auto read = decode_evictions(base::cat(R"({"schema":1,"boot":"b1","hour":[)", most,
                                               R"(],"leaving":[{"task":"a","stage":"leaving","feature":"BECPUEvict",)",
                                               R"("reason":"TM-EVICT-001","asked":)", most, R"(,"since":)", most,
                                               R"(,"deadline":)", most, R"(,"counted":)", most, "}]}"),
                                     "b1");
  ASSERT_TRUE(read) << read.error().message;
  const NodeSeen node;
  const protect::NodeRules rules;
  EXPECT_TRUE(evict(evict_state_after(*read, kNow), {node, {}, {}, 0, true}, rules, {}, kNow, {}).plan.orders.empty());
}

}  // namespace
}  // namespace tidemark::policy::evict
