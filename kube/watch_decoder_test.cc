#include "kube/watch_decoder.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/random.h"
#include "kube/testing/testdata.h"

namespace tidemark::kube {
namespace {

using testing::testdata;

struct Kept {
  EventType type;
  std::string object;
};

std::vector<Kept> decode(const std::vector<std::string_view>& pieces) {
  WatchDecoder decoder;
  std::vector<Kept> events;
  for (const std::string_view piece : pieces) {
    decoder.feed(piece);
    while (true) {
      auto event = decoder.next();
      if (!event) throw std::runtime_error(event.error().message);
      if (!*event) break;
      events.push_back({(*event)->type, std::string((*event)->object)});
    }
  }
  EXPECT_TRUE(decoder.between_events());
  return events;
}

void expect_equal(const std::vector<Kept>& a, const std::vector<Kept>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].type, b[i].type);
    EXPECT_EQ(a[i].object, b[i].object);
  }
}

TEST(WatchDecoder, DecodesARealWatch) {
  const std::string body = testdata("watch_config_maps.txt");
  const auto events = decode({body});
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].type, EventType::kAdded);
  EXPECT_EQ(events[1].type, EventType::kModified);
  EXPECT_NE(events[1].object.find(R"("a":"line\nbreak \"}{\"")"), std::string::npos);
  EXPECT_EQ(events[2].type, EventType::kDeleted);
  EXPECT_EQ(events[3].type, EventType::kBookmark);
}

TEST(WatchDecoder, EveryCutGivesTheSameEvents) {
  const std::string body = testdata("watch_config_maps.txt");
  const auto whole = decode({body});
  for (std::size_t cut = 0; cut <= body.size(); ++cut) {
    const std::string_view view = body;
    expect_equal(decode({view.substr(0, cut), view.substr(cut)}), whole);
  }
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < body.size(); ++i) bytes.push_back(std::string_view(body).substr(i, 1));
  expect_equal(decode(bytes), whole);
}

TEST(WatchDecoder, RandomPiecesGiveTheSameEvents) {
  const std::string body = testdata("watch_config_maps.txt");
  const auto whole = decode({body});
  base::Random random(7);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string_view> pieces;
    for (std::size_t from = 0; from < body.size();) {
      const std::size_t length = random.below(90);
      pieces.push_back(std::string_view(body).substr(from, length));
      from += length;
    }
    expect_equal(decode(pieces), whole);
  }
}

TEST(WatchDecoder, ErrorEventIsPermanent) {
  WatchDecoder decoder;
  decoder.feed(testdata("watch_expired.txt"));
  for (int again = 0; again < 2; ++again) {
    auto event = decoder.next();
    ASSERT_FALSE(event);
    EXPECT_EQ(event.error().kind, ErrorKind::kGone);
    EXPECT_NE(event.error().message.find("too old resource version"), std::string::npos);
    decoder.feed(R"({"type":"ADDED","object":{}})");
  }
  EXPECT_EQ(decoder.buffered_bytes(), 0u);
}

ErrorKind refused(std::string_view text, std::size_t limit = WatchDecoder::kEventBytesMax) {
  WatchDecoder decoder(limit);
  decoder.feed(text);
  auto event = decoder.next();
  EXPECT_FALSE(event) << text;
  return event ? ErrorKind::kInternal : event.error().kind;
}

TEST(WatchDecoder, RefusesGarbageAtOnce) {
  EXPECT_EQ(refused("<html>"), ErrorKind::kInvalid);
  EXPECT_EQ(refused("]"), ErrorKind::kInvalid);
  EXPECT_EQ(refused("[{}]"), ErrorKind::kInvalid);
  EXPECT_EQ(refused("{}"), ErrorKind::kInvalid);
  EXPECT_EQ(refused(R"({"type":"ADDED"})"), ErrorKind::kInvalid);
  EXPECT_EQ(refused(R"({"type":"ADDED","object":"x"})"), ErrorKind::kInvalid);
  EXPECT_EQ(refused(R"({"type":"RENAMED","object":{}})"), ErrorKind::kInvalid);
  EXPECT_EQ(refused(R"({"type":"ADDED","object":{"2"]})"), ErrorKind::kInvalid) << "brackets of two kinds";
  EXPECT_EQ(refused(R"({"type":"ADDED","object":{},"more":})"), ErrorKind::kInvalid);
  EXPECT_EQ(refused(R"({"type":"ERROR","object":{"kind":"Pod"}})"), ErrorKind::kInternal);
}

// An object is for its decoder to judge; what stands around it may come in any order and with more members.
TEST(WatchDecoder, PassesTheObjectUnchanged) {
  const std::string garbage = R"({"a":,"b":"}"})";
  const auto unread = decode({R"({"type":"ADDED","object":)" + garbage + "}"});
  ASSERT_EQ(unread.size(), 1u);
  EXPECT_EQ(unread[0].object, garbage);
  for (const char* text :
       {R"({"type":"ADDED","object":{"a":"}"},"more":{"b":1}})", R"({"object":{"a":"}"},"type":"ADDED"})",
        R"( {"type":"ADDED", "object" : {"a":"}"} } )", R"({"type":"ADDED","object":{"a":"}"} })"}) {
    const auto events = decode({text});
    ASSERT_EQ(events.size(), 1u) << text;
    EXPECT_EQ(events[0].type, EventType::kAdded);
    EXPECT_EQ(events[0].object, R"({"a":"}"})") << text;
  }
}

TEST(WatchDecoder, RefusesAnOversizedEventBeforeItIsComplete) {
  const std::string event = R"({"type":"ADDED","object":{"a":")" + std::string(100, 'x') + "\"}}";
  EXPECT_EQ(refused(event, event.size() - 1), ErrorKind::kExhausted);
  EXPECT_EQ(refused(std::string_view(event).substr(0, 60), 50), ErrorKind::kExhausted);
  WatchDecoder exact(event.size());
  exact.feed(event + event);
  for (int i = 0; i < 2; ++i) {
    auto decoded = exact.next();
    ASSERT_TRUE(decoded) << decoded.error().message;
    EXPECT_TRUE(*decoded);
  }
}

TEST(WatchDecoder, DetectsAnEndWithinAnEvent) {
  WatchDecoder decoder;
  EXPECT_TRUE(decoder.between_events());
  decoder.feed(" \n");
  EXPECT_TRUE(decoder.between_events());
  decoder.feed(R"({"type":"ADDED",)");
  ASSERT_TRUE(decoder.next());
  EXPECT_FALSE(decoder.between_events());
}

TEST(WatchDecoder, KeepsNoMoreThanTheUnfinishedEvent) {
  WatchDecoder decoder;
  for (int i = 0; i < 10'000; ++i) {
    decoder.feed(R"({"type":"MODIFIED","object":{"kind":"Pod"}})"
                 "\n");
    auto event = decoder.next();
    ASSERT_TRUE(event && *event);
    ASSERT_LE(decoder.buffered_bytes(), 1u);
  }
}

}  // namespace
}  // namespace tidemark::kube
