#include "yarn_copilot/work_labels.h"

#include <gtest/gtest.h>

#include <string>

#include "base/text.h"

namespace tidemark::yarn_copilot {
namespace {

std::string labels(std::vector<std::string> tags, std::string queue, std::vector<std::string> rules = {}) {
  hadoop::ApplicationReport report;
  report.tags = std::move(tags);
  report.queue = std::move(queue);
  const auto queues = read_queue_classes(rules);
  EXPECT_TRUE(queues) << queues.error().message;
  std::string out;
  for (const auto& [key, value] : work_labels(report, *queues)) {
    out += base::cat(out.empty() ? "" : " ", key.substr(key.find('/') + 1), "=", value);
  }
  return out;
}

TEST(WorkLabels, ComeFromTags) {
  EXPECT_EQ(labels({"x", "tidemark-class:spark", "tidemark-business:ads", "tidemark-job:nightly"}, "default"),
            "class=spark business=ads job=nightly");
  EXPECT_EQ(labels({"tidemark-class:spark", "tidemark-class:other"}, "default"), "class=spark") << "the first";
  EXPECT_EQ(labels({"tidemark-class:", "tidemark-class:a b", "tidemark-business:-x"}, "default"), "")
      << "an invalid label value";
  EXPECT_EQ(labels({}, "default"), "");
}

TEST(WorkLabels, ComeFromTheQueueIfNoTagGivesThem) {
  const std::vector<std::string> rules = {"etl=transcode", "root.etl.nightly=spark", "adhoc=query"};
  EXPECT_EQ(labels({}, "root.etl", rules), "class=transcode");
  EXPECT_EQ(labels({}, "etl", rules), "class=transcode");
  EXPECT_EQ(labels({}, "root.etl.hourly", rules), "class=transcode") << "below it";
  EXPECT_EQ(labels({}, "root.etl.nightly", rules), "class=spark") << "the longer rule";
  EXPECT_EQ(labels({}, "root.users.adhoc", rules), "class=query") << "its last name matches";
  EXPECT_EQ(labels({}, "root.etlx", rules), "");
  EXPECT_EQ(labels({}, "default", rules), "");
  EXPECT_EQ(labels({}, "default", {"root=rest"}), "class=rest");
  EXPECT_EQ(labels({"tidemark-class:mine"}, "root.etl", rules), "class=mine") << "the tag wins";
}

TEST(WorkLabels, RejectInvalidRules) {
  const auto error = [](std::vector<std::string> texts) {
    const auto read = read_queue_classes(texts);
    return read ? std::string("none") : read.error().message;
  };
  EXPECT_EQ(error({"etl"}), "wanted QUEUE=CLASS, found \"etl\"");
  EXPECT_EQ(error({"=spark"}), "wanted QUEUE=CLASS, found \"=spark\"");
  EXPECT_EQ(error({"etl=a b"}), "the class in \"etl=a b\" is not a valid label value");
  EXPECT_EQ(error({"etl=a", "etl=b"}), "the queue \"etl\" has two classes");
}

}  // namespace
}  // namespace tidemark::yarn_copilot
