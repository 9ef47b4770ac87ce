#include "cli/node_record.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>

#include "base/text.h"
#include "model/node_record.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

const base::WallTime kRecordTime = *base::parse_rfc3339("2026-11-23T12:00:00Z");

model::NodeRecord line_at(base::WallTime time, std::string node) {
  model::NodeRecord out;
  out.time = time;
  out.node = std::move(node);
  out.over = 30s;
  out.permit = "enforce";
  out.cpus = 8;
  out.cpu_milli = 5'200;
  out.offline_milli = 2'100;
  model::TaskRecord quiet, held;
  quiet.source = held.source = "kubernetes";
  quiet.name = "quiet";
  held.ns = "shop";
  held.name = "web-0";
  held.cpu_pressure = 80;
  out.tasks = {quiet, held};
  return out;
}

class NodeRecordTest : public ::testing::Test {
 protected:
  NodeRecordTest() {
    char name[] = "/tmp/tidemark-record-XXXXXX";
    directory = ::mkdtemp(name);
    std::ofstream file(directory + "/record.jsonl");
    for (const auto& [age, node] : {std::pair{20min, "n1"}, {10min, "n1"}, {9min, "n2"}}) {
      file << model::to_line(line_at(kRecordTime + -age, node)) << "\n";
    }
    file << "broken\n";
  }
  ~NodeRecordTest() override {
    ::unlink((directory + "/record.jsonl").c_str());
    ::rmdir(directory.c_str());
  }
  std::string directory;
};

TEST_F(NodeRecordTest, HasTheLinesOfTheNodeInTheTimeRange) {
  const auto found = node_record_json(directory, "n1", kRecordTime + -15min, kRecordTime);
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_EQ(found->member("records")->as_array().size(), 1U);
  const Json& line = found->member("records")->as_array()[0];
  EXPECT_EQ(line.at("used")->get_int(), 5'200);
  EXPECT_TRUE(line.at("limit")->is_null()) << "unknown is not 0";
  ASSERT_EQ(line.at("tasks")->as_array().size(), 1U) << "a quiet task is left out";
  EXPECT_EQ(line.at("tasks")->as_array()[0].text_at("name"), "web-0");
}

TEST_F(NodeRecordTest, HasTheContainersOfTheLastFullRecordAndWhatChangedSince) {
  const auto container = [](std::string name, std::int64_t cpu) {
    model::TaskRecord out;
    out.source = "yarn";
    out.name = std::move(name);
    out.offline = true;
    out.cpu_milli = cpu;
    return out;
  };
  model::NodeRecord full = line_at(kRecordTime + -8min, "n1"), later = line_at(kRecordTime + -7min, "n1");
  full.whole = true;
  full.tasks = {container("c1", 500), container("c2", 700), container("c3", 10), container("job-1", 5)};
  full.tasks[0].work_class = full.tasks[3].work_class = "spark";
  full.tasks[3].source = "kubernetes";
  full.tasks[3].ns = "night";
  full.tasks[0].limits = {{"", "cpu.shares", "512", "inForce", "TM-LIMIT-001"}};
  full.tasks[3].limits = {{"main", "cpu.cfs_quota_us", "50000", "refused", "TM-KNOB-003"}};
  later.tasks = {container("c1", 900), container("c2", 0)};
  later.tasks[0].work_class = "spark";
  later.tasks[1].ended = true;
  std::ofstream(directory + "/record.jsonl", std::ios::app) << model::to_line(full) << "\n"
                                                            << model::to_line(later) << "\n";
  const auto found = node_record_json(directory, "n1", kRecordTime + -15min, kRecordTime);
  ASSERT_TRUE(found) << found.error().message;
  const auto& rows = found->at("containers", "rows")->as_array();
  ASSERT_EQ(rows.size(), 2U) << found->dump();
  EXPECT_EQ(rows[0].text_at("name"), "c1");
  EXPECT_EQ(rows[0].at("cpu")->get_int(), 900);
  EXPECT_EQ(rows[0].text_at("class"), "spark");
  EXPECT_EQ(rows[0].at("limits")->as_array().at(0).text_at("value"), "512") << "of the full record";
  EXPECT_EQ(rows[1].text_at("name"), "c3");
  const auto& pods = found->at("pods", "rows")->as_array();
  ASSERT_EQ(pods.size(), 1U) << "an online pod is no offline pod";
  EXPECT_EQ(pods[0].text_at("namespace"), "night");
  const Json& limit = pods[0].at("limits")->as_array().at(0);
  EXPECT_EQ(limit.text_at("container"), "main");
  EXPECT_EQ(limit.text_at("state"), "refused");
  EXPECT_EQ(limit.text_at("reason", "text"), "the kernel refused the value");
  const auto before = node_record_json(directory, "n1", kRecordTime + -15min, kRecordTime + -9min);
  EXPECT_TRUE(before->member("containers")->is_null()) << "without a full record they are unknown";
  EXPECT_TRUE(before->member("pods")->is_null());
}

TEST_F(NodeRecordTest, SaysThatThereIsNoRecordOfTheNode) {
  const auto found = node_record_json(directory, "n3", kRecordTime + -15min, kRecordTime);
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(node_record_json("/nowhere", "n1", kRecordTime + -15min, kRecordTime));
}

}  // namespace
}  // namespace tidemark::cli
