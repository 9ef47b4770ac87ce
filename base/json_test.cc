#include "base/json.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

namespace tidemark::base {
namespace {

constexpr std::int64_t kIntMin = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kIntMax = std::numeric_limits<std::int64_t>::max();

Json parsed(std::string_view text) {
  auto value = Json::parse(text);
  EXPECT_TRUE(value) << text << ": " << (value ? "" : value.error().message);
  return value ? std::move(*value) : Json();
}

// The same verdict from the two ways through the reader.
std::string refusal(std::string_view text) {
  JsonReader reader(text);
  reader.skip();
  const auto skipped = reader.finish();
  const auto tree = Json::parse(text);
  EXPECT_EQ(skipped.has_value(), tree.has_value()) << in_quotes(text);
  if (tree) return "accepted";
  if (!skipped) {
    EXPECT_EQ(skipped.error().message, tree.error().message) << in_quotes(text);
  }
  EXPECT_EQ(tree.error().kind, ErrorKind::kInvalid);
  return tree.error().message;
}

std::string nested(int depth, std::string_view open, std::string_view close) {
  std::string text;
  for (int i = 0; i < depth; ++i) text += open;
  text += "0";
  for (int i = 0; i < depth; ++i) text += close;
  return text;
}

// A small tree of everything the value type can hold.
class RandomTree {
 public:
  explicit RandomTree(std::uint64_t seed) : random_(seed) {}

  Json value(int depth) {
    switch (below(depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return below(2) == 0;
      case 2:
        return static_cast<std::int64_t>(random_()) >> below(64);
      case 3: {
        const double number = std::bit_cast<double>(random_());
        return std::isfinite(number) ? number : 0.5;
      }
      case 4:
        return static_cast<double>(static_cast<std::int64_t>(random_()) >> below(64)) / 1000;
      case 5:
        return text();
      case 6: {
        Json::Array elements;
        for (std::size_t i = below(6); i > 0; --i) elements.push_back(value(depth - 1));
        return elements;
      }
      default: {
        JsonObject members;
        for (std::size_t i = below(20); i > 0; --i) members.set(text(), value(depth - 1));
        return members;
      }
    }
  }

  std::string text() {
    std::string out;
    for (std::size_t i = below(40); i > 0; --i) {
      static constexpr std::string_view kPieces[] = {
          "a", "Z", " ", "\"", "\\", "/", "\n", "\x01", "0", "~", "\t", "\xC3\xA4", "\xE2\x82\xAC", "\xF0\x9F\x98\x80"};
      out += kPieces[below(std::size(kPieces))];
    }
    if (below(8) == 0) out.push_back('\0');
    return out;
  }

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }

