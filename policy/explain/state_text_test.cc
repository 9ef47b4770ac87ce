#include "policy/explain/state_text.h"

#include <gtest/gtest.h>

namespace tidemark::policy::explain {
namespace {

const base::WallTime kStateTextNow = *base::parse_rfc3339("2026-11-21T10:00:00Z");

state::EffectiveState draining() {
  state::StateCommand off;
  off.wish = state::Wish::kOff;
  off.by = "ann@ops";
  off.why = "kernel update";
  off.drain = std::chrono::minutes(15);
  off.lasts = std::chrono::hours(2);
  state::NodeMarks marks;
  state::carry_cluster(marks, state::command(std::nullopt, off, 1, kStateTextNow).mark);
  return state::effective(marks, model::Mode::kEnforce, kStateTextNow);
}

TEST(StateText, ShowsStateAuthorReasonAndEnd) {
  EXPECT_EQ(render_text(draining()),
            "draining: nothing new is sold, running work may complete; off at 2026-11-21T10:15:00Z at the latest. "
            "ordered for the whole cluster by ann@ops: kernel update; until 2026-11-21T12:00:00Z");
  EXPECT_EQ(state_words(draining()), "draining");
  const Json json = render_json(draining());
  EXPECT_EQ(json.text_at("state"), "draining");
  EXPECT_EQ(json.text_at("decidedBy", "id"), "TM-STATE-005");
  EXPECT_EQ(json.text_at("until"), "2026-11-21T12:00:00Z");
}

TEST(StateText, PartsAreNamed) {
  state::EffectiveState state;
  state.yarn = model::NodeState::kOff;
  state.classes_off = {"spark", "transcode"};
  state.classes_drained = {"transcode"};
  EXPECT_EQ(state_words(state), "Kubernetes on, YARN off, class spark draining, class transcode off");
}

TEST(StateText, ShowsTheReclaimOfAClassThatIsOff) {
  state::ClassesOff off;
  EXPECT_EQ(classes_off_text("kubernetes", off), "");
  off.classes = {{"spark", {{4'000}, {1'024}}, model::Reason::kStateClassDraining}};
  EXPECT_EQ(classes_off_text("kubernetes", off),
            "  kubernetes, class spark: 4000m and 1024 (1.0 KiB) that it holds are reclaimed: the class of work is "
            "draining: nothing new is sold for it, running work may complete [TM-STATE-026]\n");
  EXPECT_EQ(classes_off_json(off).dump(),
            R"([{"class":"spark","withdrawn":{"cpu":4000,"memory":1024},"reason":"TM-STATE-026"}])");
}

}  // namespace
}  // namespace tidemark::policy::explain
