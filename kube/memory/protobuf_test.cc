#include "kube/memory/protobuf.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tidemark::kube::memory {
namespace {

std::string varint(std::uint64_t value) {
  std::string out;
  for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
  return out + static_cast<char>(value);
}
std::string text(int number, std::string_view bytes) {
  return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + std::string(bytes);
}
std::string number(int field, std::uint64_t value) {
  return varint(static_cast<std::uint64_t>(field) << 3) + varint(value);
}
std::string envelope(std::string_view api_version, std::string_view kind, std::string_view raw) {
  return std::string("k8s\0", 4) + text(1, text(1, api_version) + text(2, kind)) + text(2, raw) + text(3, "") +
         text(4, "");
}

TEST(Protobuf, ReadsAConfigMap) {
  const std::string meta = text(1, "m") + text(2, "") + text(3, "default") + text(7, "") + text(8, "") +
                           text(11, text(1, "l") + text(2, "v"));
  const std::string raw = text(1, meta) + text(2, text(1, "k") + text(2, "v")) +
                          text(3, text(1, "b") + text(2, std::string("\0\1", 2))) + number(4, 0);
  const auto tree = parse_protobuf(envelope("v1", "ConfigMap", raw));
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(
      *tree,
      *Json::parse(
          R"({"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"m","namespace":"default","labels":{"l":"v"}},
    "data":{"k":"v"},"binaryData":{"b":"AAE="},"immutable":false})"))
      << tree->dump();
}

TEST(Protobuf, ReadsQuantitiesTimesInlinedAndPointers) {
  const std::string resources = text(2, text(1, "cpu") + text(2, text(1, "500m")));
  const std::string container = text(1, "c") + text(2, "i") + text(5, "") + text(8, resources);
  const std::string volume = text(1, "v") + text(2, text(2, text(1, "")));  // emptyDir
  const std::string raw = text(1, text(1, "p") + text(9, number(1, 1767225600))) +
                          text(2, text(1, volume) + text(2, container) + number(4, 0) + number(11, 0));
  const auto tree = parse_protobuf(envelope("v1", "Pod", raw));
  ASSERT_TRUE(tree) << tree.error().message;
  EXPECT_EQ(*tree,
            *Json::parse(
                R"({"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"},
    "spec":{"volumes":[{"name":"v","emptyDir":{}}],"containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"500m"}}}],
    "terminationGracePeriodSeconds":0}})"))
      << tree->dump();
}

TEST(Protobuf, RefusesUnreadableInput) {
  EXPECT_EQ(parse_protobuf("{}").error().code, 400);
  EXPECT_EQ(parse_protobuf(envelope("x.io/v1", "Thing", "")).error().code, 415);
  EXPECT_EQ(parse_protobuf(envelope("v1", "ConfigMap", "\x0a\x7f")).error().code, 400);
  const std::string good = envelope("v1", "ConfigMap", text(1, text(1, "m")));
  for (std::size_t cut = 4; cut < good.size(); ++cut)
    static_cast<void>(parse_protobuf(std::string_view(good).substr(0, cut)));
}

}  // namespace
}  // namespace tidemark::kube::memory
