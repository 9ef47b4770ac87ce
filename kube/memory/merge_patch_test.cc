#include "kube/memory/merge_patch.h"

#include <gtest/gtest.h>

namespace tidemark::kube::memory {
namespace {

Json merge_patched(std::string_view target, std::string_view patch) {
  Json value = *Json::parse(target);
  apply_merge_patch(value, *Json::parse(patch));
  return value;
}

// The table of RFC 7396, appendix A.
TEST(MergePatch, PassesTheExamplesOfTheRfc) {
  const struct {
    const char* target;
    const char* patch;
    const char* result;
  } rows[] = {
      {R"({"a":"b"})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"b"})", R"({"b":"c"})", R"({"a":"b","b":"c"})"},
      {R"({"a":"b"})", R"({"a":null})", R"({})"},
      {R"({"a":"b","b":"c"})", R"({"a":null})", R"({"b":"c"})"},
      {R"({"a":["b"]})", R"({"a":"c"})", R"({"a":"c"})"},
      {R"({"a":"c"})", R"({"a":["b"]})", R"({"a":["b"]})"},
      {R"({"a":{"b":"c"}})", R"({"a":{"b":"d","c":null}})", R"({"a":{"b":"d"}})"},
      {R"({"a":[{"b":"c"}]})", R"({"a":[1]})", R"({"a":[1]})"},
      {R"(["a","b"])", R"(["c","d"])", R"(["c","d"])"},
      {R"({"a":"b"})", R"(["c"])", R"(["c"])"},
      {R"({"a":"foo"})", "null", "null"},
      {R"({"a":"foo"})", R"("bar")", R"("bar")"},
      {R"({"e":null})", R"({"a":1})", R"({"e":null,"a":1})"},
      {R"([1,2])", R"({"a":"b","c":null})", R"({"a":"b"})"},
      {R"({})", R"({"a":{"bb":{"ccc":null}}})", R"({"a":{"bb":{}}})"},
  };
  for (const auto& row : rows) EXPECT_EQ(merge_patched(row.target, row.patch), *Json::parse(row.result)) << row.patch;
}

}  // namespace
}  // namespace tidemark::kube::memory
