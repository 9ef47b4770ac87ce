#include "cli/order_text.h"

#include <gtest/gtest.h>

#include "operate/order_json.h"

namespace tidemark::cli {
namespace {

using operate::OrderedNode;
using operate::OrderOutcome;

struct Example {
  operate::OrderOptions options;
  operate::OrderReport report;

  Example(operate::OrderScope scope, policy::state::Wish wish) {
    options.scope = scope;
    options.command.wish = wish;
    options.command.by = "ann";
  }
  OrderedNode& node(std::string name, OrderOutcome outcome) {
    return report.nodes.emplace_back(OrderedNode{std::move(name), outcome, "", {}});
  }
  std::string text() const { return render_text(report, options); }
  bool has(std::string_view part) const { return text().find(part) != std::string::npos; }
};

TEST(OrderText, NamesMissingNode) {
  Example example(operate::OrderScope::kNode, policy::state::Wish::kOff);
  example.node("nowhere", OrderOutcome::kFailed).problem = "node not found";
  EXPECT_TRUE(example.has("  nowhere: node not found\n")) << example.text();
}

TEST(OrderText, NamesNodeThatAnotherOrderKeepsOff) {
  Example example(operate::OrderScope::kCluster, policy::state::Wish::kOn);
  auto& state = example.node("a", OrderOutcome::kWritten).state;
  state.k8s = state.yarn = model::NodeState::kOff;
  EXPECT_TRUE(example.has("  a: still off (")) << example.text();
}

TEST(OrderText, SaysThatNotAllNodesWereReached) {
  Example example(operate::OrderScope::kCluster, policy::state::Wish::kOff);
  example.node("a", OrderOutcome::kWritten);
  example.report.incomplete = "listing nodes: the server went away";
  EXPECT_TRUE(example.has("1 marked")) << example.text();
  EXPECT_TRUE(example.has("NOT ALL NODES: listing nodes: the server went away")) << example.text();
  EXPECT_EQ(operate::render_json(example.report, example.options).text_at("incomplete"),
            "listing nodes: the server went away");
}

TEST(OrderText, JsonOfTheWaitListsSilentNodes) {
  operate::WaitReport waited;
  waited.silent = {"down"};
  waited.other_words = {"newer (Sleeping)"};
  waited.without_agent = {"bare"};
  Json json = Json::object();
  add_json(waited, json);
  EXPECT_EQ(json.dump(), R"-({"reached":false,"nodesSilent":["down"],"agentsOfOtherVersion":["newer (Sleeping)"],)-"
                         R"-("withoutAgent":["bare"]})-");
}

}  // namespace
}  // namespace tidemark::cli
