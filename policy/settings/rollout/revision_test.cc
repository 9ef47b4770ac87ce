#include "policy/settings/rollout/revision.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"
#include "policy/settings/rollout/stored.h"

namespace tidemark::policy::settings {
namespace {

using base::cat;

const base::WallTime kRevisionStart{std::chrono::hours(24 * 365 * 50)};

SettingsTexts texts(std::string colocation, std::optional<std::string> tidemark = std::nullopt) {
  return {{{"colocation-config", std::move(colocation)}}, std::move(tidemark)};
}

TEST(RevisionHash, IsTheSameInEveryVersion) {
  // Nodes carry it: a new version of this program must not make them all look old.
  EXPECT_EQ(hash_of({}), "cbf29ce484222325");
  EXPECT_EQ(hash_of(texts(R"({"enable":true})")), "9902d7ef9ec2417d");
}

TEST(RevisionHash, DiffersForDifferentTexts) {
  EXPECT_NE(hash_of(texts("a")), hash_of(texts("b")));
  EXPECT_NE(hash_of(texts("a")), hash_of(texts("a", "")));
  EXPECT_NE(hash_of(texts("")), hash_of({}));
  EXPECT_NE(hash_of({{{"a", "b=1:c"}}, {}}), hash_of({{{"a", ""}, {"b", "c"}}, {}}));
}

TEST(OnlySwitchesOff, TheOneSwitchAndNothingElse) {
  const auto on = texts(R"({"enable": true, "cpuReclaimThresholdPercent": 60})", "schema: 1");
  const auto off = [&](std::string text) { return only_switches_off(on, texts(std::move(text), "schema: 1")); };
  EXPECT_TRUE(off(R"({"cpuReclaimThresholdPercent":60,"enable":false})"));
  EXPECT_FALSE(off(R"({"enable":false})"));
  EXPECT_FALSE(off(R"({"enable":false,"cpuReclaimThresholdPercent":61})"));
  EXPECT_FALSE(off(R"({"enable": true, "cpuReclaimThresholdPercent": 60})"));
  EXPECT_FALSE(off("not JSON"));
  EXPECT_FALSE(off("[]"));
  EXPECT_FALSE(only_switches_off(on, texts(R"({"enable":false,"cpuReclaimThresholdPercent":60})", "schema: 2")));
  EXPECT_FALSE(only_switches_off(on, {}));
  EXPECT_FALSE(only_switches_off(texts(R"({"enable":false})"), texts(R"({"enable":true})"))) << "on is not off";
  auto another = on;
  another.slo["colocation-config"] = R"({"enable":false,"cpuReclaimThresholdPercent":60})";
  another.slo["system-config"] = "{}";
  EXPECT_FALSE(only_switches_off(on, another));
}

TEST(RevisionBooks, KeepsTheLastTenAndThoseInUse) {
  RevisionBook book;
  const std::string first = hash_of(texts("0"));
  const std::vector<std::string> needed{first};
  for (int i = 0; i < 25; ++i) book = with_revision(std::move(book), texts(cat(i)), needed, kRevisionStart);
  ASSERT_EQ(book.size(), kRevisionsMax);
  EXPECT_EQ(book.front().hash, first);
  EXPECT_EQ(book.front().number, 1);
  EXPECT_EQ(book[1].number, 17);
  EXPECT_EQ(book.back().number, 25);
}

TEST(RevisionBooks, ReturningTextGetsANewNumber) {
  RevisionBook book;
  for (const char* text : {"a", "b", "c"}) book = with_revision(std::move(book), texts(text), {}, kRevisionStart);
  book[0].completed = true;
  const auto same = with_revision(book, texts("c"), {}, kRevisionStart + std::chrono::hours(1));
  EXPECT_EQ(same, book);
  book = with_revision(std::move(book), texts("a"), {}, kRevisionStart);
  ASSERT_EQ(book.size(), 3U);
  EXPECT_EQ(book.front().number, 2);
  EXPECT_EQ(book.back().number, 4);
  EXPECT_TRUE(book.back().completed) << "it was in force everywhere once";
  EXPECT_EQ(book.back().hash, hash_of(texts("a")));
}

TEST(RevisionBooks, StaysWithinItsBytes) {
  RevisionBook book;
  for (int i = 0; i < 10; ++i) {
    book = with_revision(std::move(book), texts(cat(i, std::string(200 * 1024, '"'))), {},
                         kRevisionStart);  // twice as long when stored
    std::size_t bytes = 0;
    for (const auto& revision : book) bytes += stored_bytes(revision);
    EXPECT_LE(bytes, kRevisionBytesMax);
    ASSERT_FALSE(book.empty());
    EXPECT_EQ(book.back().number, i + 1);
  }
  EXPECT_EQ(book.size(), 1U);
  const std::vector<std::string> needed{book.back().hash};
  EXPECT_FALSE(fits(book, texts(std::string(200 * 1024, '"')), needed));
  EXPECT_TRUE(fits(book, texts(std::string(200 * 1024, '"')), {}));
  EXPECT_TRUE(fits(book, texts("small"), needed));
  const auto huge = with_revision(book, texts(std::string(900 * 1024, 'x')), needed, kRevisionStart);
  EXPECT_EQ(huge, book) << "one that is too large by itself is not kept";
}

// ---- stored ----

std::map<std::string, std::string, std::less<>> data_of(const RevisionBook& book, const RolloutState& state) {
  std::map<std::string, std::string, std::less<>> data;
  for (const auto& [key, text] : stored_changes({}, book, state)) {
    if (text) data[key] = *text;
  }
  return data;
}

RolloutState busy() {
  RolloutState state;
  state.layers = {{hash_of(texts("a")), kAllNodes, kAllNodes},
                  {hash_of(texts("b", "schema: 1")), kAllNodes, order_of("n7")}};
  state.phase = Phase::kFleet;
  state.began = kRevisionStart;
  state.looked = kRevisionStart + std::chrono::milliseconds(1500);
  state.soaked = std::chrono::minutes(3);
  state.grants = {{kRevisionStart, 3}, {kRevisionStart + std::chrono::seconds(5), 8}};
  state.baselines = {{"night", 4}};
  state.hold = Hold{model::Reason::kRolloutEvictionSpike, kRevisionStart, std::nullopt, "night", 31, 12};
  state.request = "r-1";
  return state;
}

RevisionBook two() {
  RevisionBook book;
  book = with_revision(std::move(book), texts("a"), {}, kRevisionStart);
  book = with_revision(std::move(book), texts("b", "schema: 1"), {}, kRevisionStart + std::chrono::seconds(1));
  book[0].completed = true;
  return book;
}

TEST(StoredRollout, ReadsWhatItWrote) {
  const auto stored = decode_stored(data_of(two(), busy()));
  EXPECT_EQ(stored.problem, "");
  EXPECT_EQ(stored.book, two());
  EXPECT_EQ(stored.state, busy());
  EXPECT_FALSE(stored.request);
  EXPECT_TRUE(stored_changes(stored, two(), busy()).empty());
}

TEST(StoredRollout, WritesNothingAgainOfATimeThatIsFinerThanWhatIsStored) {
  auto book = with_revision({}, texts("a"), {}, kRevisionStart);
  book = with_revision(std::move(book), texts("b", "schema: 1"), {},
                       kRevisionStart + std::chrono::nanoseconds(581'707'123));
  const auto stored = decode_stored(data_of(book, busy()));
  EXPECT_EQ(stored.book, book);
  EXPECT_TRUE(stored_changes(stored, book, busy()).empty());
}

TEST(StoredRollout, WritesOnlyWhatChanged) {
  const auto before = decode_stored(data_of(two(), busy()));
  auto book = two();
  book.erase(book.begin());
  book[0].completed = true;
  auto state = busy();
  state.hold.reset();
  const auto changes = stored_changes(before, book, state);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(changes.at("revision-1"), std::nullopt);
  EXPECT_TRUE(changes.at("revision-2").has_value());
  EXPECT_TRUE(changes.at("state").has_value());
}

TEST(StoredRollout, UnreadableStateBecomesTheLastCompleteOne) {
  auto data = data_of(two(), busy());
  for (const char* broken : {"", "{", "[]", R"({"schema":2})", R"({"schema":1,"phase":"flying"})",
                             R"({"schema":1,"phase":"fleet","layers":[]})"}) {
    data["state"] = broken;
    const auto stored = decode_stored(data);
    EXPECT_NE(stored.problem.find("state: "), std::string::npos) << broken;
    ASSERT_TRUE(stored.state.has_value());
    EXPECT_EQ(stored.state->layers.size(), 1U);
    EXPECT_EQ(stored.state->target(), hash_of(texts("a")));
  }
  data.erase("state");
  data.erase("revision-1");
  EXPECT_FALSE(decode_stored(data).state) << "none was: the next step is the first";
}

TEST(StoredRollout, ARevisionThatWasEditedByHandIsLeftOut) {
  auto data = data_of(two(), busy());
  auto& text = data["revision-2"];
  text.replace(text.find("schema: 1"), 9, "schema: 7");
  const auto stored = decode_stored(data);
  EXPECT_EQ(stored.book.size(), 1U);
  EXPECT_NE(stored.problem.find("revision-2: "), std::string::npos) << stored.problem;
  EXPECT_EQ(stored.state->target(), hash_of(texts("a"))) << "a layer without its texts cannot be gone on from";
}

TEST(StoredRollout, ARequestIsReadAsItWasWritten) {
  RolloutRequest request;
  request.id = "x";
  request.verb = RolloutRequest::Verb::kTake;
  request.revision = "abc";
  request.at_once = true;
  request.at = kRevisionStart;
  request.until = kRevisionStart + std::chrono::hours(2);
  const auto read = decode_request(encode_request(request, "a \"reason\""));
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(read->id, "x");
  EXPECT_EQ(read->verb, request.verb);
  EXPECT_EQ(read->revision, "abc");
  EXPECT_TRUE(read->at_once);
  EXPECT_EQ(read->at, kRevisionStart);
  EXPECT_EQ(read->until, request.until);
  const auto stored = decode_stored({{"request", "{\"schema\":1}"}});
  EXPECT_FALSE(stored.request);
  EXPECT_NE(stored.problem.find("request: "), std::string::npos);
}

}  // namespace
}  // namespace tidemark::policy::settings
