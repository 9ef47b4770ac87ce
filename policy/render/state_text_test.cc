#include "policy/render/state_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy {
namespace {

const base::WallTime kNow = *base::parse_rfc3339("2026-11-21T10:00:00Z");

EffectiveState draining() {
  StateCommand off;
  off.wish = Wish::kOff;
  off.by = "ann@ops";
  off.why = "kernel update";
  off.drain = std::chrono::minutes(15);
  off.lasts = std::chrono::hours(2);
  NodeMarks marks;
  carry_cluster(marks, command(std::nullopt, off, 1, kNow).mark);
  return effective(marks, Mode::kEnforce, kNow);
}

TEST(StateText, SaysWhatWhoWhyAndUntilWhen) {
  EXPECT_EQ(render_text(draining()),
            "draining: nothing new is sold, what runs may end; off at 2026-11-21T10:15:00Z at the latest. "
            "ordered for the whole cluster by ann@ops: kernel update; until 2026-11-21T12:00:00Z");
  EXPECT_EQ(state_words(draining()), "draining");
  const Json json = render_json(draining());
  EXPECT_EQ(json.text_at("state"), "draining");
  EXPECT_EQ(json.text_at("decidedBy", "id"), "TM-STATE-005");
  EXPECT_EQ(json.text_at("until"), "2026-11-21T12:00:00Z");
}

TEST(StateText, PartsAreNamed) {
  EffectiveState state;
  state.yarn = NodeState::kOff;
  state.classes_off = {"spark"};
  EXPECT_EQ(state_words(state), "Kubernetes on, YARN off, class spark off");
}

}  // namespace
}  // namespace tidemark::policy
