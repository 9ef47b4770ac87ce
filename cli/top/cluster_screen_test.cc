#include "cli/top/cluster_screen.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.h"

namespace tidemark::cli {
namespace {

using console::NodeRow;
using console::Report;

constexpr std::int64_t kGi = std::int64_t{1} << 30;

// Two pools: "web" with web-1 and web-2, which has no report, and "default" with db-1, which is off.
class ClusterScreenTest : public ::testing::Test {
 protected:
  ClusterScreenTest() {
    rows.push_back(row("db-1", "default", 20'000));
    rows.back().state = model::NodeState::kOff;
    rows.push_back(row("web-1", "web", 8'000));
    rows.push_back(row("web-2", "web", 0));
    rows.back().report = Report::kMissing;
    rows.back().reported_s.reset();
    rows.back().cpu.online.reset();
    rows.back().cpu.offline.reset();
    rows.back().memory.online.reset();
    rows.back().memory.offline.reset();
    values.now = *base::parse_rfc3339("2026-11-23T12:00:00Z");
    values.cluster = "prod";
    values.read = values.judged = true;
    TopPool web{"web", "enforce", {}, 65, 70, "CPU 65 %: the base\nmemory 70 %: the base"},
        rest{"default", "observe", {}, 65, 70, ""};
    for (const NodeRow& each : rows) {
      values.sums.add(each);
      (each.pool == "web" ? web : rest).sums.add(each);
      values.nodes.push_back(&each);
    }
    values.pools = {web, rest};
    values.problems = {{policy::explain::Severity::kBad, "agents", "no agent", "install it", 1, {"web-2"}}};
  }

  static NodeRow row(std::string name, std::string pool, std::int64_t online) {
    NodeRow out;
    out.name = std::move(name);
    out.pool = std::move(pool);
    out.report = Report::kFresh;
    out.reported_s = 1'795'435'190;  // ten seconds before `now`
    out.cpu = {32'000, online, 4'000, 6'000, 4'000, 65};
    out.memory = {128 * kGi, 40 * kGi, 8 * kGi, 16 * kGi, 8 * kGi, 70};
    out.tasks = 1;
    return out;
  }

  TopAction type(std::string_view keys) {
    TopAction last;
    for (const Key& key : parse_keys(keys)) last = press(state, values, key);
    return last;
  }
  std::string screen(std::size_t width = 80, std::size_t height = 24) const {
    std::string out;
    for (const ScreenLine& line : cluster_screen(values, state, width, height)) {
      std::string text = line.text;
      text.erase(text.find_last_not_of(' ') + 1);
      out += text + "\n";
    }
    return out;
  }

  std::vector<NodeRow> rows;
  ClusterValues values;
  TopState state;
};

TEST_F(ClusterScreenTest, ShowsSumsAndNodesIn80Columns) {
  EXPECT_EQ(screen(80, 16), R"(tidemark  prod  2026-11-23T12:00:00Z  read-only
CPU  [oooooooooooooooooooooooooobbbbbbbb.....|....................]  36 of 64
     o online 28  b offline 8  | line 65%  offered 18  sold 12
MEM  [oooooooooooooooooobbbb...................|................]  96Gi of 256Gi
     o online 80Gi  b offline 16Gi  | line 70%  offered 48Gi  sold 24Gi
NODES 3: 2 on, 1 off; 1 without a fresh report; 3 offline tasks
[1 nodes 3] 2 pools 2  3 problems 1
 NODE         STATE        USE  ONLINE OFFLINE   OFFER    SOLD TASKS   REPORT
>db-1         off          75%      20       4       6       4     1      10s
 web-1        on           38%       8       4       6       4     1      10s
 web-2        on             ?       ?       ?       6       4     1  missing




Tab lists  / filter  Enter open  e explain  : command  ? help  q quit
)");
}

TEST_F(ClusterScreenTest, EverySizeHoldsAllLines) {
  values.troubles = {"pods are not read yet; what depends on them is unknown"};
  for (const std::string_view keys : {"", "2", "3", "?", "/web", ":pool w"}) {
    state = {};
    type(keys);
    for (std::size_t width = 1; width < 130; width += 3) {
      for (std::size_t height = 1; height < 40; ++height) {
        const auto lines = cluster_screen(values, state, width, height);
        EXPECT_EQ(lines.size(), height);
        for (const ScreenLine& line : lines) EXPECT_LE(text_width(line.text), width);
      }
    }
  }
}

TEST_F(ClusterScreenTest, OpensThePoolAndExplainsTheNode) {
  type("2\r");
  EXPECT_EQ(state.pool, "web");
  EXPECT_FALSE(screen().contains("db-1"));
  const TopAction action = type("j\r");
  EXPECT_EQ(action.kind, TopAction::Kind::kExplain);
  EXPECT_EQ(action.target.name, "web-2");
  show_text(state, "node web-2", "a\nb");
  EXPECT_TRUE(screen().contains("node web-2\na\nb\n"));
  type("\033");
  EXPECT_TRUE(screen().contains(">web-2")) << "the node stays chosen";
  type("\033");
  EXPECT_EQ(state.page, TopPage::kPools);
  type("e");
  EXPECT_TRUE(screen().contains("CPU 65 %: the base"));
}

TEST_F(ClusterScreenTest, FiltersNodesAndRemovesTheFilter) {
  type("/WEB-2\r");
  EXPECT_TRUE(screen().contains("filter WEB-2"));
  EXPECT_FALSE(screen().contains("web-1"));
  type("/nothing\r");
  EXPECT_TRUE(screen().contains("no node matches"));
  type("\033");
  EXPECT_TRUE(screen().contains("web-1"));
}

TEST_F(ClusterScreenTest, ShowsAProblemWithItsFixAndNodes) {
  type("3\r");
  const std::string shown = screen();
  for (const std::string_view word : {"bad  agents", "no agent", "fix: install it", "1 node: web-2"}) {
    EXPECT_TRUE(shown.contains(word)) << word << shown;
  }
}

TEST_F(ClusterScreenTest, OffAsksForTheNameAndAReason) {
  values.writes = true;
  type("2o");
  EXPECT_TRUE(screen().contains("off pool web (2 nodes, 2 offline tasks); type the name: _"));
  EXPECT_EQ(type("wec\r").kind, TopAction::Kind::kNone);
  EXPECT_TRUE(screen().contains("nothing is ordered: the name is web"));
  type(
      "owec\x7f"
      "b\r");
  EXPECT_TRUE(screen().contains("reason: _"));
  EXPECT_EQ(type("\r").kind, TopAction::Kind::kNone);
  EXPECT_TRUE(screen().contains("an order needs a reason"));
  const TopAction action = type("oweb\rkernel update\r");
  EXPECT_EQ(action.kind, TopAction::Kind::kOff);
  EXPECT_EQ(action.target, (TopTarget{operate::OrderScope::kPool, "web"}));
  EXPECT_EQ(action.reason, "kernel update");
}

TEST_F(ClusterScreenTest, OffOfTheClusterAsksForTheWordCluster) {
  values.writes = true;
  type("3O");
  EXPECT_TRUE(screen().contains("off cluster (3 nodes, 3 offline tasks); type cluster: _"));
  EXPECT_EQ(type("web\r").kind, TopAction::Kind::kNone);
  EXPECT_TRUE(screen().contains("nothing is ordered: the name is cluster"));
  const TopAction action = type("Ocluster\rfire\r");
  EXPECT_EQ(action.kind, TopAction::Kind::kOff);
  EXPECT_EQ(action.target, (TopTarget{operate::OrderScope::kCluster, "cluster"}));
  EXPECT_EQ(action.reason, "fire");
}

TEST_F(ClusterScreenTest, ReadOnlyScreenGivesNoOrder) {
  for (const std::string_view key : {"o", "O"}) {
    type(key);
    EXPECT_EQ(state.prompt, TopPrompt::kNone);
    EXPECT_TRUE(screen().contains("read-only; start with --write"));
  }
}

TEST_F(ClusterScreenTest, WrongCommandSaysWhatIsWrong) {
  type(":pool nights\r");
  EXPECT_TRUE(screen().contains("there is no pool \"nights\""));
  type(":delete\r");
  EXPECT_TRUE(screen().contains("there is no command \"delete\""));
  EXPECT_EQ(type(":q\r").kind, TopAction::Kind::kQuit);
}

TEST_F(ClusterScreenTest, UnknownValuesAreNeverZero) {
  rows[0].report = rows[1].report = Report::kStale;
  for (NodeRow& each : rows) {
    each.cpu.online = each.cpu.offline = each.cpu.sold = each.memory.online = each.memory.offline = std::nullopt;
    each.tasks.reset();
  }
  values.sums = {};
  for (const NodeRow& each : rows) values.sums.add(each);
  const std::string shown = screen();
  EXPECT_TRUE(shown.contains("use unknown, of 96")) << shown;
  EXPECT_TRUE(shown.contains("sold ?"));
  EXPECT_TRUE(shown.contains("? offline tasks"));
  EXPECT_TRUE(shown.contains("old 10s"));
}

TEST_F(ClusterScreenTest, TextHasAllListsBelowEachOther) {
  const std::string text = base::join(cluster_text(values, 100), "\n");
  for (const std::string_view word : {"POOL", "SEVERITY", "NODE", "web-2", "no agent"})
    EXPECT_TRUE(text.contains(word)) << text;
  EXPECT_FALSE(text.contains(">"));
}

}  // namespace
}  // namespace tidemark::cli
