#include "cli/incident.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "base/json.h"
#include "base/text.h"
#include "model/audit_line.h"
#include "model/node_record.h"

namespace tidemark::cli {
namespace {

using namespace std::chrono_literals;

const base::WallTime kNoon = *base::parse_rfc3339("2026-11-23T12:00:00Z");

struct IncidentFilesTest : ::testing::Test {
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "incident-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder = pattern;
    options.state_dir = folder;
    options.question = {"shop", "web-0", kNoon, kNoon + 2min};
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  static std::string record(std::string node, base::Duration after_noon, std::string pod) {
    model::NodeRecord out;
    out.time = kNoon + after_noon;
    out.over = 30s;
    out.node = std::move(node);
    out.whole = true;
    out.cpus = 4;
    out.tasks_pressure = true;
    model::TaskRecord task;
    task.ns = "shop";
    task.name = std::move(pod);
    task.task = "uid-of-" + out.node;
    task.group = "kubepods";
    out.tasks.push_back(task);
    return to_line(out) + "\n";
  }
  static std::string write(const std::string& node, base::Duration after_noon, const std::string& before,
                           const std::string& after) {
    model::AuditLine out;
    out.time = kNoon + after_noon;
    out.actor = "agent " + node;
    out.verb = "write";
    out.kind = "CgroupFile";
    out.name = "kubepods/poduid-of-" + node;
    out.part = "cpu.cfs_quota_us";
    out.old_value = base::cat('"', before, '"');
    out.new_value = base::cat('"', after, '"');
    return to_string(out) + "\n";
  }
  std::string lines(const std::string& node, const std::string& pod) {
    std::string out;
    for (int i = -3; i < 10; ++i) out += record(node, i * 30s, pod);
    return out;
  }
  std::string put(const std::string& name, const std::string& text) {
    std::ofstream(folder + "/" + name, std::ios::binary) << text;
    return folder + "/" + name;
  }
  std::string says() {
    const auto report = examine_incident(options);
    if (!report) return report.error().message;
    return base::cat(report->node, " ", report->task, " ", to_string(report->verdict), ", ", report->deeds.size(),
                     " deeds, ", report->recorded / 1s, " s");
  }

  std::string folder;
  IncidentOptions options;
};

TEST_F(IncidentFilesTest, ReadsStateDirectoryOfNode) {
  const std::string all = lines("n1", "web-0");
  put("record.jsonl.1", all.substr(0, all.find('\n') + 1));
  put("record.jsonl", all.substr(all.find('\n') + 1));
  put("audit.jsonl.1", write("n1", -5h, "-1", "100"));
  put("audit.jsonl", write("n1", 1min, "100", "50"));
  EXPECT_EQ(says(), "n1 uid-of-n1 ours, 1 deeds, 120 s");
  const auto report = examine_incident(options);
  EXPECT_EQ(report->audit_begins, kNoon + -5h);
}

TEST_F(IncidentFilesTest, ReadsCollectedLines) {
  options.files = {put("a", write("n2", 1min, "100", "50") + lines("n2", "web-1") + write("n1", -5h, "7", "8")),
                   put("b", lines("n1", "web-0"))};
  EXPECT_EQ(says(), "n1 uid-of-n1 notOurs, 0 deeds, 120 s") << "what was done on another node is not its matter";
  options.question.name = "web-1";
  EXPECT_EQ(says(), "n2 uid-of-n2 ours, 1 deeds, 120 s");
  options.question.name = "web-2";
  EXPECT_EQ(says(), "no line of 2 nodes (n1, n2) has it in that time; --node looks at one of them all the same");
  options.node = "n2";
  EXPECT_EQ(says(), "n2  cannotTell, 1 deeds, 120 s");
}

TEST_F(IncidentFilesTest, AcceptsAnyKeyOrder) {
  std::string sorted;
  for (const std::string_view line : base::split(lines("n1", "web-0") + write("n1", 1min, "100", "50"), '\n')) {
    if (line.empty()) continue;
    const auto json = Json::parse(line);
    std::map<std::string, Json> by_name;
    for (const auto& [key, value] : json->as_object()) by_name.emplace(key, value);
    Json out = Json::object();
    out["_collected_by"] = Json("somebody");
    for (const auto& [key, value] : by_name) out[key] = value;
    sorted += out.dump() + "\n";
  }
  options.files = {put("a", sorted)};
  EXPECT_EQ(says(), "n1 uid-of-n1 ours, 1 deeds, 120 s");
}

TEST_F(IncidentFilesTest, AsksForNodeIfPodIsOnTwoNodes) {
  options.files = {put("a", lines("n1", "web-0") + lines("n2", "web-0"))};
  EXPECT_EQ(says(), "several nodes had it in that time: n1, n2; --node says which is meant");
  options.node = "n2";
  EXPECT_EQ(says(), "n2 uid-of-n2 cannotTell, 0 deeds, 120 s") << "no audit is there";
}

TEST_F(IncidentFilesTest, ReportsMissingData) {
  EXPECT_EQ(says(), base::cat("there is no record in ", folder, ": the agent keeps one in its --state-dir"));
  put("record.jsonl", lines("n1", "web-0"));
  options.question.from = kNoon + 5h;
  options.question.to = kNoon + 6h;
  EXPECT_EQ(says(),
            "the record has nothing of that time: it goes from 2026-11-23T11:58:30.000000Z to "
            "2026-11-23T12:04:30.000000Z");
  options.files = {folder + "/not-there"};
  EXPECT_NE(says().find("not-there: No such file"), std::string::npos) << says();
}

TEST_F(IncidentFilesTest, DamagedLinesCountAsLost) {
  std::string all = lines("n1", "web-0");
  const auto broken = all.find(R"("2026-11-23T12:01:00)");
  all.insert(all.find(R"("cpus")", broken), "}");
  put("record.jsonl", all);
  put("audit.jsonl", write("n1", -5h, "-1", "100") + "\n{\"schema\":1,\n");
  const auto report = examine_incident(options);
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_EQ(report->verdict, policy::explain::IncidentVerdict::kCannotTell);
  EXPECT_EQ(report->recorded, 90s);
}

TEST(IncidentTask, AcceptsPodOrName) {
  EXPECT_EQ(parse_incident_task("shop/web-0")->ns, "shop");
  EXPECT_EQ(parse_incident_task("nginx")->name, "nginx");
  for (const std::string_view wrong : {"", "/", "shop/", "/web"}) {
    EXPECT_FALSE(parse_incident_task(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace tidemark::cli