 private:
  std::mt19937_64 random_;
};

TEST(Json, ReadsEveryKind) {
  const Json value = parsed(" { \"a\" : [ 1 , -2.5 , \"x\" , null , true , false , { } , [ ] ] }\r\n\t");
  const auto& elements = value.at("a")->as_array();
  ASSERT_EQ(elements.size(), 8U);
  EXPECT_EQ(elements[0].get_int(), 1);
  EXPECT_EQ(elements[1].as_double(), -2.5);
  EXPECT_EQ(elements[2].get_string(), "x");
  EXPECT_TRUE(elements[3].is_null());
  EXPECT_EQ(elements[4].get_bool(), true);
  EXPECT_EQ(elements[5].get_bool(), false);
  EXPECT_TRUE(elements[6].is_object() && elements[6].as_object().empty());
  EXPECT_TRUE(elements[7].is_array() && elements[7].as_array().empty());
  EXPECT_EQ(elements[0].get_string(), std::nullopt);
  EXPECT_EQ(elements[2].get_int(), std::nullopt);
}

TEST(Json, WalksAndBuildsPaths) {
  Json pod = Json::object({{"kind", "Pod"}, {"ports", Json::array({80, 443})}});
  pod["metadata"]["labels"]["app"] = "web";
  EXPECT_EQ(pod.dump(), R"({"kind":"Pod","ports":[80,443],"metadata":{"labels":{"app":"web"}}})");
  EXPECT_EQ(pod.text_at("metadata", "labels", "app"), "web");
  EXPECT_EQ(pod.text_at("metadata", "labels", "none"), "");
  EXPECT_EQ(pod.at("kind", "deeper"), nullptr);
  EXPECT_TRUE(pod.as_object().erase("kind"));
  EXPECT_FALSE(pod.as_object().erase("kind"));
  EXPECT_EQ(pod.dump(), R"({"ports":[80,443],"metadata":{"labels":{"app":"web"}}})");
  EXPECT_DEATH(pod["ports"]["x"], "members belong to objects");
}

TEST(Json, PrintsPretty) {
  EXPECT_EQ(parsed(R"({"a":[1,{"b":[]}],"c":{}})").dump_pretty(),
            "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    }\n  ],\n  \"c\": {}\n}");
}

TEST(Json, IntegersKeepAll64BitsAndLargerOnesBecomeDoubles) {
  EXPECT_EQ(parsed("9223372036854775807").get_int(), kIntMax);
  EXPECT_EQ(parsed("-9223372036854775808").get_int(), kIntMin);
  EXPECT_EQ(parsed("-0").get_int(), 0);
  EXPECT_TRUE(parsed("9223372036854775808").is_double());
  EXPECT_EQ(parsed("9223372036854775808").as_double(), 9223372036854775808.0);
  EXPECT_EQ(parsed("-9223372036854775809").as_double(), -9223372036854775808.0);
  EXPECT_TRUE(parsed("1.0").is_double());
  EXPECT_TRUE(parsed("1e3").is_double());
  EXPECT_EQ(Json(kIntMin).dump(), "-9223372036854775808");
  EXPECT_EQ(Json(kIntMax).dump(), "9223372036854775807");
}

TEST(Json, NumbersThatAreTooLargeAreRefusedAndTooSmallAreZero) {
  EXPECT_EQ(parsed("1.7976931348623157e308").as_double(), std::numeric_limits<double>::max());
  EXPECT_EQ(parsed("5e-324").as_double(), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(parsed("1e-400").as_double(), 0.0);
  EXPECT_TRUE(std::signbit(parsed("-1e-400").as_double()));
  EXPECT_EQ(parsed("0e999999999999999999999").as_double(), 0.0);
  EXPECT_EQ(parsed("0." + std::string(400, '0') + "1").as_double(), 0.0);
  EXPECT_EQ(parsed("0." + std::string(400, '0') + "1e401").as_double(), 1.0);
  EXPECT_EQ(parsed("1" + std::string(300, '0')).as_double(), 1e300);
  for (const std::string& wrong : {std::string("1e309"), std::string("-1e400"), std::string("1e99999999999999999999"),
                                   "1" + std::string(400, '0'), "1" + std::string(400, '0') + ".5"}) {
    EXPECT_EQ(refusal(wrong).substr(0, 57), "JSON at byte 0: the number is too large for a double, fou") << wrong;
  }
}

// encoding/json: "no exponent from 1e-6 up to 1e21", two-digit exponents cleaned up.
TEST(Json, DoublesPrintLikeGo) {
  const std::pair<double, std::string_view> kCases[] = {
      {0.0, "0"},
      {-0.0, "-0"},
      {1.0, "1"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {1e-6, "0.000001"},
      {1.5e-6, "0.0000015"},
      {9.99e-7, "9.99e-7"},
      {1e-7, "1e-7"},
      {1e-10, "1e-10"},
      {1e20, "100000000000000000000"},
      {1.2345678901234567e20, "123456789012345670000"},
      {1152921504606847232.0, "1152921504606847200"},
      {-999999999999999868928.0, "-999999999999999900000"},
      {1e21, "1e+21"},
      {-1.5e21, "-1.5e+21"},
      {1e100, "1e+100"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {1234567890123456.8, "1234567890123456.8"},
      {-4503599627370495.5, "-4503599627370495.5"},
      {9007199254740992.0, "9007199254740992"},
      {1.0 / 3, "0.3333333333333333"},
      {100000000.25, "100000000.25"},
  };
  for (const auto& [value, text] : kCases) {
    EXPECT_EQ(Json(value).dump(), text);
    EXPECT_EQ(parsed(text).as_double(), value) << text;
  }
}

TEST(Json, WhatIsNotFiniteIsWrittenAsNull) {
  EXPECT_EQ(Json::array({std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity(),
                         std::numeric_limits<double>::quiet_NaN()})
                .dump(),
            "[null,null,null]");
}

TEST(Json, EscapesAreRead) {
  EXPECT_EQ(parsed(R"("\"\\\/\b\f\n\r\t\u0041\u00e4\u20AC\ud83d\ude00")").as_string(),
            "\"\\/\b\f\n\r\tA\xC3\xA4\xE2\x82\xAC\xF0\x9F\x98\x80");
  EXPECT_EQ(parsed(R"("\u0000x")").as_string(), std::string("\0x", 2));
  EXPECT_EQ(parsed(R"("\udbff\udfff")").as_string(), "\xF4\x8F\xBF\xBF");
  EXPECT_EQ(parsed(R"({"\u0061\n":1})").dump(), R"({"a\n":1})");
  EXPECT_EQ(parsed("\"plain start, then \\\"quoted\\\" and \xC3\xA4 and a long plain end of it\"").as_string(),
            "plain start, then \"quoted\" and \xC3\xA4 and a long plain end of it");
}

TEST(Json, SurrogatesComeInPairs) {
  for (const std::string_view wrong : {R"("\ud800")", R"("\udc00")", R"("\ud800x")", R"("\ud800\u0041")",
                                       R"("\ud800\ud800")", R"("\udc00\ud800")", R"("\ud800\n")", R"("\ud800\u12")"}) {
    EXPECT_EQ(refusal(wrong).substr(0, 58), "JSON at byte 3: a \\u surrogate without its other half, fou") << wrong;
  }
}

TEST(Json, StringsAreWrittenAsUtf8WithTheLeastEscapes) {
  EXPECT_EQ(Json("a\"b\\c/d\b\f\n\r\t\x01\x1f\x7f\xC3\xA4<>&").dump(),
            "\"a\\\"b\\\\c/d\\b\\f\\n\\r\\t\\u0001\\u001f\x7f\xC3\xA4<>&\"");
  EXPECT_EQ(Json("a\xFF\xC3z\xED\xA0\x80").dump(), "\"a\xEF\xBF\xBD\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\"")
      << "invalid UTF-8 is replaced, byte by byte";
}

TEST(Json, InvalidUtf8IsRefusedAtItsByte) {
  EXPECT_EQ(refusal("[\"ab\xFF\"]"), R"(JSON at byte 4: invalid UTF-8 in a string, found "\xff")");
  EXPECT_EQ(refusal("\"\xC0\x80\""), R"(JSON at byte 1: invalid UTF-8 in a string, found "\xc0")");
  EXPECT_EQ(refusal("\"\xED\xA0\x80\""), R"(JSON at byte 1: invalid UTF-8 in a string, found "\xed")");
  EXPECT_EQ(refusal("\"\xC3\xA4\xE2\x82\""), R"(JSON at byte 3: invalid UTF-8 in a string, found "\xe2")");
  EXPECT_EQ(refusal("{\"\x80\":1}"), R"(JSON at byte 2: invalid UTF-8 in a string, found "\x80")");
  EXPECT_EQ(refusal("\xEF\xBB\xBF{}"), R"(JSON at byte 0: expected a value, found "\xef")") << "a byte order mark";
}

TEST(Json, ErrorsSayWhereAndWhat) {
  const std::pair<std::string_view, std::string_view> kCases[] = {
      {"", "JSON at byte 0: expected a value, found the end of the text"},
      {"  ", "JSON at byte 2: expected a value, found the end of the text"},
      {"x", R"(JSON at byte 0: expected a value, found "x")"},
      {"nul", R"(JSON at byte 0: expected a value, found "n")"},
      {"truE", R"(JSON at byte 0: expected a value, found "t")"},
      {"1 2", R"(JSON at byte 2: expected nothing after the value, found "2")"},
      {"{} }", R"(JSON at byte 3: expected nothing after the value, found "}")"},
      {"[1,]", R"(JSON at byte 3: expected a value, found "]")"},
      {"[,1]", R"(JSON at byte 1: expected a value, found ",")"},
      {"[1 2]", R"(JSON at byte 3: expected , or ] after an element, found "2")"},
      {"[1}", R"(JSON at byte 2: expected , or ] after an element, found "}")"},
      {"[1", "JSON at byte 2: expected , or ] after an element, found the end of the text"},
      {"[", "JSON at byte 1: expected a value, found the end of the text"},
      {"{", "JSON at byte 1: expected a member name, found the end of the text"},
      {"{\"a\"", "JSON at byte 4: expected : after a member name, found the end of the text"},
      {"{\"a\":", "JSON at byte 5: expected a value, found the end of the text"},
      {"{\"a\":}", R"(JSON at byte 5: expected a value, found "}")"},
      {"{\"a\":1,}", R"(JSON at byte 7: expected a member name, found "}")"},
      {"{\"a\":1", "JSON at byte 6: expected , or } after a member, found the end of the text"},
      {"{\"a\":1]", R"(JSON at byte 6: expected , or } after a member, found "]")"},
      {"{\"a\" 1}", R"(JSON at byte 5: expected : after a member name, found "1")"},
      {"{1:1}", R"(JSON at byte 1: expected a member name, found "1")"},
      {"{,}", R"(JSON at byte 1: expected a member name, found ",")"},
      {"\"a", "JSON at byte 2: the string is not closed, found the end of the text"},
      {"\"a\\", R"(JSON at byte 2: the string is not closed, found "\\")"},
      {"\"a\nb\"", R"(JSON at byte 2: a control character in a string must be escaped, found "\n")"},
      {R"("\x41")", R"(JSON at byte 2: no such escape in a string, found "x")"},
      {R"("\u12g4")", R"(JSON at byte 3: expected four hex digits after \u, found "1")"},
      {"01", R"(JSON at byte 1: a number must not start with 0, found "1")"},
      {"-", "JSON at byte 1: expected a value, found the end of the text"},
      {"+1", R"(JSON at byte 0: expected a value, found "+")"},
      {".5", R"(JSON at byte 0: expected a value, found ".")"},
      {"1.", "JSON at byte 2: expected a digit after the decimal point, found the end of the text"},
      {"1e+", "JSON at byte 3: expected a digit in the exponent, found the end of the text"},
      {"NaN", R"(JSON at byte 0: expected a value, found "N")"},
      {"[1]\f", R"(JSON at byte 3: expected nothing after the value, found "\x0c")"},
      {"'a'", R"(JSON at byte 0: expected a value, found "'")"},
      {"/**/1", R"(JSON at byte 0: expected a value, found "/")"},
  };
  for (const auto& [text, message] : kCases) EXPECT_EQ(refusal(text), message) << text;
}

