#include "yarn_operator/preempted_containers.h"

#include <gtest/gtest.h>

#include "kube/intern.h"

namespace tidemark::yarn_operator {
namespace {

using namespace std::chrono_literals;

const base::WallTime kNow = *base::parse_rfc3339("2026-11-21T20:00:00Z");

class PreemptedContainersTest : public ::testing::Test {
 protected:
  kube::Node node(std::string_view text = "") {
    Json object = Json::object({{"metadata", Json::object({{"name", "n"}})}});
    if (!text.empty()) {
      object["metadata"]["annotations"] = Json::object({{std::string(model::kYarnPreemptedAnnotation), Json(text)}});
    }
    kube::NodeFields fields;
    fields.meta.annotations = {model::kYarnPreemptedAnnotation};
    return *kube::decode_node(object.dump(), fields, interner);
  }
  static std::string written(base::WallTime at, std::int64_t containers) {
    return model::format_ended_tasks({{at, "transcode", "", containers, 0}});
  }
  kube::Interner interner;
  PreemptedContainers book;
};

TEST_F(PreemptedContainersTest, AddsNodeAnnotationAndRecentEntries) {
  const auto before = node(written(kNow + -10min, 2));
  book.add(before, "transcode", 3, kNow);
  book.add(before, "transcode", 0, kNow);
  EXPECT_EQ(book.containers(before, kNow), 5);
  const auto text = book.to_write(before, kNow);
  ASSERT_TRUE(text);
  const auto after = node(*text);
  EXPECT_EQ(book.containers(after, kNow), 5) << "delivered by the watch: counted once";
  EXPECT_EQ(PreemptedContainers().containers(after, kNow), 5) << "a restarted operator";
  EXPECT_FALSE(book.to_write(after, kNow));
}

// Entries that the node carries, or that are older than an hour, are dropped from memory.
TEST_F(PreemptedContainersTest, DropsOldAndPublishedEntries) {
  kube::Node now = node();
  for (int i = 0; i < 1000; ++i) {
    const base::WallTime at = kNow + i * 1min;
    book.add(now, "transcode", 1, at);
    EXPECT_LE(book.kept(now), 60U);
    if (i >= 500) now = node(*book.to_write(now, at));
    if (i > 500) EXPECT_LE(book.kept(now), 1U);
  }
}

TEST_F(PreemptedContainersTest, KeepsTwoEntriesOfTheSameTimeApart) {
  book.add(node(), "transcode", 1, kNow);
  book.add(node(), "transcode", 1, kNow);
  const auto told = model::parse_ended_tasks(*book.to_write(node(), kNow));
  ASSERT_EQ(told->size(), 2U);
  EXPECT_LT((*told)[0].at, (*told)[1].at);
}

TEST_F(PreemptedContainersTest, IsRemovedAfterTheHour) {
  const auto old = node(written(kNow, 2));
  EXPECT_FALSE(book.to_write(old, kNow + 59min));
  EXPECT_EQ(book.containers(old, kNow + 59min), 2);
  EXPECT_EQ(book.containers(old, kNow + 60min), 0);
  EXPECT_EQ(book.to_write(old, kNow + 60min), "");
  EXPECT_FALSE(book.to_write(node(), kNow)) << "nothing ever ended, so nothing is written";
}

TEST_F(PreemptedContainersTest, IgnoresUnreadableAndFarFutureEntries) {
  EXPECT_EQ(book.containers(node("{"), kNow), 0);
  EXPECT_EQ(book.containers(node(written(kNow + 2h, 2)), kNow), 0);
  EXPECT_EQ(book.to_write(node("{"), kNow), "");
}

}  // namespace
}  // namespace tidemark::yarn_operator
