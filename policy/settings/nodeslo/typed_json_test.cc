#include "policy/settings/nodeslo/typed_json.h"

#include <gtest/gtest.h>

#include <array>
#include <fstream>
#include <string>

#include "base/testing/source_dir.h"
#include "base/text.h"

namespace tidemark::policy::settings {
namespace {

using base::JsonObject;
using enum FieldKind;

// The structs of tests/golden/typed_json/main.go.
constexpr std::array kLeaves{
    Field{"flag", kBool},        Field{"count", kInt64},        Field{"small", kInt32},       Field{"text", kText},
    Field{"word", kTextPointer}, Field{"either", kIntOrString}, Field{"switches", kSwitches},
};
constexpr ObjectSchema kLeavesSchema{kLeaves};
constexpr std::array kElement{Field{"name", kText}, Field{"inner", kInline, &kLeavesSchema}};
constexpr ObjectSchema kElementSchema{kElement};
constexpr std::array kExtra{Field{"more", kInt64}, Field{"amount", kQuantity}};
constexpr ObjectSchema kExtraSchema{kExtra};
constexpr std::array kRoot{
    kLeaves[0],
    kLeaves[1],
    kLeaves[2],
    kLeaves[3],
    kLeaves[4],
    kLeaves[5],
    kLeaves[6],
    Field{"object", kObject, &kLeavesSchema},
    Field{"list", kObjects, &kElementSchema},
    Field{"pointers", kObjectPointers, &kElementSchema},
};
constexpr ObjectSchema kRootSchema{kRoot, &kExtraSchema};

TEST(GoldenTypedJson, ReadsWritesAndMergesAsGoDoes) {
  std::ifstream file(base::testing::from_root("tests/golden/typed_json/cases.tsv"));
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const auto columns = base::split(line, '\t');
    ASSERT_EQ(columns.size(), 4U) << line;
    JsonObject below;
    JsonObject over;
    const auto read_below = read_typed(columns[0], kRootSchema, below);
    const auto read_over = read_typed(columns[1], kRootSchema, over);
    EXPECT_EQ(read_below ? write_typed(kRootSchema, below) : "error", columns[2]) << line;
    if (!read_below || !read_over) {
      EXPECT_EQ(columns[3], "error") << line;
      continue;
    }
    const JsonObject merged = merge_typed(kRootSchema, below, over);
    const std::string text = write_typed(kRootSchema, merged);
    EXPECT_EQ(text, columns[3]) << line;

    // What was written reads back to the same text.
    JsonObject again;
    ASSERT_TRUE(read_typed(text, kRootSchema, again)) << text;
    EXPECT_EQ(write_typed(kRootSchema, again), text);
  }
  EXPECT_GT(lines, 1000);
}

std::string refusal(std::string_view text) {
  JsonObject target;
  const auto read = read_typed(text, kRootSchema, target);
  return read ? "" : read.error().message;
}

TEST(TypedJson, ARefusalNamesThePlace) {
  EXPECT_EQ(refusal(R"({"object":{"count":"5"}})"),
            "object.count: JSON at byte 19: expected an integer, found \"\\\"\"");
  EXPECT_EQ(refusal(R"({"list":[{},{"inner":{"small":2147483648}}]})"),
            "list[1].inner.small: JSON at byte 30: the integer does not fit into 32 bits, found \"2\"");
  EXPECT_EQ(refusal(R"({"object":{"switches":{"a":1}}})"),
            "object.switches.a: JSON at byte 27: expected true or false, found \"1\"");
  EXPECT_EQ(refusal(R"({"amount":"ten"})"),
            "amount: JSON at byte 10: expected a quantity such as \"10M\", found \"\\\"\"");
  EXPECT_EQ(refusal(R"({"object":{"count":5})"),
            "JSON at byte 21: expected , or } after a member, found the end of the text");
  EXPECT_NE(refusal(""), "");
}

TEST(TypedJson, LeavesNameWrittenFields) {
  JsonObject value;
  ASSERT_TRUE(read_typed(R"({"flag":false,"text":"","object":{},"pointers":[{"name":"sda","inner":{"count":1}},null],
                             "switches":{"b":true,"a":false},"list":[{}],"more":1})",
                         kRootSchema, value));
  const std::vector<Leaf> wanted{{"flag", "false"},
                                 {"switches.a", "false"},
                                 {"switches.b", "true"},
                                 {"object", "{}"},
                                 {"list[0]", "{}"},
                                 {"pointers[0].name", "\"sda\""},
                                 {"pointers[0].inner.count", "1"},
                                 {"pointers[1]", "null"},
                                 {"more", "1"},
                                 {"amount", "\"0\""}};
  const auto leaves = leaves_of(kRootSchema, value);
  ASSERT_EQ(leaves.size(), wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    EXPECT_EQ(leaves[i].path, wanted[i].path);
    EXPECT_EQ(leaves[i].value, wanted[i].value) << wanted[i].path;
  }
}

}  // namespace
}  // namespace tidemark::policy::settings