TEST(Json, DepthIsBounded) {
  EXPECT_EQ(refusal(nested(JsonReader::kDepthMax, "[", "]")), "accepted");
  EXPECT_EQ(refusal(nested(JsonReader::kDepthMax, "{\"a\":", "}")), "accepted");
  EXPECT_EQ(refusal(nested(JsonReader::kDepthMax + 1, "[", "]")), R"(JSON at byte 128: nested too deeply, found "[")");
  EXPECT_EQ(refusal(nested(JsonReader::kDepthMax + 1, "{\"a\":", "}")),
            R"(JSON at byte 640: nested too deeply, found "{")");
  EXPECT_EQ(refusal(std::string(1'000'000, '[')), R"(JSON at byte 128: nested too deeply, found "[")");
  EXPECT_EQ(refusal(nested(64, "[[],{\"a\":", "}]")), "accepted") << "levels that are closed again do not count";
}

TEST(Json, OfDuplicateKeysTheLastWins) {
  EXPECT_EQ(parsed(R"({"a":1,"b":2,"a":3})").dump(), R"({"a":3,"b":2})");
  EXPECT_EQ(parsed(R"({"a":1,"\u0061":2,"a":{"x":1,"x":2}})").dump(), R"({"a":{"x":2}})");
  std::string text = "{\"k\":-1";
  for (int i = 0; i < 100; ++i) text += cat(",\"", i % 50, "\":", i);
  const Json value = parsed(text + ",\"k\":-2}");
  EXPECT_EQ(value.as_object().size(), 51U);
  EXPECT_EQ(value.as_object().begin()->first, "k") << "in the place of the first";
  EXPECT_EQ(value.at("k")->get_int(), -2);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(value.at(cat(i))->get_int(), i + 50);
}

// 400,000 members would take minutes with a linear search for each; the test's own time limit catches that.
TEST(Json, HostileObjectsDoNotTakeQuadraticTime) {
  std::string distinct = "{";
  std::string reversed = "{";
  std::string same = "{";
  constexpr int kMembers = 400'000;
  for (int i = 0; i < kMembers; ++i) {
    const std::string_view comma = i > 0 ? "," : "";
    distinct += cat(comma, "\"", i, "\":0");
    reversed += cat(comma, "\"", kMembers - 1 - i, "\":0");
    same += cat(comma, "\"k\":", i);
  }
  const Json many = parsed(distinct + "}");
  EXPECT_EQ(many.as_object().size(), std::size_t{kMembers});
  EXPECT_TRUE(many == parsed(reversed + "}"));
  EXPECT_EQ(parsed(same + "}").dump(), cat("{\"k\":", kMembers - 1, "}"));
}

TEST(Json, EqualityIsByValue) {
  EXPECT_EQ(parsed("1"), parsed("1.0"));
  EXPECT_EQ(parsed(R"({"a":1,"b":[2]})"), parsed(R"({"b":[2.0],"a":1})"));
  EXPECT_NE(parsed(R"({"a":1})"), parsed(R"({"a":1,"b":2})"));
  EXPECT_NE(parsed(R"({"a":1,"b":2})"), parsed(R"({"a":1,"c":2})"));
  EXPECT_NE(parsed("[1,2]"), parsed("[2,1]"));
  EXPECT_NE(Json(kIntMax), Json(kIntMax - 1)) << "integers are compared exactly";
  EXPECT_NE(Json(1), Json(true));
  EXPECT_NE(Json(0), Json());
  EXPECT_NE(Json("1"), Json(1));
  EXPECT_NE(Json(false), Json(true));
}

TEST(JsonProperty, WhatIsWrittenReadsBackEqual) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const Json tree = RandomTree(seed).value(4);
    const std::string text = tree.dump();
    EXPECT_EQ(parsed(text), tree) << seed;
    EXPECT_EQ(parsed(tree.dump_pretty()), tree) << seed;
    EXPECT_EQ(refusal(text), "accepted");
  }
}

// Every prefix, and every single byte changed: skip and tree must agree on each, to the message.
TEST(JsonProperty, SkippingAndReadingAgreeOnDamagedText) {
  std::size_t accepted = 0;
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    RandomTree random(1000 + seed);
    const std::string text = random.value(2).dump().substr(0, 400);
    for (std::size_t i = 0; i < text.size(); ++i) {
      std::string damaged = text;
      damaged[i] = "\"\\{}[]:,0-e.tn u\x01\xC3\xFF"[random.below(20)];
      for (const std::string& candidate : {text.substr(0, i), damaged}) {
        ++(refusal(candidate) == "accepted" ? accepted : refused);
      }
    }
  }
  EXPECT_GT(accepted, 100U);
  EXPECT_GT(refused, 1000U);
}

