#include "base/yaml.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"

namespace tidemark::base {
namespace {

Json read(std::string_view text) {
  auto parsed = parse_yaml(text);
  EXPECT_TRUE(parsed) << text << "\n" << parsed.error().message;
  return parsed ? *parsed : Json("unreadable");
}

std::string refused(std::string_view text) {
  const auto parsed = parse_yaml(text);
  EXPECT_FALSE(parsed) << text << "\nread as " << parsed->dump();
  if (parsed) return "";
  EXPECT_EQ(parsed.error().kind, ErrorKind::kInvalid);
  return parsed.error().message;
}

TEST(Yaml, ReadsAKubeconfig) {
  const Json config = read(R"(apiVersion: v1
kind: Config
current-context: dev
clusters:
- name: dev
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority-data: "QUJD"
contexts:
  - context: {cluster: dev, user: admin}   # a flow mapping
    name: dev
preferences: {}
users:
- name: admin
  user:
    token: 'it''s'
)");
  EXPECT_EQ(config.dump(),
            R"({"apiVersion":"v1","kind":"Config","current-context":"dev","clusters":[{"name":"dev","cluster":)"
            R"({"server":"https://127.0.0.1:6443","certificate-authority-data":"QUJD"}}],"contexts":[{"context":)"
            R"({"cluster":"dev","user":"admin"},"name":"dev"}],"preferences":{},"users":[{"name":"admin","user":)"
            R"({"token":"it's"}}]})");
}

TEST(Yaml, CoreScalars) {
  const struct {
    const char* text;
    Json want;
  } cases[] = {
      {"true", true},
      {"True", true},
      {"FALSE", false},
      {"null", nullptr},
      {"~", nullptr},
      {"NULL", nullptr},
      {"0", 0},
      {"12", 12},
      {"+12", 12},
      {"-7", -7},
      {"0x1F", 31},
      {"0o17", 15},
      {"0644", 420},  // as Kubernetes reads file modes
      {"-017", -15},
      {"0899", 899},  // not octal: eight and nine
      {"9223372036854775807", std::int64_t{INT64_MAX}},
      {"9223372036854775808", 9223372036854775808.0},
      {"1.5", 1.5},
      {".5", 0.5},
      {"1.", 1.0},
      {"-1.5e3", -1500.0},
      {"1e3", 1000.0},
      {"12e4567", "12e4567"},  // a commit hash, and no double
      {"yes", "yes"},
      {"on", "on"},
      {"NO", "NO"},
      {"n", "n"},
      {"tRUE", "tRUE"},
      {"1_000", "1_000"},
      {"12:30", "12:30"},
      {"0b11", "0b11"},
      {"-0x1F", "-0x1F"},
      {"1.2.3", "1.2.3"},
      {"1e", "1e"},
      {"+", "+"},
      {".", "."},
      {"5m0s", "5m0s"},
      {"2026-01-02T03:04:05Z", "2026-01-02T03:04:05Z"},
      {"10.0.0.1", "10.0.0.1"},
      {"\"12\"", "12"},
      {"'true'", "true"},
      {"\"\"", ""},
      {"!!str 12", "12"},
      {"! 12", "12"},
      {"!!int \"12\"", 12},
      {"!!float 3", 3.0},
      {"!!bool \"true\"", true},
      {"!!null \"\"", nullptr},
      {"\"\\x41\\u00e9\\n\"", "Aé\n"},
  };
  for (const auto& [text, want] : cases) {
    const Json got = read(std::string("v: ") + text).as_object().begin()->second;
    EXPECT_EQ(got.dump(), want.dump()) << text;
    EXPECT_EQ(got.is_int(), want.is_int()) << text;
  }
}

TEST(Yaml, EmptyIsNull) {
  for (const char* text : {"", "\n", "# only a comment\n", "---\n", "null"}) EXPECT_TRUE(read(text).is_null()) << text;
  EXPECT_TRUE(read("a:\nb: 1\n").member("a")->is_null());
}

TEST(Yaml, KeysBecomeTexts) {
  EXPECT_EQ(read("1: a\ntrue: b\n0x10: c\n\"2\": d\n1.5: e\n").dump(),
            R"({"1":"a","true":"b","16":"c","2":"d","1.5":"e"})");
  EXPECT_NE(refused("? [a]\n: b\n").find("stands where a key must be"), std::string::npos);
  EXPECT_NE(refused("[1, 2").find("a bracket is not closed"), std::string::npos) << refused("[1, 2");
  EXPECT_NE(refused("~: b\n").find("a key is missing"), std::string::npos);
}

TEST(Yaml, BlockTexts) {
  const Json block = read("a: |\n  one\n    two\n\n  three\nb: >-\n  one\n  two\nc: |+\n  x\n\n");
  EXPECT_EQ(block.text_at("a"), "one\n  two\n\nthree\n");
  EXPECT_EQ(block.text_at("b"), "one two");
  EXPECT_EQ(block.text_at("c"), "x\n\n");
}

TEST(Yaml, JsonIsYaml) {
  EXPECT_EQ(read("{\"a\": [1, 2.5, true, null, \"x: y\"], \"b\": {}}\n").dump(),
            R"({"a":[1,2.5,true,null,"x: y"],"b":{}})");
}

TEST(Yaml, AnchorsAndMergeKeys) {
  EXPECT_EQ(read("a: &x [1, 2]\nb: *x\n").dump(), R"({"a":[1,2],"b":[1,2]})");
  const Json merged = read("base: &b {x: 1, y: 2}\nuse:\n  <<: *b\n  y: 3\n  z: 4\n");
  EXPECT_EQ(*merged.member("use"), Json::object({{"x", 1}, {"y", 3}, {"z", 4}}));
  const Json both = read("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc:\n  <<: [*a, *b]\n");
  EXPECT_EQ(*both.member("c"), Json::object({{"x", 1}, {"y", 2}})) << "the first one wins";
  EXPECT_EQ(read("\"<<\": 1").dump(), R"({"<<":1})") << "quoted, it is a key like any other";
  EXPECT_NE(refused("a: &x [*x]").find("inside what it names"), std::string::npos);
  EXPECT_NE(refused("a: *nowhere").find("line 1"), std::string::npos);
  EXPECT_NE(refused("<<: 3").find("<< merges a mapping"), std::string::npos);
}

TEST(Yaml, AShortTextCannotUnfoldToAHugeTree) {
  std::string laughs = "a0: &a0 [ha, ha, ha, ha, ha, ha, ha, ha, ha, ha]\n";
  for (int i = 1; i < 12; ++i) {
    laughs += cat("a", i, ": &a", i, " [");
    for (int k = 0; k < 10; ++k) laughs += cat(k == 0 ? "" : ", ", "*a", i - 1);
    laughs += "]\n";
  }
  EXPECT_NE(refused(laughs).find("aliases expanded"), std::string::npos);

  std::string texts = cat("a: &a ", std::string(1 << 20, 'x'), "\nb:\n");
  for (int i = 0; i < 100; ++i) texts += "- *a\n";
  EXPECT_NE(refused(texts).find("bytes, aliases expanded"), std::string::npos);

  std::string deep = "a0: &a0 [x]\n";  // each alias one level deeper than the last
  for (int i = 1; i < 200; ++i) deep += cat("a", i, ": &a", i, " [*a", i - 1, "]\n");
  EXPECT_NE(refused(deep).find("deeper than 100"), std::string::npos);
}

TEST(Yaml, DepthIsBounded) {
  std::string fits, over;
  for (int i = 0; i < kYamlDepthMax; ++i) fits += '[';
  over = fits + "[";
  for (int i = 0; i < kYamlDepthMax; ++i) fits += ']';
  EXPECT_TRUE(read(fits).is_array());
  EXPECT_NE(refused(over + std::string(kYamlDepthMax + 1, ']')).find("deeper than 100"), std::string::npos);
  std::string blocks;
  for (int i = 0; i < 100'000; ++i) blocks += "- ";
  EXPECT_NE(refused(blocks).find("deeper than 100"), std::string::npos);
  EXPECT_NE(refused(std::string(100'000, '[')), "");
  EXPECT_NE(refused(std::string(100'000, '{')), "");
}

TEST(Yaml, ErrorsNameLineAndColumn) {
  // The library would find an empty document before the comma again and again.
  EXPECT_EQ(refused("- a\n,\n"), "line 2, column 1: nothing can begin with this");
  EXPECT_EQ(refused("a: 1\nb: 2\na: 3\n"), "line 3, column 1: the key \"a\" is given twice");
  EXPECT_EQ(refused("a:\n  x: .inf\n"), "line 2, column 6: .inf has no JSON value; quote it if it is a text");
  EXPECT_EQ(refused("a: !secret x\n"), "line 1, column 4: the tag \"!secret\" is not known here");
  EXPECT_EQ(refused("a: !!int x\n"), "line 1, column 4: the value is no !!int");
  EXPECT_TRUE(refused("a: 1\n  b: 2\n").starts_with("line 2, column "));
  EXPECT_TRUE(refused("a: [1, 2\nb: 3\n").starts_with("line 2, column ")) << refused("a: [1, 2\nb: 3\n");
  EXPECT_TRUE(refused("a:\n\t- b\n").starts_with("line 2, column ")) << refused("a:\n\t- b\n");
  EXPECT_EQ(refused(std::string_view("a: 1\nb: \x04 c\n", 12)),
            "line 2, column 4: a control character, which YAML forbids");
  EXPECT_EQ(refused(std::string_view("a\0b", 3)), "line 1, column 2: a control character, which YAML forbids");
  EXPECT_EQ(refused("a: 1\nb: \xff\n"), "line 2: the text is not UTF-8");
}

TEST(Yaml, TheInputIsBounded) {
  EXPECT_NE(refused(std::string(kYamlInputMax + 1, ' ')).find("the limit is"), std::string::npos);
}

TEST(Yaml, DocumentsAreAskedForByName) {
  EXPECT_NE(refused("a: 1\n---\nb: 2\n").find("2 documents"), std::string::npos);
  const auto documents = parse_yaml_documents("# first\n---\na: 1\n---\n---\nb: 2\n...\n");
  ASSERT_TRUE(documents) << documents.error().message;
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[0].dump(), R"({"a":1})");
  EXPECT_EQ((*documents)[1].dump(), R"({"b":2})");
  const auto bad = parse_yaml_documents("a: 1\n---\nb: [\n");
  ASSERT_FALSE(bad);
  EXPECT_TRUE(bad.error().message.starts_with("line ")) << bad.error().message;
  EXPECT_TRUE(parse_yaml_documents("")->empty());
  EXPECT_FALSE(parse_yaml_documents("a: &x 1\n---\nb: *x\n")) << "anchors end with their document";
}

TEST(Yaml, MembersKnowTheirLines) {
  const auto members = parse_yaml_members("# head\na: 1\n\nb:\n  c: 2\nd: x\n");
  ASSERT_TRUE(members) << members.error().message;
  ASSERT_EQ(members->size(), 3u);
  EXPECT_EQ((*members)[0].line, 2);
  EXPECT_EQ((*members)[1].line, 4);
  EXPECT_EQ((*members)[1].key, "b");
  EXPECT_EQ((*members)[2].line, 6);
  EXPECT_EQ((*members)[2].value.get_string(), "x");
  EXPECT_TRUE(parse_yaml_members("")->empty());
  EXPECT_FALSE(parse_yaml_members("- a\n"));
}

TEST(YamlWriter, WritesBlockStyleAsKubectlDoes) {
  const Json value = Json::object({
      {"apiVersion", "v1"},
      {"items", Json::array({Json::object({{"name", "a"}, {"ports", Json::array({1, 2})}}), "b", Json::array({3})})},
      {"empty", Json::object()},
      {"none", Json::array()},
      {"nothing", nullptr},
      {"on", true},
      {"script", "#!/bin/sh\n  echo hi\n\nexit\n"},
      {"nested", Json::object({{"deep", Json::object({{"text", "a\nb"}})}})},
  });
  EXPECT_EQ(to_yaml(value), R"(apiVersion: v1
items:
- name: a
  ports:
  - 1
  - 2
- b
- - 3
empty: {}
none: []
nothing: null
"on": true
script: |
  #!/bin/sh
    echo hi

  exit
nested:
  deep:
    text: |-
      a
      b
)");
  EXPECT_EQ(read(to_yaml(value)), value);
  EXPECT_EQ(to_yaml(Json("x")), "x\n");
  EXPECT_EQ(to_yaml(Json::array({1})), "- 1\n");
  EXPECT_EQ(to_yaml(Json::object()), "{}\n");
}

TEST(YamlWriter, QuotesWhatAnyReaderCouldMisread) {
  for (const char* text :
       {"true", "yes", "No",   "off",  "y",  "null", "~",  "",   "12", "1.5", "0x1f", "1_000", "12:30", "2026-01-02",
        "-",    "- a", "a: b", "a #b", "#a", "&a",   "*a", "!a", "|",  ">",   "@a",   "`a",    "%a",    "{a",
        "[a",   "a,",  "\"",   "'",    " a", "a ",   "a:", "?",  "=",  "<<",  ".5",   "+1",    "\ta"}) {
    const std::string written = to_yaml(Json(text));
    EXPECT_EQ(written.front(), '"') << text;
    EXPECT_EQ(read(written), Json(text)) << written;
  }
  for (const char* text :
       {"a", "kube-system", "https://127.0.0.1:6443", "/etc/x.yaml", "a b", "v1", "app/name", "x@y"}) {
    EXPECT_EQ(to_yaml(Json(text)), cat(text, "\n"));
    EXPECT_EQ(read(to_yaml(Json(text))), Json(text));
  }
}

TEST(YamlWriter, LongKeysAreWrittenSoThatTheyCanBeRead) {
  const Json value = Json::object({{"a", Json::object({{std::string(5000, 'k'), Json::array({1, 2})}, {"b", 1}})},
                                   {std::string(2000, '\n'), "x\ny\n"}});
  EXPECT_EQ(read(to_yaml(value)), value) << to_yaml(value);
}

Json random_json(Random& random, int depth) {
  static constexpr const char* kPieces[] = {"a",
                                            "Z",
                                            "0",
                                            "9",
                                            " ",
                                            "  ",
                                            "\n",
                                            "\n\n",
                                            "\t",
                                            ":",
                                            ": ",
                                            "#",
                                            " #",
                                            "-",
                                            "- ",
                                            "'",
                                            "\"",
                                            "\\",
                                            "{",
                                            "]",
                                            ",",
                                            "&",
                                            "*",
                                            "!",
                                            "|",
                                            ">",
                                            "%",
                                            "@",
                                            "é",
                                            "\r",
                                            "\x01",
                                            "\x7f",
                                            "~",
                                            "=",
                                            "e",
                                            ".",
                                            "true",
                                            "null",
                                            "\xc2\x85",
                                            "\xe2\x80\xa8",
                                            "\xef\xbb\xbf",
                                            "---",
                                            "...",
                                            "😀"};
  const auto text = [&] {
    std::string made;
    for (std::uint64_t i = random.below(8); i > 0; --i) made += kPieces[random.below(std::size(kPieces))];
    return made;
  };
  switch (random.below(depth > 0 ? 8 : 6)) {
    case 0:
      return nullptr;
    case 1:
      return random.below(2) == 0;
    case 2:
      return static_cast<std::int64_t>(random.next());
    case 3:
      return (random.unit() - 0.5) * static_cast<double>(1ull << random.below(63));
    case 4:
    case 5:
      return text();
    case 6: {
      Json::Array array;
      for (std::uint64_t i = random.below(4); i > 0; --i) array.push_back(random_json(random, depth - 1));
      return array;
    }
    default: {
      JsonObject object;
      for (std::uint64_t i = random.below(4); i > 0; --i) object.set(text(), random_json(random, depth - 1));
      return object;
    }
  }
}

TEST(YamlWriter, WhatIsWrittenReadsBackTheSame) {
  Random random(20260102);
  for (int i = 0; i < 20'000; ++i) {
    const Json value = random_json(random, 4);
    const std::string written = to_yaml(value);
    const auto again = parse_yaml(written);
    ASSERT_TRUE(again) << again.error().message << "\n" << written;
    ASSERT_EQ(*again, value) << written << "\n" << value.dump() << "\n" << again->dump();
  }
}

}  // namespace
}  // namespace tidemark::base
