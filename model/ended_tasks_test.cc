#include "model/ended_tasks.h"

#include <gtest/gtest.h>

#include <string>

namespace tidemark::model {
namespace {

base::WallTime at(std::string_view text) {
  return *base::parse_rfc3339(text);
}

TEST(EndedTasksTest, ReadsWhatItWrote) {
  const std::vector<EndedTasks> ends{{at("2026-03-01T02:00:00Z"), "spark", "", 0, 12},
                                     {at("2026-03-01T02:03:10.000007Z"), "", "yarn/application_1_0001", 1, 0}};
  const std::string text = format_ended_tasks(ends);
  EXPECT_EQ(text, R"({"schema":1,"ends":[{"at":"2026-03-01T02:00:00.000000Z","class":"spark","finished":12},)"
                  R"({"at":"2026-03-01T02:03:10.000007Z","job":"yarn/application_1_0001","evicted":1}]})");
  EXPECT_EQ(*parse_ended_tasks(text), ends);
  EXPECT_EQ(*parse_ended_tasks(format_ended_tasks({})), std::vector<EndedTasks>());
  EXPECT_EQ(parse_ended_tasks(R"({"schema":1,"ends":[{"at":"2026-03-01T02:00:00Z","lost":3}],"more":1})")->size(), 1u)
      << "what a newer agent adds is passed over";
}

TEST(EndedTasksTest, KeepsTheLastEntriesInOrder) {
  std::vector<EndedTasks> many;
  for (int i = 0; i < 100; ++i) many.push_back({at("2026-03-01T02:00:00Z") + std::chrono::seconds(i), "", "", 0, i});
  const auto read = parse_ended_tasks(format_ended_tasks(many));
  ASSERT_EQ(read->size(), kEndedTasksMax);
  EXPECT_EQ(read->back().finished, 99);
  const auto turned = parse_ended_tasks(
      R"({"schema":1,"ends":[{"at":"2026-03-01T02:00:01Z","evicted":1},{"at":"2026-03-01T02:00:00Z","evicted":2}]})");
  EXPECT_EQ(turned->front().evicted, 2);
}

TEST(EndedTasksTest, RejectsInvalidEntriesAndNamesThePlace) {
  const auto why = [](std::string_view text) {
    const auto read = parse_ended_tasks(text);
    return read ? std::string("taken") : read.error().message;
  };
  EXPECT_EQ(why(R"({"schema":2})"), R"(schema: wanted 1, found "2")");
  EXPECT_EQ(why(R"([])"), "schema: wanted 1, found none");
  EXPECT_EQ(why(R"({"schema":1,"ends":{}})"), "ends: wanted an array of at most 64");
  EXPECT_EQ(why(R"({"schema":1,"ends":[3]})"), R"(wanted an object, found "3")");
  EXPECT_EQ(why(R"({"schema":1,"ends":[{"at":"soon"}]})"), "at: wanted a time like 2026-03-01T02:00:00Z");
  EXPECT_EQ(why(R"({"schema":1,"ends":[{"at":"2026-03-01T02:00:00Z","evicted":-1}]})"),
            R"(evicted: wanted 0 to 100000, found "-1")");
  EXPECT_EQ(why(R"({"schema":1,"ends":[{"at":"2026-03-01T02:00:00Z","class":7}]})"),
            "class: wanted a string of at most 320 bytes");
}

}  // namespace
}  // namespace tidemark::model