// The scan takes 16 and 8 bytes at a time: the interesting byte is put on every place around those sizes.
TEST(JsonProperty, StringsEndWhereTheyEndAtEveryLengthAndAlignment) {
  for (std::size_t lead = 0; lead < 17; ++lead) {
    for (std::size_t size = 0; size < 50; ++size) {
      const std::string body(size, 'x');
      const std::string blanks(lead, ' ');
      EXPECT_EQ(parsed(blanks + "\"" + body + "\"").as_string(), body);
      EXPECT_EQ(parsed(blanks + "\"" + body + "\\n\xC3\xA4" + body + "\"").as_string(), body + "\n\xC3\xA4" + body);
      EXPECT_NE(refusal(blanks + "\"" + body + "\x1f" + body + "\""), "accepted");
      EXPECT_NE(refusal(blanks + "\"" + body), "accepted");
      EXPECT_EQ(Json(body + "\"" + body).dump(), "\"" + body + "\\\"" + body + "\"");
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    for (const std::size_t size : {0, 3, 20}) {
      const std::string around(size, 'x');
      const std::string text = "\"" + around + static_cast<char>(byte) + around + "\"";
      const bool plain = byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\';
      EXPECT_EQ(refusal(text) == "accepted", plain) << byte << " in " << size;
    }
  }
}

struct Port {
  std::string name = "none";
  std::int64_t port = -1;
  double weight = 0.5;
  bool open = true;
};

TEST(JsonReader, DecodesStraightIntoAStruct) {
  const std::string_view text =
      R"({"items":[{"name":"we\u0062","port":80,"weight":1e1,"open":false,"x":{"deep":[[1],{"y":null}]}},)"
      R"({"name":null,"port":null,"weight":null,"open":null}],"kind":"List"})";
  std::vector<Port> ports;
  std::string kind;
  JsonReader reader(text);
  reader.object([&](std::string_view list_key) {
    if (list_key == "kind") {
      reader.string(kind);
    } else {
      reader.array([&] {
        Port& port = ports.emplace_back();
        reader.object([&](std::string_view key) {
          if (key == "name") {
            reader.string(port.name);
          } else if (key == "port") {
            reader.integer(port.port);
          } else if (key == "weight") {
            reader.number(port.weight);
          } else if (key == "open") {
            reader.boolean(port.open);
          } else {
            reader.skip();
          }
        });
      });
    }
  });
  ASSERT_TRUE(reader.finish());
  ASSERT_EQ(ports.size(), 2U);
  EXPECT_EQ(kind, "List");
  EXPECT_EQ(ports[0].name, "web");
  EXPECT_EQ(ports[0].port, 80);
  EXPECT_EQ(ports[0].weight, 10.0);
  EXPECT_FALSE(ports[0].open);
  EXPECT_EQ(ports[1].name, "none") << "null leaves the target as it is";
  EXPECT_EQ(ports[1].port, -1);
  EXPECT_EQ(ports[1].weight, 0.5);
  EXPECT_TRUE(ports[1].open);
}

TEST(JsonReader, NullCountsAsEmpty) {
  JsonReader reader("[null,null,null]");
  int calls = 0;
  std::string_view view = "kept";
  int element = 0;
  reader.array([&] {
    switch (element++) {
      case 0:
        EXPECT_TRUE(reader.object([&](std::string_view) { ++calls; }));
        break;
      case 1:
        EXPECT_TRUE(reader.array([&] { ++calls; }));
        break;
      default:
        EXPECT_TRUE(reader.string_view(view));
    }
  });
  EXPECT_TRUE(reader.finish());
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(view, "kept");
}

TEST(JsonReader, AViewPointsIntoTheTextWhereNothingIsEscaped) {
  const std::string_view text = "[\"gr\xC3\xBC\xC3\x9F\",\"a\\nb\"]";
  JsonReader reader(text);
  std::vector<std::pair<bool, std::string>> seen;
  reader.array([&] {
    std::string_view view;
    reader.string_view(view);
    seen.emplace_back(view.data() >= text.data() && view.data() < text.data() + text.size(), std::string(view));
  });
  EXPECT_TRUE(reader.finish());
  EXPECT_EQ(seen, (std::vector<std::pair<bool, std::string>>{{true, "gr\xC3\xBC\xC3\x9F"}, {false, "a\nb"}}));
}

TEST(JsonReader, RawAnswersTheBytesOfOneValue) {
  JsonReader reader(R"({"a": {"x" : [1, 2]} ,"b":"\n"})");
  std::vector<std::string_view> values;
  reader.object([&](std::string_view) { reader.raw(values.emplace_back()); });
  EXPECT_TRUE(reader.finish());
  EXPECT_EQ(values, (std::vector<std::string_view>{R"({"x" : [1, 2]})", R"("\n")"}));
}

TEST(JsonReader, PeekTellsTheKindAndConsumesNothing) {
  using Type = JsonReader::Type;
  const std::pair<std::string_view, Type> kCases[] = {
      {" null", Type::kNull}, {"true", Type::kBool},   {"false", Type::kBool}, {"-1", Type::kNumber},
      {"9", Type::kNumber},   {"\"\"", Type::kString}, {"\n[]", Type::kArray}, {"{}", Type::kObject},
      {"", Type::kError},     {"?", Type::kError},
  };
  for (const auto& [text, type] : kCases) {
    JsonReader reader(text);
    EXPECT_EQ(reader.peek(), type) << text;
    EXPECT_EQ(reader.skip(), type != Type::kError) << text;
  }
}

TEST(JsonReader, AWrongKindIsAnErrorThatNamesTheWantedOne) {
  const auto message = [](std::string_view text, auto&& read) {
    JsonReader reader(text);
    EXPECT_FALSE(read(reader)) << text;
    EXPECT_FALSE(reader.ok());
    return reader.error().message;
  };
  std::int64_t whole = 7;
  double real = 7;
  bool flag = true;
  std::string text = "kept";
  EXPECT_EQ(message("1.5", [&](auto& r) { return r.integer(whole); }),
            R"(JSON at byte 0: expected an integer, not a fraction, found "1")");
  EXPECT_EQ(message("1e2", [&](auto& r) { return r.integer(whole); }),
            R"(JSON at byte 0: expected an integer, not a fraction, found "1")");
  EXPECT_EQ(message("9223372036854775808", [&](auto& r) { return r.integer(whole); }),
            R"(JSON at byte 0: the integer does not fit into 64 bits, found "9")");
  EXPECT_EQ(message("\"1\"", [&](auto& r) { return r.integer(whole); }),
            R"(JSON at byte 0: expected an integer, found "\"")");
  EXPECT_EQ(message("1e999", [&](auto& r) { return r.number(real); }),
            R"(JSON at byte 0: the number is too large for a double, found "1")");
  EXPECT_EQ(message("true", [&](auto& r) { return r.number(real); }),
            R"(JSON at byte 0: expected a number, found "t")");
  EXPECT_EQ(message("0", [&](auto& r) { return r.boolean(flag); }),
            R"(JSON at byte 0: expected true or false, found "0")");
  EXPECT_EQ(message("0", [&](auto& r) { return r.string(text); }), R"(JSON at byte 0: expected a string, found "0")");
  EXPECT_EQ(message("[]", [&](auto& r) { return r.object([](std::string_view) {}); }),
            R"(JSON at byte 0: expected an object, found "[")");
  EXPECT_EQ(message("{}", [&](auto& r) { return r.array([] {}); }), R"(JSON at byte 0: expected an array, found "{")");
  EXPECT_EQ(whole, 7);
  EXPECT_EQ(real, 7);
  EXPECT_TRUE(flag);
  EXPECT_EQ(text, "kept");
}

TEST(JsonReader, TheFirstErrorSticks) {
  JsonReader reader(R"({"a":"text","b":2,"c":[1,2]})");
  int members = 0;
  std::int64_t number = 7;
  reader.object([&](std::string_view) {
    ++members;
    reader.integer(number);
  });
  EXPECT_EQ(members, 1);
  EXPECT_FALSE(reader.skip());
  EXPECT_FALSE(reader.integer(number));
  EXPECT_FALSE(reader.array([] { ADD_FAILURE() << "nothing is left to read"; }));
  EXPECT_EQ(number, 7);
  const auto result = reader.finish();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, R"(JSON at byte 5: expected an integer, found "\"")");
}

TEST(JsonReader, ADecoderCanRefuseAValue) {
  JsonReader reader(R"([5,-6,7])");
  int elements = 0;
  reader.array([&] {
    std::int64_t cores = 0;
    reader.integer(cores);
    ++elements;
    if (cores < 0) reader.fail_here("cores must not be negative");
  });
  EXPECT_EQ(elements, 2);
  EXPECT_EQ(reader.error().message, R"(JSON at byte 3: cores must not be negative, found "-")");
}

TEST(JsonReader, TheDepthOfASkippedValueCountsOnTopOfTheReaders) {
  const auto skip_below = [](int depth) {
    const std::string text = "[" + nested(depth, "[", "]") + "]";
    JsonReader reader(text);
    reader.array([&] { reader.skip(); });
    return reader.finish().has_value();
  };
  EXPECT_TRUE(skip_below(JsonReader::kDepthMax - 1));
  EXPECT_FALSE(skip_below(JsonReader::kDepthMax));
}

TEST(JsonReader, ACallbackThatReadsNothingIsABug) {
  EXPECT_DEATH(
      {
        JsonReader reader(R"({"a":1})");
        reader.object([](std::string_view) {});
      },
      "a member callback must consume its value");
  EXPECT_DEATH(
      {
        JsonReader reader("[1,2]");
        reader.array([] {});
      },
      "an element callback must consume its value");
}

TEST(JsonWriter, PutsCommasByItself) {
  std::string out;
  JsonWriter writer(out);
  writer.begin_object().member("name", "n1").member("cores", 8).member("load", 0.5).member("ready", true);
  writer.key("pods").begin_array().value(std::int64_t{1}).begin_object().end_object().begin_array().end_array();
  writer.null().value("x").end_array().key("raw").raw("{\"a\":1}").member("last", std::string("\"")).end_object();
  EXPECT_EQ(out,
            R"({"name":"n1","cores":8,"load":0.5,"ready":true,"pods":[1,{},[],null,"x"],"raw":{"a":1},"last":"\""})");
  EXPECT_TRUE(Json::parse(out).has_value());
}

}  // namespace
}  // namespace tidemark::base
