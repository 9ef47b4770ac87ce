#include "kube/json_index.h"

#include <gtest/gtest.h>

#include "base/random.h"
#include "base/text.h"

namespace tidemark::kube {
namespace {

using base::cat;

Json with_members(int count) {
  Json object = Json::object();
  for (int i = 0; i < count; ++i) object.as_object().append_unchecked(cat("k", i), i);
  return object;
}

TEST(JsonIndex, FindsMembersAtEverySize) {
  for (const int size : {0, 1, 32, 33, 1000}) {
    const Json object = with_members(size);
    const JsonIndex index(object.as_object());
    for (int i = 0; i < size; ++i) {
      const Json* found = index.find(cat("k", i));
      ASSERT_NE(found, nullptr);
      EXPECT_EQ(found->as_int(), i);
    }
    EXPECT_EQ(index.find("none"), nullptr);
  }
}

// The same as the same calls on the object itself, in any order, around the size where the way of looking up changes.
TEST(JsonMembers, EqualsTheSameChangesMadeOneByOne) {
  base::Random random(7);
  for (int round = 0; round < 500; ++round) {
    Json plain = with_members(static_cast<int>(random.below(60)));
    Json fast = plain;
    {
      JsonMembers members(fast.as_object());
      for (int step = 0; step < 80; ++step) {
        const std::string name = cat("k", random.below(80));
        const Json* there = plain.as_object().find(name);
        Json* seen = members.find(name);
        ASSERT_EQ(there == nullptr, seen == nullptr) << name;
        if (there == nullptr) {
          plain.as_object().append_unchecked(name, step);
          members.add(name, step);
        } else if (random.below(2) == 0) {
          plain.as_object().erase(name);
          members.erase(name);
        } else {
          plain.as_object().set(name, step);
          *seen = step;
        }
      }
    }
    EXPECT_EQ(fast.dump(), plain.dump());
  }
}

TEST(JsonIdentity, IsEqualExactlyForEqualValues) {
  const Json values[] = {nullptr,
                         true,
                         1,
                         2,
                         1.5,
                         "1",
                         "",
                         *Json::parse("-0.0"),
                         *Json::parse("0"),
                         *Json::parse("1.0"),
                         *Json::parse(R"({"a":1,"b":[1,{"c":2,"d":3}]})"),
                         *Json::parse(R"({"b":[1,{"d":3,"c":2.0}],"a":1})"),
                         *Json::parse(R"({"a":1,"b":[{"c":2,"d":3},1]})"),
                         *Json::parse(R"(["a,b"])"),
                         *Json::parse(R"(["a","b"])"),
                         *Json::parse("[]"),
                         *Json::parse("{}")};
  for (const Json& a : values)
    for (const Json& b : values) EXPECT_EQ(json_identity(a) == json_identity(b), a == b) << a.dump() << " " << b.dump();
}

}  // namespace
}  // namespace tidemark::kube
