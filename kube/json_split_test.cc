#include "kube/json_split.h"

#include <gtest/gtest.h>

#include <string>

#include "base/json.h"
#include "base/random.h"
#include "kube/testing/testdata.h"

namespace tidemark::kube {
namespace {

// What the validating reader says, for a text that begins with a well-formed value.
std::size_t length_by_reader(std::string_view text) {
  base::JsonReader reader(text);
  std::string_view raw;
  EXPECT_TRUE(reader.raw(raw));
  return reader.offset();
}

JsonSplitter::Inner inner_by_reader(std::string_view text) {
  base::JsonReader reader(text);
  JsonSplitter::Inner inner;
  reader.object([&](std::string_view) {
    std::string_view raw;
    EXPECT_TRUE(reader.raw(raw));
    if (raw.front() != '{' && raw.front() != '[') return;
    inner.begin = static_cast<std::size_t>(raw.data() - text.data());
    inner.end = inner.begin + raw.size();
    ++inner.count;
  });
  return inner;
}

void expect_same(const JsonSplitter::Inner& found, const JsonSplitter::Inner& wanted, std::string_view text) {
  EXPECT_EQ(found.count, wanted.count) << text;
  EXPECT_EQ(found.begin, wanted.begin) << text;
  EXPECT_EQ(found.end, wanted.end) << text;
}

// A random object with strings full of quotes, backslashes and brackets.
std::string random_object(base::Random& random, int depth = 0) {
  static constexpr std::string_view kPieces[] = {"a", "{", "}", "[", "]", "\\\"", "\\\\", "\\n", "long plain text here",
                                                 ":"};
  const auto text = [&] {
    std::string out = "\"";
    for (std::uint64_t i = random.below(12); i > 0; --i) out += kPieces[random.below(std::size(kPieces))];
    return out + "\"";
  };
  std::string out = "{";
  for (std::uint64_t i = random.below(5); i > 0; --i) {
    if (out.size() > 1) out += ", ";
    out += text() + ":";
    const std::uint64_t kind = depth > 4 ? 0 : random.below(3);
    out += kind == 0   ? text()
           : kind == 1 ? random_object(random, depth + 1)
                       : "[" + random_object(random, depth + 1) + "]";
  }
  return out + "}";
}

TEST(JsonSplitter, AgreesWithTheJsonReader) {
  base::Random random(11);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = random_object(random) + random_object(random);
    JsonSplitter splitter;
    const auto length = splitter.feed(text);
    ASSERT_TRUE(length) << text;
    ASSERT_EQ(*length, length_by_reader(text)) << text;
    ASSERT_TRUE(splitter.idle());
    expect_same(splitter.inner(), inner_by_reader(text), text);
    ASSERT_EQ(splitter.feed(text, JsonSplitter::Steps::kSmall), length) << text;
    expect_same(splitter.inner(), inner_by_reader(text), text);
  }
}

TEST(JsonSplitter, ResultDoesNotDependOnPieces) {
  base::Random random(12);
  for (int round = 0; round < 5'000; ++round) {
    const std::string text = random_object(random) + "{}";
    const std::size_t wanted = length_by_reader(text);
    JsonSplitter splitter;
    std::size_t from = 0;
    std::optional<std::size_t> length;
    while (!length && from < text.size()) {
      const std::string_view piece = std::string_view(text).substr(from, 1 + random.below(150));
      length = splitter.feed(piece);
      from += length ? *length : piece.size();
    }
    ASSERT_TRUE(length) << text;
    ASSERT_EQ(from, wanted) << text;
    expect_same(splitter.inner(), inner_by_reader(text), text);
  }
}

TEST(JsonSplitter, ResultForGarbageDoesNotDependOnPieces) {
  base::Random random(13);
  constexpr std::string_view kAlphabet = "{}[]\"\\\\\\a ";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (std::uint64_t i = random.below(300); i > 0; --i) text += kAlphabet[random.below(kAlphabet.size())];
    JsonSplitter whole;
    JsonSplitter in_small_steps;
    JsonSplitter bytewise;
    const auto length = whole.feed(text);
    ASSERT_EQ(in_small_steps.feed(text, JsonSplitter::Steps::kSmall), length) << text;
    ASSERT_EQ(in_small_steps.idle(), whole.idle()) << text;
    std::optional<std::size_t> stepped;
    for (std::size_t i = 0; i < text.size() && !stepped; ++i) {
      if (bytewise.feed(std::string_view(text).substr(i, 1))) stepped = i + 1;
    }
    ASSERT_EQ(length, stepped) << text;
    ASSERT_EQ(whole.idle(), bytewise.idle()) << text;
  }
}

TEST(JsonSplitter, SplitsARealObjectAtEveryOffset) {
  const std::string object = testing::testdata("pod_web.json");
  const std::size_t wanted = length_by_reader(object);
  for (std::size_t blanks = 0; blanks < 130; ++blanks) {
    JsonSplitter splitter;
    EXPECT_EQ(splitter.feed(std::string(blanks, ' ') + object), blanks + wanted);
  }
}

TEST(JsonSplitter, UnfinishedValueIsNotComplete) {
  const std::string object = testing::testdata("pod_level.json");
  const std::size_t wanted = length_by_reader(object);
  for (std::size_t cut = 1; cut < wanted; cut += 7) {
    JsonSplitter splitter;
    EXPECT_FALSE(splitter.feed(std::string_view(object).substr(0, cut)));
    EXPECT_FALSE(splitter.idle());
  }
}

}  // namespace
}  // namespace tidemark::kube
